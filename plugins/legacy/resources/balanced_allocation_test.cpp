// SPDX-License-Identifier: Apache-2.0
#include "../../shared/storage/storage_scene.hpp"
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::balanced_allocation_test {
namespace {

using namespace storage::testing;

const char* const k_with_volumes = "BalancedResourceAllocationWithVolumes";

std::string ebs(const std::string& id) { return R"("awsElasticBlockStore":{"volumeID":")" + id + "\"}"; }
std::string azure(const std::string& name) { return R"("azureDisk":{"diskName":")" + name + "\"}"; }
NodeVolumeSpec on_node(const std::string& source) { return {BERTH_VOLUME_INLINE, "{" + source + "}"}; }

/// The pod asks for nothing but the volumes, so that the node's sums stand in the formula.
PodSpec bringing(const std::vector<std::string>& sources, std::vector<VolumeSpec> more = {}) {
  PodSpec pod = {.volumes = std::move(more), .container_resources = {{.requests = {{"cpu", 0}, {"memory", 0}}}}};
  for (const std::string& source : sources) pod.volumes.push_back({"d", BERTH_VOLUME_INLINE, "{" + source + "}"});
  return pod;
}
/// Percent of cpu and memory in use, and how many Azure disks the node bears.
NodeSpec node(std::int64_t cpu, std::int64_t memory, std::int64_t disks = 0) {
  return {.name = "n",
          .capacity = {{"cpu", 100}, {"memory", 100}, {"attachable-volumes-azure-disk", disks}},
          .nonzero = {{"cpu", cpu}, {"memory", memory}}};
}

TEST(BalancedResourceAllocation, ScoresTheDifferenceOfShares) {
  const auto of = [](const NodeSpec& on, int max_score = 100) {
    Scene scene("BalancedResourceAllocation", with_max(max_score));
    return scene.score(bringing({azure("d")}), {on})[0];
  };
  EXPECT_EQ(of(node(75, 50, 1)), 75) << "disks are not looked at";
  EXPECT_EQ(of(node(75, 50), 10), 7);
  EXPECT_EQ(of(node(40, 40)), 100);
  EXPECT_EQ(of(node(100, 50)), 0) << "used up";
  EXPECT_EQ(of(node(50, 120)), 0);
  EXPECT_EQ(of({.capacity = {{"memory", 100}}}), 0) << "no cpu counts as used up";
}

TEST(BalancedResourceAllocationWithVolumes, ScoresTheVarianceOfThreeShares) {
  const auto of = [](const NodeSpec& on, int disks, int max_score = 100) {
    Scene scene(k_with_volumes, with_max(max_score));
    std::vector<std::string> sources;
    for (int i = 0; i < disks; ++i) sources.push_back(azure("d" + std::to_string(i)));
    return scene.scored(bringing(sources), {on})[0];
  };
  // Shares 3/4, 1/2, 1/4: the mean is 1/2, the variance (1/16 + 0 + 1/16)/3 = 1/24, and 1 - 1/24 is 0.9583.
  EXPECT_EQ(of(node(75, 50, 4), 1), 95);
  EXPECT_EQ(of(node(75, 50, 4), 1, 10), 9);
  // 1/2, 1/2, 1/2 vary by nothing; 0, 0, 3/4 by (1/16 + 1/16 + 1/4)/3 = 1/8.
  EXPECT_EQ(of(node(50, 50, 4), 2), 100);
  EXPECT_EQ(of(node(0, 0, 4), 3), 87);
  EXPECT_EQ(of(node(50, 50, 4), 4), 0) << "all that may still be attached";
  EXPECT_EQ(of(node(100, 50, 4), 1), 0);
  EXPECT_EQ(of(node(50, 100, 4), 1), 0);
  EXPECT_EQ(of(node(75, 50, 4), 0), 75) << "a pod without disks: the difference of two shares";
}

TEST(BalancedResourceAllocationWithVolumes, CountsWhatIsThereAsNeitherFreeNorAsked) {
  Scene scene(k_with_volumes);
  NodeSpec used = node(50, 50, 5), has_it = node(50, 50, 5), full = node(50, 25, 1);
  used.volumes = {on_node(azure("x")), on_node(azure("x")), on_node(ebs("y"))};
  has_it.volumes = {on_node(azure("d"))};
  full.volumes = {on_node(azure("d"))};
  // used: two of the four that are left; has_it: one of four, and (1/2, 1/2, 1/4) varies by (2/144 + 4/144)/3 = 1/72;
  // full: none is left, none is asked for, so that cpu and memory stand alone.
  EXPECT_EQ(scene.scored(bringing({azure("d"), azure("e")}), {used, has_it}), (Scores{100, 98}));
  EXPECT_EQ(scene.scored(bringing({azure("d")}), {full}), Scores{75});
}

