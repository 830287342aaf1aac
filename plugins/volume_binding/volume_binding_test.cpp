// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "../shared/storage/storage_scene.hpp"

namespace volume_binding_test {
namespace {
using namespace berth::testkit;
using namespace storage::testing;

constexpr const char* k_affinity = "node(s) didn't match PersistentVolume's node affinity";
constexpr const char* k_find = "node(s) didn't find available persistent volumes to bind";
constexpr const char* k_space = "node(s) did not have enough free storage";
constexpr const char* k_missing = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

class VolumeBinding : public testing::Test {
 protected:
  VolumeBinding() {
    put(cluster, storage::k_classes, storage_class("wait", "csi.example.com", "WaitForFirstConsumer"));
    put(cluster, storage::k_classes, storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"));
    put(cluster, storage::k_classes, storage_class("now", "csi.example.com", "Immediate"));
  }
  static PodSpec pod_with(std::vector<std::string> claims) {
    PodSpec pod{.name = "p"};
    for (std::string& claim : claims) pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, std::move(claim)});
    return pod;
  }
  void local_volume(const std::string& name, const std::string& host, std::int64_t capacity) {
    put_volume(cluster,
               {.name = name, .class_name = "local", .capacity = capacity, .affinity = in_label("host", {host})});
  }
  std::vector<Answer> decide(const PodSpec& pod, const std::vector<NodeSpec>& nodes) {
    Attempt attempt(policy, pod, seen(policy, nodes));
    EXPECT_EQ(attempt.pre_filter(), Outcome{});
    return attempt.filter();
  }
  Outcome pre_filter(const PodSpec& pod) { return Attempt(policy, pod, seen(policy, hosts)).pre_filter(); }
  /// Reserve on a slot, after pre-filter and filter.
  Outcome reserve(Attempt& attempt, berth_slot slot) {
    NoteRecord note;
    return policy.outcome(
        policy.ops<berth_reserve_ops_v1>("berth.reserve/1")->reserve(policy.self(), attempt.cycle(), slot, note.raw()),
        note);
  }
  void unreserve(Attempt& attempt, berth_slot slot) {
    policy.ops<berth_reserve_ops_v1>("berth.reserve/1")->unreserve(policy.self(), attempt.cycle(), slot);
  }

  Policy policy{tested_library(), {}, FakeCluster::install};
  FakeCluster& cluster = FakeCluster::of(policy);
  const std::vector<NodeSpec> hosts = {{.name = "a", .labels = {{"host", "a"}, {"zone", "z1"}}},
                                       {.name = "b", .labels = {{"host", "b"}, {"zone", "z2"}}}};
};

TEST_F(VolumeBinding, SkipsPodsWithoutClaims) {
  EXPECT_EQ(pre_filter({.name = "p"}).code, static_cast<berth_code>(BERTH_SKIP));
}

TEST_F(VolumeBinding, RejectsPodsWhoseClaimsCannotBeUsedYet) {
  put_claim(cluster, {.name = "lost", .volume = "pv", .phase = "Lost"});
  put_claim(cluster, {.name = "deleted", .deleted = true});
  put_claim(cluster, {.name = "now", .class_name = "now"});
  put_claim(cluster, {.name = "p-taken", .class_name = "wait", .owner_uid = "another-pod"});
  const auto refused = [&](const PodSpec& pod, const std::string& text) {
    EXPECT_EQ(pre_filter(pod), (Outcome{BERTH_UNRESOLVABLE, text}));
  };
  refused(pod_with({"gone"}), "persistentvolumeclaim \"gone\" not found");
  refused(pod_with({"lost"}), "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"pv\"");
  refused(pod_with({"deleted"}), "persistentvolumeclaim \"deleted\" is being deleted");
  refused(pod_with({"now"}), "pod has unbound immediate PersistentVolumeClaims");
  refused({.name = "p", .volumes = {{"v", BERTH_VOLUME_EPHEMERAL, "p-v"}}},
          "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\"");
  refused({.name = "p", .volumes = {{"taken", BERTH_VOLUME_EPHEMERAL, "p-taken"}}},
          "PVC default/p-taken was not created for pod default/p (pod is not owner)");
}

TEST_F(VolumeBinding, KeepsPodsWhereTheirVolumesAre) {
  put_claim(cluster, {.name = "c", .class_name = "wait", .volume = "v", .bound = true});
  put_volume(cluster, {.name = "v", .affinity = in_label("zone", {"z2", "z3"}), .claim = "c"});
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{unresolvable(k_affinity), passes()}));
  cluster.remove(std::string(storage::k_volumes), "", "v");
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{unresolvable(k_missing), unresolvable(k_missing)}));
}

