// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "../../shared/storage/storage_scene.hpp"
#include "../legacy_scene.hpp"
#include "../sha1.hpp"

namespace berth::legacy::tests::csi_limits_test {
namespace {

using namespace storage::testing;

const Answer k_too_many = unschedulable("node(s) exceed max volume count");
const char* const k_driver = "disk.example.com";

TEST(Sha1, GivesTheDigestsOfItsStandard) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(std::string(1000, 'a')), "291e9a6c66994949b57ba5e650361e98fc36b1ba");
}

struct CsiScene : Scene {
  CsiScene() : Scene("MaxCSIVolumeCountPred") {
    bound("a");
    bound("b");
    bound("c");
  }
  void bound(const std::string& name, const std::string& driver = k_driver) { put_bound(cluster(), name, driver); }
  static PodSpec wanting(const std::vector<std::string>& claims) {
    PodSpec pod;
    for (const std::string& claim : claims) pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, claim});
    return pod;
  }
  static NodeSpec node(const std::string& name, const std::vector<std::string>& claims) {
    NodeSpec node{.name = name};
    for (const std::string& claim : claims) node.volumes.push_back({BERTH_VOLUME_CLAIM, claim});
    return node;
  }
  /// Prepared or not: allocatable is what makes the difference.
  Answers fits(const PodSpec& pod, const std::vector<NodeSpec>& nodes, bool prepared = true) {
    Attempt& a = attempt(pod, nodes);
    if (prepared && a.pre_filter().code == BERTH_SKIP) return Answers(nodes.size());
    return a.filter();
  }
};

