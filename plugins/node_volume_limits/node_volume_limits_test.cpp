// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "../shared/storage/storage_scene.hpp"

namespace {
using namespace berth::testkit;
using namespace storage::testing;

const Answer k_full = unschedulable("node(s) exceed max volume count");

PodSpec pod_with(std::vector<std::string> claims) {
  PodSpec pod;
  for (std::string& claim : claims) pod.volumes.push_back({"v", BERTH_VOLUME_CLAIM, std::move(claim)});
  return pod;
}
NodeSpec node_with(std::string name, std::vector<std::string> claims) {
  NodeSpec node{.name = std::move(name)};
  for (std::string& claim : claims) node.volumes.push_back({BERTH_VOLUME_CLAIM, std::move(claim)});
  return node;
}

class NodeVolumeLimits : public testing::Test {
 protected:
  NodeVolumeLimits() { put(cluster, storage::k_classes, storage_class("wait", "d", "WaitForFirstConsumer")); }
  void limit_node(const std::string& node, int count, const std::string& driver = "d") {
    put(cluster, storage::k_csi_nodes, csi_node(node, limit(driver, count)));
  }
  std::vector<Answer> decide(const PodSpec& pod, const std::vector<NodeSpec>& nodes) {
    Attempt attempt(policy, pod, seen(policy, nodes));
    EXPECT_EQ(attempt.pre_filter(), Outcome{});
    return attempt.filter();
  }
  std::string failure(const PodSpec& pod, const std::vector<NodeSpec>& nodes) {
    try {
      decide(pod, nodes);
    } catch (const CallError& e) {
      return e.outcome.text;
    }
    return "no error";
  }

  Policy policy{tested_library(), {}, FakeCluster::install};
  FakeCluster& cluster = FakeCluster::of(policy);
};

TEST_F(NodeVolumeLimits, AreSkippedForPodsWithoutVolumesThatCount) {
  for (const PodSpec& pod : {PodSpec{}, PodSpec{.volumes = {{"v", BERTH_VOLUME_INLINE, R"({"csi":{"driver":"d"}})"}}},
                             PodSpec{.volumes = {{"v", BERTH_VOLUME_OTHER, ""}}}})
    EXPECT_EQ(Attempt(policy, pod, seen(policy, {{.name = "a"}})).pre_filter().code,
              static_cast<berth_code>(BERTH_SKIP));
}

TEST_F(NodeVolumeLimits, CountVolumesOfTheDriverOnce) {
  put_bound(cluster, "c1", "d");
  put_bound(cluster, "c2", "d");
  put_bound(cluster, "other", "e");
  limit_node("full", 1);
  limit_node("room", 2);
  limit_node("shares", 1);
  const std::vector<NodeSpec> nodes = {node_with("full", {"c1", "c1"}), node_with("room", {"c1", "other"}),
                                       node_with("shares", {"c2"}), node_with("unlimited", {"c1"})};
  EXPECT_EQ(decide(pod_with({"c2", "c2"}), nodes), (std::vector<Answer>{k_full, passes(), passes(), passes()}));
}

TEST_F(NodeVolumeLimits, AllowNothingWhereTheLimitIsZero) {
  put_bound(cluster, "c", "d");
  limit_node("a", 0);
  EXPECT_EQ(decide(pod_with({"c"}), {{.name = "a"}}), std::vector<Answer>{k_full});
}

TEST_F(NodeVolumeLimits, CountNoVolumeWithoutAHandle) {
  put_claim(cluster, {.name = "c", .class_name = "disks", .volume = "v", .bound = true});
  put_volume(cluster, {.name = "v", .class_name = "disks", .source = csi("d", ""), .claim = "c", .phase = "Bound"});
  limit_node("a", 0);
  EXPECT_EQ(decide(pod_with({"c"}), {{.name = "a"}}), std::vector<Answer>{passes()});
}

TEST_F(NodeVolumeLimits, TakeTheDriverOfAnUnboundClaimFromItsClass) {
  put_claim(cluster, {.name = "c", .class_name = "wait"});
  put_claim(cluster, {.name = "d", .class_name = "wait"});
  put_claim(cluster, {.name = "classless"});
  limit_node("a", 1);
  EXPECT_EQ(decide(pod_with({"c"}), {node_with("a", {"d"})}), std::vector<Answer>{k_full});
  EXPECT_EQ(decide(pod_with({"c"}), {node_with("a", {"c"})}), std::vector<Answer>{passes()}) << "its own volume";
  EXPECT_EQ(decide(pod_with({"classless"}), {node_with("a", {"d"})}), std::vector<Answer>{passes()});
}

TEST_F(NodeVolumeLimits, FollowClaimsVolumesAndLimits) {
  put_claim(cluster, {.name = "c", .class_name = "wait"});
  put_bound(cluster, "there", "e");
  limit_node("a", 1);
  const PodSpec pod = pod_with({"c"});
  const std::vector<NodeSpec> nodes = {node_with("a", {"there"})};
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{passes()});
  put_bound(cluster, "there", "d");
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{k_full}) << "another driver";
  limit_node("a", 2);
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{passes()}) << "a higher limit";
  limit_node("a", 1);
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{k_full});
  cluster.remove(std::string(storage::k_claims), "default", "there");
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{passes()}) << "an unknown claim counts as nothing";
  put_bound(cluster, "there", "d");
  EXPECT_EQ(decide(pod, {{.name = "a"}}), std::vector<Answer>{passes()}) << "the pod left";
  cluster.remove(std::string(storage::k_csi_nodes), "", "a");
  EXPECT_EQ(decide(pod, nodes), std::vector<Answer>{passes()}) << "no limits";
}