TEST_F(VolumeBinding, NamesAllReasonsInOneOrder) {
  put_claim(cluster, {.name = "bound", .volume = "v", .bound = true});
  put_volume(cluster, {.name = "v", .affinity = in_label("zone", {"z2"}), .claim = "bound"});
  put_claim(cluster, {.name = "searching", .class_name = "local"});
  EXPECT_EQ(decide(pod_with({"searching", "bound"}), hosts),
            (std::vector<Answer>{unresolvable(std::string(k_affinity) + ", " + k_find), unresolvable(k_find)}));
}

TEST_F(VolumeBinding, TranslatesInTreeVolumesWhereTheirDriverHasTakenOver) {
  put_claim(cluster, {.name = "c", .volume = "v", .bound = true});
  put_volume(cluster, {.name = "v",
                       .source = R"("awsElasticBlockStore":{"volumeID":"vol-1"})",
                       .claim = "c",
                       .labels = {{"topology.kubernetes.io/zone", "z1"}}});
  put(cluster, storage::k_csi_nodes, csi_node("b", "[]", "kubernetes.io/aws-ebs"));
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{passes(), unresolvable(k_affinity)}))
      << "a knows nothing of the driver, b lacks the driver's label";
  const std::vector<NodeSpec> labelled = {{.name = "b", .labels = {{"topology.ebs.csi.aws.com/zone", "z1"}}}};
  EXPECT_EQ(decide(pod_with({"c"}), labelled), std::vector<Answer>{passes()});
}

TEST_F(VolumeBinding, FindsAVolumePerClaimSmallestFirst) {
  local_volume("a-small", "a", 5);
  local_volume("a-big", "a", 20);
  local_volume("b-big", "b", 20);
  put_claim(cluster, {.name = "big", .class_name = "local", .request = 10});
  put_claim(cluster, {.name = "small", .class_name = "local", .request = 1});
  EXPECT_EQ(decide(pod_with({"big"}), hosts), (std::vector<Answer>{passes(), passes()}));
  EXPECT_EQ(decide(pod_with({"big", "small"}), hosts), (std::vector<Answer>{passes(), unresolvable(k_find)}));
}

TEST_F(VolumeBinding, TakesTheVolumeThatNamesTheClaimOrNone) {
  put_claim(cluster, {.name = "c", .class_name = "local"});
  put_volume(
      cluster,
      {.name = "mine", .class_name = "local", .capacity = 50, .affinity = in_label("host", {"b"}), .claim = "c"});
  local_volume("free", "a", 1);
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{unresolvable(k_find), passes()}));
}

TEST_F(VolumeBinding, ProvisionsWithinTheTopologyAndTheFreeStorage) {
  put(cluster, storage::k_classes,
      storage_class("zoned", "csi.example.com", "WaitForFirstConsumer",
                    R"([{"matchLabelExpressions":[{"key":"zone","values":["z1"]}]}])"));
  put_claim(cluster, {.name = "zoned", .class_name = "zoned"});
  EXPECT_EQ(decide(pod_with({"zoned"}), hosts), (std::vector<Answer>{passes(), unresolvable(k_find)}));

  put_claim(cluster, {.name = "c", .class_name = "wait", .request = 10});
  put(cluster, storage::k_csi_drivers, ObjectSpec{"", "csi.example.com", {std::int64_t{1}}});
  const auto capacity = [&](const std::string& name, std::int64_t free, const std::string& zone) {
    put(cluster, storage::k_capacities,
        ObjectSpec{"default", name, {"wait", free, "", R"({"matchLabels":{"zone":")" + zone + R"("}})"}});
  };
  capacity("z1", 9, "z1");
  capacity("z2", 10, "z2");
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{unresolvable(k_space), passes()}));
}