TEST(BalancedResourceAllocationWithVolumes, ReadsClaimsAndTheLimitsOfTypes) {
  Scene scene(k_with_volumes);
  put_claim(scene.cluster(), {.name = "c", .volume = "v", .bound = true});
  put_volume(scene.cluster(), {.name = "v", .source = azure("behind-claim")});
  EXPECT_EQ(scene.scored(bringing({}, {{"c", BERTH_VOLUME_CLAIM, "c"}}), {node(75, 50, 4)}), Scores{95});
  EXPECT_EQ(scene.scored(bringing({}, {{"c", BERTH_VOLUME_CLAIM, "absent"}}), {node(75, 50, 4)}), Scores{75});
  Scene two(k_with_volumes, R"({"maxVolumes":2})");
  EXPECT_EQ(two.scored(bringing({azure("d")}), {node(75, 50)}), Scores{98}) << "half of what the operator allows";
  // By default 16 of Azure, and 39 of EBS but 25 on Nitro: 20 of these are 4/5, of those 0.5128, and
  // (4/5, 4/5, 0.5128) varies by 0.0183.
  EXPECT_EQ(scene.scored(bringing({azure("a"), azure("b"), azure("c"), azure("d")}), {node(75, 50)}), Scores{95});
  NodeSpec nitro = node(80, 80);
  nitro.labels["beta.kubernetes.io/instance-type"] = "c5.large";
  std::vector<std::string> twenty;
  for (int i = 0; i < 20; ++i) twenty.push_back(ebs("e" + std::to_string(i)));
  EXPECT_EQ(scene.scored(bringing(twenty), {nitro, node(80, 80)}), (Scores{100, 98}));
}

TEST(BalancedResourceAllocationWithVolumes, TakesTheLastOfSeveralTypesThatTheNodeStillAttachesItself) {
  Scene scene(k_with_volumes);
  NodeSpec plain = node(75, 50, 4), taken_over = node(75, 50, 4);
  for (NodeSpec* each : {&plain, &taken_over}) each->capacity["attachable-volumes-aws-ebs"] = 2;
  plain.name = "plain";
  taken_over.name = "taken-over";
  put(scene.cluster(), storage::k_csi_nodes, csi_node("taken-over", "[]", "kubernetes.io/azure-disk"));
  // plain: 1/4 of Azure, 95; taken-over: 1/2 of EBS, and (3/4, 1/2, 1/2) varies by (1/36 + 1/144 + 1/144)/3 = 1/72.
  EXPECT_EQ(scene.scored(bringing({ebs("e"), azure("a")}), {plain, taken_over}), (Scores{95, 98}));
  EXPECT_EQ(scene.scored(bringing({azure("a")}), {plain, taken_over}), (Scores{95, 75}));
}

TEST(BalancedResourceAllocationWithVolumes, SeesWhatChangedBetweenPods) {
  Scene scene(k_with_volumes);
  put_claim(scene.cluster(), {.name = "c", .volume = "v", .bound = true});
  NodeSpec on = node(75, 50, 5);
  on.volumes = {{BERTH_VOLUME_CLAIM, "c", "default"}};
  const auto score = [&] { return scene.scored(bringing({azure("d")}), {on})[0]; };
  // One of five: (3/4, 1/2, 1/5) varies by 0.0506; one of four once the claim is one of them: 1/24.
  EXPECT_EQ(score(), 94);
  put_volume(scene.cluster(), {.name = "v", .source = azure("x")});
  EXPECT_EQ(score(), 95);
  put(scene.cluster(), storage::k_csi_nodes, csi_node("n", "[]", "kubernetes.io/azure-disk"));
  EXPECT_EQ(score(), 75);
}

TEST(BalancedResourceAllocationWithVolumes, SaysWhatIsMissing) {
  Scene scene(k_with_volumes);
  try {
    scene.attempt(bringing({azure("d")}), {node(50, 50)}).score();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "counts of pods are missing: enable the plugin at preScore too"}));
  }
  EXPECT_EQ(refusal(k_with_volumes, R"({"maxVolumes":0})"), "maxVolumes: Invalid value: 0: must be greater than zero");
}

}  // namespace
}  // namespace berth::legacy::tests::balanced_allocation_test