TEST_F(NodeVolumeLimits, CountAttachmentsThatNoPodExplains) {
  put_bound(cluster, "new", "d");
  put_bound(cluster, "used", "d");
  put_bound(cluster, "left", "d");
  limit_node("a", 2);
  const auto attach = [&](const std::string& claim) {
    put(cluster, storage::k_attachments, {"", "at-" + claim, {"d", "a", "v-" + claim}});
  };
  attach("used");
  EXPECT_EQ(decide(pod_with({"new"}), {node_with("a", {"used"})}), std::vector<Answer>{passes()});
  attach("left");
  EXPECT_EQ(decide(pod_with({"new"}), {node_with("a", {"used"})}), std::vector<Answer>{k_full});
  cluster.remove(std::string(storage::k_attachments), "", "at-left");
  EXPECT_EQ(decide(pod_with({"new"}), {node_with("a", {"used"})}), std::vector<Answer>{passes()});
}

TEST_F(NodeVolumeLimits, CountInTreeVolumesUnderTheirDriver) {
  const std::string ebs = R"({"name":"v","awsElasticBlockStore":{"volumeID":"vol-1"}})";
  put(cluster, storage::k_csi_nodes, csi_node("a", limit("ebs.csi.aws.com", 1)));
  NodeSpec node{.name = "a",
                .volumes = {{BERTH_VOLUME_INLINE, R"({"name":"w","awsElasticBlockStore":{"volumeID":"vol-2"}})"}}};
  const PodSpec pod{.volumes = {{"v", BERTH_VOLUME_INLINE, ebs}}};
  EXPECT_EQ(decide(pod, {node, {.name = "without-csi-node"}}), (std::vector<Answer>{k_full, passes()}));
  EXPECT_EQ(decide(pod, {{.name = "a", .volumes = {{BERTH_VOLUME_INLINE, ebs}}}}), std::vector<Answer>{passes()});
}

TEST_F(NodeVolumeLimits, SayWhatCannotBeCounted) {
  limit_node("a", 5);
  Attempt missing(policy, pod_with({"gone"}), seen(policy, {{.name = "a"}}));
  ASSERT_EQ(missing.pre_filter(), Outcome{});
  EXPECT_EQ(missing.filter(),
            std::vector<Answer>{unresolvable("looking up PVC default/gone: persistentvolumeclaim \"gone\" not found")});
  put_claim(cluster, {.name = "p-e", .class_name = "wait", .owner_uid = "another-pod"});
  EXPECT_EQ(failure({.name = "p", .volumes = {{"e", BERTH_VOLUME_EPHEMERAL, "p-e"}}}, {{.name = "a"}}),
            "PVC default/p-e was not created for pod default/p (pod is not owner)");
  EXPECT_EQ(
      failure({.volumes = {{"v", BERTH_VOLUME_INLINE,
                            R"({"name":"v","awsElasticBlockStore":{"volumeID":"aws://z/x-1"}})"}}},
              {{.name = "a"}}),
      "converting volume(v) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID Invalid format "
      "for AWS volume (aws://z/x-1)");
  put_bound(cluster, "fine", "d");
  EXPECT_EQ(
      failure(pod_with({"fine"}), {{.name = "a", .volumes = {{BERTH_VOLUME_EPHEMERAL, "p-e", "default", "p", "uid"}}}}),
      "PVC default/p-e was not created for pod default/p (pod is not owner)");
}

TEST_F(NodeVolumeLimits, AnswerTheSameWithoutPreFilter) {
  put_bound(cluster, "c1", "d");
  put_bound(cluster, "c2", "d");
  limit_node("a", 1);
  Attempt attempt(policy, pod_with({"c2"}), seen(policy, {node_with("a", {"c1"}), {.name = "b"}}));
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{k_full, passes()}));
}

/// The counts that are kept between cycles against counts made from nothing, over random changes.
TEST_F(NodeVolumeLimits, AgreeWithAFreshCountAfterAnyChanges) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() + 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<NodeSpec> nodes(70);
  std::map<std::string, std::string> driver_of;  // by claim
  std::map<std::string, int> limits;
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].name = "n" + std::to_string(i);
  for (int step = 0; step < 150; ++step) {
    const std::string claim = "c" + std::to_string(random() % 12);
    NodeSpec& node = nodes[random() % nodes.size()];
    switch (random() % 4) {
      case 0:
        driver_of[claim] = random() % 2 == 0 ? "d" : "e";
        put_bound(cluster, claim, driver_of[claim]);
        break;
      case 1:
        limits[node.name] = static_cast<int>(random() % 4);
        limit_node(node.name, limits[node.name]);
        break;
      case 2:
        node.volumes.push_back({BERTH_VOLUME_CLAIM, claim});
        break;
      default:
        if (!node.volumes.empty()) node.volumes.pop_back();
    }
    const std::string wanted = "c" + std::to_string(random() % 12);
    if (driver_of.count(wanted) == 0) continue;
    std::vector<Answer> expected;
    for (const NodeSpec& n : nodes) {
      std::set<std::string> there;
      for (const NodeVolumeSpec& v : n.volumes)
        if (driver_of.count(v.source) != 0 && driver_of[v.source] == "d") there.insert(v.source);
      const bool counts = limits.count(n.name) != 0 && driver_of[wanted] == "d" && there.count(wanted) == 0;
      expected.push_back(counts && static_cast<int>(there.size()) + 1 > limits[n.name] ? k_full : passes());
    }
    ASSERT_EQ(decide(pod_with({wanted}), nodes), expected) << "step " << step;
  }
}