TEST_F(VolumeBinding, StaysWithTheNodeThatTheProvisionerWasTold) {
  put_claim(cluster, {.name = "c", .class_name = "wait", .selected_node = "b"});
  EXPECT_EQ(decide(pod_with({"c"}), hosts), (std::vector<Answer>{unresolvable(k_find), passes()}));
}

TEST_F(VolumeBinding, FailsWithoutPreFilter) {
  Attempt attempt(policy, pod_with({"c"}), seen(policy, hosts));
  try {
    attempt.filter();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "not found"}));
  }
  EXPECT_EQ(reserve(attempt, 0), (Outcome{BERTH_ERROR, "not found"}));
}

TEST_F(VolumeBinding, WhatIsReservedIsTakenUntilItIsGivenBack) {
  local_volume("only", "a", 5);
  put_claim(cluster, {.name = "one", .class_name = "local"});
  put_claim(cluster, {.name = "two", .class_name = "local"});
  Attempt first(policy, pod_with({"one"}), seen(policy, hosts));
  ASSERT_EQ(first.pre_filter(), Outcome{});
  ASSERT_EQ(first.filter(), (std::vector<Answer>{passes(), unresolvable(k_find)}));
  ASSERT_EQ(reserve(first, 0), Outcome{});
  EXPECT_TRUE(cluster.assumed(std::string(storage::k_volumes), "", "only"));
  EXPECT_EQ(decide(pod_with({"two"}), hosts), (std::vector<Answer>{unresolvable(k_find), unresolvable(k_find)}));
  EXPECT_EQ(decide(pod_with({"one"}), hosts), (std::vector<Answer>{passes(), unresolvable(k_find)})) << "it is one's";
  unreserve(first, 0);
  unreserve(first, 0);
  EXPECT_EQ(decide(pod_with({"two"}), hosts), (std::vector<Answer>{passes(), unresolvable(k_find)}));
}

/// Pre-bind of a pod whose claim is provisioned on node a.
class Binding : public VolumeBinding {
 protected:
  Binding() {
    put_claim(cluster, {.name = "c", .class_name = "wait"});
    EXPECT_EQ(attempt.pre_filter(), Outcome{});
    attempt.filter();
    EXPECT_EQ(reserve(attempt, 0), Outcome{});
  }
  void start() {
    const auto* bind = policy.ops<berth_bind_ops_v1>("berth.bind/1");
    std::uint32_t flags = 0;
    NoteRecord note;
    ASSERT_EQ(bind->pre_bind_check(policy.self(), attempt.cycle(), 0, &flags, note.raw()),
              static_cast<berth_code>(BERTH_OK));
    EXPECT_EQ(flags, static_cast<std::uint32_t>(BERTH_PRE_BIND_PARALLEL));
    call = {sizeof call,
            0,
            this,
            str("a"),
            [](void* ctx) { return self(ctx).cancelled ? 1u : 0u; },
            [](void* ctx, berth_code code, berth_str text) {
              self(ctx).answers.push_back({code, text_of(text)});
            },
            [](void* ctx) { return self(ctx).pod_exists ? 1u : 0u; },
            [](void* ctx, void (*use)(void*, const berth_node_block_v1*), void* arg) -> berth_code {
              Binding& t = self(ctx);
              if (!t.node_exists) return BERTH_NOT_FOUND;
              const BlockRecord row(t.policy.host(), t.node, nullptr, {BERTH_NO_SLOT});
              use(arg, row.raw());
              return BERTH_OK;
            }};
    ASSERT_EQ(bind->pre_bind(policy.self(), attempt.cycle(), &call, note.raw()), static_cast<berth_code>(BERTH_ASYNC));
  }
  static Binding& self(void* ctx) { return *static_cast<Binding*>(ctx); }
  void finish_binding(const std::string& zone) {
    put_claim(cluster, {.name = "c", .class_name = "wait", .volume = "v", .bound = true, .selected_node = "a"});
    put_volume(cluster, {.name = "v", .affinity = in_label("zone", {zone}), .claim = "c"});
  }

  Attempt attempt{policy, pod_with({"c"}), seen(policy, hosts)};
  const std::vector<NodeSpec> node = {hosts[0]};
  berth_bind_call_v1 call{};
  std::vector<Outcome> answers;
  bool cancelled = false, pod_exists = true, node_exists = true;
};