TEST(MaxCSIVolumeCountPred, HoldsNewVolumesAgainstTheCsiNode) {
  CsiScene scene;
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", limit(k_driver, 2)));
  put(scene.cluster(), storage::k_csi_nodes, csi_node("other", limit("other.example.com", 0)));
  for (const bool prepared : {false, true}) {
    const auto fits = [&](const std::vector<std::string>& wanted, const std::vector<std::string>& used) {
      return scene.fits(CsiScene::wanting(wanted), {CsiScene::node("n", used)}, prepared)[0];
    };
    EXPECT_EQ(fits({"a"}, {"b"}), passes());
    EXPECT_EQ(fits({"a"}, {"b", "c"}), k_too_many);
    EXPECT_EQ(fits({"a", "b"}, {"c"}), k_too_many);
    EXPECT_EQ(fits({"a"}, {"a", "b", "c"}), passes()) << "what is attached already costs nothing";
    EXPECT_EQ(fits({"a", "a"}, {"b", "b"}), passes()) << "each volume once";
    EXPECT_EQ(fits({}, {"a", "b", "c"}), passes());
    EXPECT_EQ(scene.fits(CsiScene::wanting({"a"}), {CsiScene::node("other", {"b", "c"}), CsiScene::node("none", {"b"})},
                         prepared),
              (Answers{passes(), passes()}))
        << "limits of other drivers, or none";
  }
}
TEST(MaxCSIVolumeCountPred, FollowsWhatChangesBetweenPods) {
  CsiScene scene;
  const auto fits = [&](const std::string& node) {
    return scene.fits(CsiScene::wanting({"a"}), {CsiScene::node(node, {"b"})})[0];
  };
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", limit(k_driver, 2)));
  EXPECT_EQ(fits("n"), passes());
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", limit(k_driver, 1)));
  EXPECT_EQ(fits("n"), k_too_many);
  EXPECT_EQ(fits("took-its-slot"), passes());
  EXPECT_EQ(fits("n"), k_too_many);
  scene.bound("b", "other.example.com");
  EXPECT_EQ(fits("n"), passes());
}
TEST(MaxCSIVolumeCountPred, ReadsAllocatableWhereTheCsiNodeSaysNothing) {
  CsiScene scene;
  put(scene.cluster(), storage::k_csi_nodes, csi_node("both", limit(k_driver, 2)));
  std::vector<NodeSpec> nodes = {CsiScene::node("one", {"b"}), CsiScene::node("both", {"b"})};
  for (NodeSpec& node : nodes) node.capacity = {{"attachable-volumes-csi-disk.example.com", 1}};
  EXPECT_EQ(scene.fits(CsiScene::wanting({"a"}), nodes), (Answers{k_too_many, passes()})) << "the CSINode wins";
}
TEST(MaxCSIVolumeCountPred, ShortensLongNamesOfDrivers) {
  const std::string driver = "a.very.long.name.of.a.driver.example.com";  // 23 + 40 is 63
  CsiScene scene;
  scene.bound("x", driver);
  scene.bound("y", driver);
  NodeSpec node = CsiScene::node("n", {"y"});
  node.capacity = {{"attachable-volumes-csi-" + driver.substr(0, 23) + sha1_hex(driver).substr(0, 16), 1}};
  EXPECT_EQ(scene.fits(CsiScene::wanting({"x"}), {node}), Answers{k_too_many});
  node.capacity = {{"attachable-volumes-csi-" + driver, 1}};
  EXPECT_EQ(scene.fits(CsiScene::wanting({"x"}), {node}), Answers{passes()});
}
TEST(MaxCSIVolumeCountPred, LooksAtClaimsOnly) {
  CsiScene scene;
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", limit(k_driver, 0)));
  const PodSpec pod = {.volumes = {{"v", BERTH_VOLUME_INLINE, R"({"csi":{"driver":"disk.example.com"}})"},
                                   {"w", BERTH_VOLUME_EPHEMERAL, "pod-w"},
                                   {"x", BERTH_VOLUME_CLAIM, "absent"}}};
  EXPECT_EQ(scene.fits(pod, {CsiScene::node("n", {})}), Answers{passes()});
  EXPECT_EQ(scene.fits(CsiScene::wanting({"a"}), {CsiScene::node("n", {})}), Answers{k_too_many});
}
TEST(MaxCSIVolumeCountPred, CountsUnboundClaimsByTheirClass) {
  CsiScene scene;
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", limit(k_driver, 1)));
  put(scene.cluster(), storage::k_classes, storage_class("fast", k_driver, "Immediate"));
  put_claim(scene.cluster(), {.name = "u", .class_name = "fast"});
  put_claim(scene.cluster(), {.name = "lost", .class_name = "fast", .volume = "gone", .bound = true});
  put_claim(scene.cluster(), {.name = "plain"});
  const auto fits = [&](const char* claim) {
    return scene.fits(CsiScene::wanting({claim}), {CsiScene::node("n", {"a"})})[0];
  };
  EXPECT_EQ(fits("u"), k_too_many);
  EXPECT_EQ(fits("lost"), k_too_many);
  EXPECT_EQ(fits("plain"), passes());
  EXPECT_EQ(scene.fits(CsiScene::wanting({"a"}), {CsiScene::node("n", {"u"})}), Answers{k_too_many});
}
TEST(MaxCSIVolumeCountPred, CountsInTreeVolumesWhereADriverTookOver) {
  CsiScene scene;
  for (const char* name : {"e", "f"}) {
    put_claim(scene.cluster(), {.name = name, .volume = std::string("v-") + name, .bound = true});
    put_volume(scene.cluster(), {.name = std::string("v-") + name,
                                 .source = std::string(R"("awsElasticBlockStore":{"volumeID":"vol-)") + name + "\"}"});
  }
  put(scene.cluster(), storage::k_csi_nodes, csi_node("old", limit("ebs.csi.aws.com", 0)));
  put(scene.cluster(), storage::k_csi_nodes, csi_node("new", limit("ebs.csi.aws.com", 1), "kubernetes.io/aws-ebs"));
  EXPECT_EQ(scene.fits(CsiScene::wanting({"e"}), {CsiScene::node("old", {"f"}), CsiScene::node("new", {"f"})}),
            (Answers{passes(), k_too_many}));
}
TEST(MaxCSIVolumeCountPred, FailsForAClaimWithoutAName) {
  CsiScene scene;
  EXPECT_EQ(scene.attempt(CsiScene::wanting({""}), {{.name = "n"}}).pre_filter(),
            (Outcome{BERTH_ERROR, "PersistentVolumeClaim had no name"}));
}

}  // namespace
}  // namespace berth::legacy::tests::csi_limits_test