TEST_F(NodeVolumeLimits, KeepPodsOffNodesWithoutADriverThatDemandsToBeThere) {
  put_bound(cluster, "c", "d");
  put_bound(cluster, "other", "e");
  put(cluster, storage::k_csi_nodes, csi_node("has", R"([{"name":"d"},{"name":"e"}])"));
  put(cluster, storage::k_csi_nodes, csi_node("lacks", R"([{"name":"e"}])"));
  const std::vector<NodeSpec> nodes = {{.name = "has"}, {.name = "lacks"}, {.name = "no-csi-node"}};
  const Answer missing = unschedulable("d CSI driver is not installed on the node");
  EXPECT_EQ(decide(pod_with({"c"}), nodes), (std::vector<Answer>{passes(), passes(), passes()})) << "no CSIDriver";
  put(cluster, storage::k_csi_drivers, ObjectSpec{"", "d", {std::int64_t{1}}});
  put(cluster, storage::k_csi_drivers, ObjectSpec{"", "e", {std::int64_t{0}}});
  EXPECT_EQ(decide(pod_with({"c"}), nodes), (std::vector<Answer>{passes(), missing, missing}));
  EXPECT_EQ(decide(pod_with({"other"}), nodes), (std::vector<Answer>{passes(), passes(), passes()}));
  put(cluster, storage::k_csi_nodes, csi_node("lacks", R"([{"name":"d"}])"));
  put(cluster, storage::k_csi_drivers, ObjectSpec{"", "d", {std::int64_t{0}}});
  EXPECT_EQ(decide(pod_with({"c"}), nodes), (std::vector<Answer>{passes(), passes(), passes()}));
}

TEST_F(NodeVolumeLimits, WakePodsWhenThereMayBeRoom) {
  const PodSpec waiting = pod_with({"c"});
  const auto limits_change = [&](const std::string& before, const std::string& after) {
    return policy.wakes({.kind = BERTH_KIND_CSI_NODE,
                         .actions = BERTH_ACTION_UPDATE,
                         .old_object = csi_node("a", before),
                         .new_object = csi_node("a", after)},
                        waiting);
  };
  EXPECT_TRUE(limits_change(limit("d", 1), limit("d", 2)));
  EXPECT_TRUE(limits_change("[]", limit("d", 1)));
  EXPECT_FALSE(limits_change(limit("d", 2), limit("d", 1)));
  EXPECT_TRUE(policy.wakes({.kind = BERTH_KIND_CSI_NODE, .new_object = csi_node("a", "[]")}, waiting)) << "a new one";
  const auto gone = [&](const PodSpec& pod) {
    return policy.wakes({.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = pod}, waiting);
  };
  PodSpec placed = pod_with({"x"});
  EXPECT_FALSE(gone(placed)) << "never had a node";
  placed.node_name = "a";
  EXPECT_TRUE(gone(placed));
  EXPECT_FALSE(gone({.node_name = "a"}));
  EXPECT_TRUE(policy.wakes({.kind = BERTH_KIND_VOLUME_ATTACHMENT,
                            .actions = BERTH_ACTION_DELETE,
                            .old_object = ObjectSpec{"", "at", {"d", "a", "v"}}},
                           waiting));
}

}  // namespace