TEST_F(Binding, WritesTheNodeAndWaitsForTheVolume) {
  start();
  ASSERT_EQ(cluster.patches.size(), 1u);
  EXPECT_EQ(cluster.patches[0].name, "c");
  EXPECT_EQ(cluster.patches[0].json, R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"a"}}})");
  EXPECT_TRUE(cluster.run_next_task());
  EXPECT_TRUE(answers.empty()) << "not bound yet";
  finish_binding("z1");
  EXPECT_TRUE(cluster.run_next_task());
  EXPECT_EQ(answers, std::vector<Outcome>{Outcome{}});
  EXPECT_FALSE(cluster.run_next_task()) << "nothing is left to wait for";
}

TEST_F(Binding, EndsWhenTheVolumeIsUsableElsewhereOnly) {
  start();
  finish_binding("z2");
  cluster.run_next_task();
  EXPECT_EQ(answers,
            (std::vector<Outcome>{{BERTH_ERROR,
                                   "binding volumes: pv \"v\" node affinity doesn't match node \"a\": no matching "
                                   "NodeSelectorTerms"}}));
}

TEST_F(Binding, EndsWhenTheProvisionerGaveUp) {
  start();
  put_claim(cluster, {.name = "c", .class_name = "wait", .bound = true});
  cluster.run_next_task();
  EXPECT_EQ(answers, (std::vector<Outcome>{{BERTH_ERROR, "binding volumes: provisioning failed for PVC \"c\""}}));
}

TEST_F(Binding, EndsAfterTheTimeout) {
  start();
  int looks = 0;
  while (answers.empty() && cluster.run_next_task()) ++looks;
  EXPECT_EQ(looks, 600);
  EXPECT_EQ(answers, (std::vector<Outcome>{{BERTH_ERROR, "binding volumes: context deadline exceeded"}}));
}

TEST_F(Binding, EndsWithItsPod) {
  start();
  pod_exists = false;
  cluster.run_next_task();
  EXPECT_EQ(answers,
            (std::vector<Outcome>{{BERTH_ERROR, "binding volumes: pod does not exist any more: pod \"p\" not found"}}));
}

TEST_F(Binding, EndsWithItsNode) {
  start();
  node_exists = false;
  cluster.run_next_task();
  EXPECT_EQ(answers,
            (std::vector<Outcome>{{BERTH_ERROR, "binding volumes: failed to get node \"a\": node \"a\" not found"}}));
}

TEST_F(Binding, GivesBackWhatCouldNotBeWritten) {
  cluster.patch_answer = BERTH_ERROR;
  start();
  EXPECT_EQ(answers, (std::vector<Outcome>{{BERTH_ERROR, "the server refused"}}));
  EXPECT_FALSE(cluster.assumed(std::string(storage::k_claims), "default", "c"));
}

/// Every node's own search against the search over all volumes, one by one.
TEST_F(VolumeBinding, FindsWhatAPlainSearchFinds) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() + 13;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 70; ++i)
    nodes.push_back({.name = "n" + std::to_string(i),
                     .labels = {{"host", "n" + std::to_string(i)}, {"zone", "z" + std::to_string(i % 3)}}});
  for (int round = 0; round < 30; ++round) {
    struct Made {
      std::string label, value;
      std::int64_t capacity;
    };
    std::vector<Made> made;
    for (int i = 0; i < 25; ++i) {
      const std::string name = "v" + std::to_string(i);
      Made volume{random() % 4 == 0 ? "zone" : "host", "", static_cast<std::int64_t>(random() % 20)};
      volume.value = volume.label == "zone" ? "z" + std::to_string(random() % 3) : "n" + std::to_string(random() % 70);
      put_volume(cluster, {.name = name,
                           .class_name = "local",
                           .capacity = volume.capacity,
                           .affinity = in_label(volume.label, {volume.value})});
      made.push_back(volume);
    }
    std::vector<std::int64_t> requests = {static_cast<std::int64_t>(random() % 15),
                                          static_cast<std::int64_t>(random() % 15)};
    put_claim(cluster, {.name = "c0", .class_name = "local", .request = requests[0]});
    put_claim(cluster, {.name = "c1", .class_name = "local", .request = requests[1]});
    std::sort(requests.begin(), requests.end());
    std::vector<Answer> expected;
    for (const NodeSpec& node : nodes) {
      std::vector<std::int64_t> fits;
      for (const Made& volume : made)
        if (node.labels.at(volume.label) == volume.value) fits.push_back(volume.capacity);
      std::sort(fits.begin(), fits.end());
      bool all = true;
      for (const std::int64_t request : requests) {
        const auto at = std::lower_bound(fits.begin(), fits.end(), request);
        if (at == fits.end()) {
          all = false;
          break;
        }
        fits.erase(at);
      }
      expected.push_back(all ? passes() : unresolvable(k_find));
    }
    ASSERT_EQ(decide(pod_with({"c0", "c1"}), nodes), expected) << "round " << round;
  }
}

