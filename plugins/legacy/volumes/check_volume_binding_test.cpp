// SPDX-License-Identifier: Apache-2.0
// What differs from today's VolumeBinding, whose tests hold for the rest; and one way through all points.
#include <gtest/gtest.h>

#include "../../shared/storage/storage_scene.hpp"
#include "../legacy_scene.hpp"

namespace berth::legacy::tests::check_volume_binding_test {
namespace {

using namespace storage::testing;

const char* const k_affinity = "node(s) had volume node affinity conflict";
const char* const k_find = "node(s) didn't find available persistent volumes to bind";
const std::vector<NodeSpec> k_hosts = {{.name = "a", .labels = {{"host", "a"}}},
                                       {.name = "b", .labels = {{"host", "b"}}}};

struct BindingScene : Scene {
  BindingScene() : Scene("CheckVolumeBinding") {
    put(cluster(), storage::k_classes, storage_class("wait", "csi.example.com", "WaitForFirstConsumer"));
    put(cluster(), storage::k_classes, storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
    put(cluster(), storage::k_classes, storage_class("now", "csi.example.com", "Immediate"));
  }
  static PodSpec wanting(const std::vector<std::string>& claims) {
    PodSpec pod{.name = "p"};
    for (const std::string& claim : claims) pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, claim});
    return pod;
  }
  Outcome prepare(const PodSpec& pod) { return attempt(pod, k_hosts).pre_filter(); }
  Answers fits(const PodSpec& pod) {
    Attempt& a = attempt(pod, k_hosts);
    EXPECT_EQ(a.pre_filter(), Outcome{});
    return a.filter();
  }
};

TEST(CheckVolumeBinding, SkipsPodsWithoutClaims) {
  BindingScene scene;
  EXPECT_EQ(scene.prepare({}).code, static_cast<berth_code>(BERTH_SKIP));
}
TEST(CheckVolumeBinding, NamesBothReasonsInItsWords) {
  BindingScene scene;
  put_claim(scene.cluster(), {.name = "bound", .volume = "v", .bound = true});
  put_volume(scene.cluster(), {.name = "v", .affinity = in_label("host", {"b"}), .claim = "bound"});
  put_claim(scene.cluster(), {.name = "searching", .class_name = "local"});
  EXPECT_EQ(scene.fits(BindingScene::wanting({"searching", "bound"})),
            (Answers{unresolvable(std::string(k_affinity) + ", " + k_find), unresolvable(k_find)}));
  put_volume(scene.cluster(), {.name = "w", .class_name = "local", .affinity = in_label("host", {"b"})});
  EXPECT_EQ(scene.fits(BindingScene::wanting({"searching", "bound"})),
            (Answers{unresolvable(std::string(k_affinity) + ", " + k_find), passes()}));
}
TEST(CheckVolumeBinding, TakesAnUnboundImmediateClaimForAnError) {
  BindingScene scene;
  put_claim(scene.cluster(), {.name = "now", .class_name = "now"});
  put_claim(scene.cluster(), {.name = "deleted", .deleted = true});
  EXPECT_EQ(scene.prepare(BindingScene::wanting({"now"})),
            (Outcome{BERTH_ERROR, "pod has unbound immediate PersistentVolumeClaims"}));
  EXPECT_EQ(scene.prepare(BindingScene::wanting({"absent"})),
            (Outcome{BERTH_UNRESOLVABLE, "persistentvolumeclaim \"absent\" not found"}));
  EXPECT_EQ(scene.prepare(BindingScene::wanting({"deleted"})),
            (Outcome{BERTH_UNRESOLVABLE, "persistentvolumeclaim \"deleted\" is being deleted"}));
}
TEST(CheckVolumeBinding, DoesNotLookAtCapacities) {
  BindingScene scene;
  put_claim(scene.cluster(), {.name = "c", .class_name = "wait", .request = 10});
  put(scene.cluster(), storage::k_csi_drivers, ObjectSpec{"", "csi.example.com", {std::int64_t{1}}});
  EXPECT_EQ(scene.fits(BindingScene::wanting({"c"})), (Answers{passes(), passes()}))
      << "none is reported, none is asked";
}
TEST(CheckVolumeBinding, TakesAVolumeAtReserveAndGivesItBack) {
  BindingScene scene;
  put_claim(scene.cluster(), {.name = "c", .class_name = "local"});
  put_volume(scene.cluster(), {.name = "w", .class_name = "local", .affinity = in_label("host", {"b"})});
  Attempt& a = scene.attempt(BindingScene::wanting({"c"}), k_hosts);
  ASSERT_EQ(a.pre_filter(), Outcome{});
  ASSERT_EQ(a.filter(), (Answers{unresolvable(k_find), passes()}));
  const auto* ops = scene.policy.ops<berth_reserve_ops_v1>("berth.reserve/1");
  NoteRecord note;
  EXPECT_EQ(ops->reserve(scene.policy.self(), a.cycle(), 1, note.raw()), static_cast<berth_code>(BERTH_OK));
  EXPECT_TRUE(scene.cluster().assumed(std::string(storage::k_volumes), "", "w"));
  ops->unreserve(scene.policy.self(), a.cycle(), 1);
  EXPECT_FALSE(scene.cluster().assumed(std::string(storage::k_volumes), "", "w"));
}
TEST(CheckVolumeBinding, OffersNoScore) {
  BindingScene scene;
  EXPECT_EQ(scene.policy.ops<berth_score_ops_v1>("berth.score/1"), nullptr);
}

}  // namespace
}  // namespace berth::legacy::tests::check_volume_binding_test