TEST_F(VolumeBinding, WakesPodsForChangesThatCount) {
  const PodSpec waiting = pod_with({"c"});
  const auto wakes = [&](EventSpec event) { return policy.wakes(event, waiting); };
  const auto updated = [&](std::uint32_t kind, ObjectSpec before, ObjectSpec after) {
    return wakes({.kind = kind,
                  .actions = BERTH_ACTION_UPDATE,
                  .old_object = std::move(before),
                  .new_object = std::move(after)});
  };
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .new_object = claim({.name = "c"})}));
  EXPECT_FALSE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .new_object = claim({.name = "d"})}));
  EXPECT_FALSE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .new_object = claim({.name = "c", .ns = "other"})}));
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME, .new_object = volume({.name = "v"})}));
  const auto topologies = [](const std::string& zone) {
    return storage_class("s", "p", "WaitForFirstConsumer",
                         R"([{"matchLabelExpressions":[{"key":"zone","values":[")" + zone + R"("]}]}])");
  };
  EXPECT_TRUE(updated(BERTH_KIND_STORAGE_CLASS, topologies("z1"), topologies("z2")));
  EXPECT_FALSE(updated(BERTH_KIND_STORAGE_CLASS, topologies("z1"), topologies("z1")));
  EXPECT_TRUE(updated(BERTH_KIND_CSI_NODE, csi_node("a", "[]"), csi_node("a", "[]", "kubernetes.io/gce-pd")));
  EXPECT_FALSE(updated(BERTH_KIND_CSI_NODE, csi_node("a", "[]"), csi_node("a", limit("d", 1))));
  const auto capacity = [](FieldText free, FieldText most) {
    return ObjectSpec{"default", "x", {"wait", std::move(free), std::move(most), "{}"}};
  };
  EXPECT_TRUE(updated(BERTH_KIND_CSI_STORAGE_CAPACITY, capacity(std::int64_t{1}, ""), capacity(std::int64_t{2}, "")));
  EXPECT_TRUE(updated(BERTH_KIND_CSI_STORAGE_CAPACITY, capacity("", ""), capacity(std::int64_t{1}, "")));
  EXPECT_FALSE(updated(BERTH_KIND_CSI_STORAGE_CAPACITY, capacity(std::int64_t{2}, ""), capacity(std::int64_t{1}, "")));
  EXPECT_FALSE(updated(BERTH_KIND_CSI_STORAGE_CAPACITY, capacity(std::int64_t{1}, std::int64_t{1}),
                       capacity(std::int64_t{9}, std::int64_t{1})))
      << "the largest volume is what counts";
  const auto driver = [](bool reports) {
    return ObjectSpec{"", "d", {reports ? FieldText(std::int64_t{1}) : FieldText(std::int64_t{0})}};
  };
  const PodSpec with_inline{
      .name = "p",
      .volumes = {{"c", BERTH_VOLUME_CLAIM, "c"}, {"v", BERTH_VOLUME_INLINE, R"({"name":"v","csi":{"driver":"d"}})"}}};
  const auto driver_wakes = [&](const PodSpec& pod, bool before, bool after) {
    return policy.wakes({.kind = BERTH_KIND_CSI_DRIVER,
                         .actions = BERTH_ACTION_UPDATE,
                         .old_object = driver(before),
                         .new_object = driver(after)},
                        pod);
  };
  EXPECT_TRUE(driver_wakes(with_inline, true, false));
  EXPECT_FALSE(driver_wakes(with_inline, false, true));
  EXPECT_FALSE(driver_wakes(waiting, true, false));
}

}  // namespace
}  // namespace volume_binding_test
