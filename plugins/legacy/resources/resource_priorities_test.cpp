// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::resource_priorities_test {
namespace {

constexpr std::int64_t k_mi = std::int64_t{1} << 20;

using Amounts = std::map<std::string, std::int64_t>;

/// A node that offers `capacity` and counts `used` for its pods.
NodeSpec node(Amounts capacity, Amounts used = {}) {
  return {.capacity = std::move(capacity), .requested = used, .nonzero = used};
}
PodSpec asking(Amounts requests) { return {.container_resources = {{.requests = std::move(requests)}}}; }

/// The pod asks for nothing, so that the node's sums stand in the formula.
std::int64_t score(const char* plugin, int max_score, const NodeSpec& on, std::string_view args = {}) {
  Scene scene(plugin, with_max(max_score, args));
  return scene.score(asking({{"cpu", 0}, {"memory", 0}}), {on})[0];
}

const Amounts k_offers = {{"cpu", 4000}, {"memory", 10000}};

TEST(LeastRequestedPriority, AveragesTheFreeShares) {
  EXPECT_EQ(score("LeastRequestedPriority", 100, node(k_offers, {{"cpu", 3000}, {"memory", 5000}})), 37);
  EXPECT_EQ(score("LeastRequestedPriority", 10, node(k_offers, {{"cpu", 3000}, {"memory", 5000}})), 3);
  EXPECT_EQ(score("LeastRequestedPriority", 100, node(k_offers, {{"cpu", 3300}, {"memory", 9000}})), 13);
  EXPECT_EQ(score("LeastRequestedPriority", 100, node(k_offers, {})), 100);
}
TEST(LeastRequestedPriority, CountsWhatIsMissingOrOvercommittedAsZero) {
  EXPECT_EQ(score("LeastRequestedPriority", 100, node({{"memory", 10000}}, {})), 50) << "no cpu: it still divides";
  EXPECT_EQ(score("LeastRequestedPriority", 100, node(k_offers, {{"cpu", 4001}})), 50);
  EXPECT_EQ(score("LeastRequestedPriority", 100, node({}, {})), 0);
}

TEST(MostRequestedPriority, AveragesTheUsedShares) {
  EXPECT_EQ(score("MostRequestedPriority", 100, node(k_offers, {{"cpu", 4500}, {"memory", 5000}})), 25)
      << "what is overcommitted scores 0";
  EXPECT_EQ(score("MostRequestedPriority", 100, node(k_offers, {{"cpu", 3000}, {"memory", 5000}})), 62);
  EXPECT_EQ(score("MostRequestedPriority", 10, node(k_offers, {{"cpu", 3000}, {"memory", 5000}})), 6);
  EXPECT_EQ(score("MostRequestedPriority", 100, node({{"memory", 10000}}, {{"memory", 10000}})), 50);
}

TEST(LeastRequestedPriority, AddsThePodWithDefaultsPerContainer) {
  Scene scene("LeastRequestedPriority");
  const NodeSpec on = node({{"cpu", 1000}, {"memory", 2000 * k_mi}}, {{"cpu", 300}, {"memory", 200 * k_mi}});
  // 100m and 200Mi for a container that names neither; an explicit 0 stays.
  EXPECT_EQ(scene.score({.container_resources = {{}, {}}}, {on}), Scores{(50 + 70) / 2});
  EXPECT_EQ(scene.score({.container_resources = {{}, {.requests = {{"cpu", 0}}}}}, {on}), Scores{(60 + 70) / 2});
}

TEST(LeastRequestedPriority, LeavesInitContainersOutAndItsSuccessorDoesNot) {
  const PodSpec pod = {
      .container_resources = {{.requests = {{"cpu", 500}, {"memory", 0}}, .kind = BERTH_CONTAINER_INIT},
                              {.requests = {{"cpu", 100}, {"memory", 0}}}}};
  const NodeSpec on = node({{"cpu", 1000}, {"memory", 1000}});
  Scene before("LeastRequestedPriority"), after("NodeResourcesLeastAllocated");
  EXPECT_EQ(before.score(pod, {on}), Scores{(90 + 100) / 2});
  EXPECT_EQ(after.score(pod, {on}), Scores{(50 + 100) / 2});
}

TEST(LeastRequestedPriority, AddsOverheadInWholeUnits) {
  const auto cpu_share = [](std::int64_t overhead_milli) {
    PodSpec pod = asking({{"cpu", 0}, {"memory", 0}});
    pod.overhead = {{"cpu", overhead_milli}};
    Scene scene("NodeResourcesMostAllocated", R"({"resources":[{"name":"cpu"}]})");
    return scene.score(pod, {node({{"cpu", 100}})})[0];
  };
  EXPECT_EQ(cpu_share(250), 1) << "a quarter of a core counts as one milli-core";
  EXPECT_EQ(cpu_share(2000), 2);
  EXPECT_EQ(cpu_share(0), 0);
}

TEST(NodeResourcesLeastAllocated, WeighsTheNamedResources) {
  const NodeSpec on = node({{"cpu", 4000}, {"example.com/gpu", 8}}, {{"cpu", 3000}, {"example.com/gpu", 2}});
  Scene scene("NodeResourcesLeastAllocated",
              R"({"resources":[{"name":"cpu","weight":1},{"name":"example.com/gpu","weight":3}]})");
  EXPECT_EQ(scene.score(asking({{"cpu", 0}, {"example.com/gpu", 2}}), {on}), Scores{(25 + 3 * 50) / 4});
  Scene most("NodeResourcesMostAllocated",
             R"({"resources":[{"name":"cpu","weight":1},{"name":"example.com/gpu","weight":3}]})");
  EXPECT_EQ(most.score(asking({{"cpu", 0}, {"example.com/gpu", 2}}), {on}), Scores{(75 + 3 * 50) / 4});
}
TEST(NodeResourcesLeastAllocated, NamesEveryProblemOfItsArgs) {
  EXPECT_EQ(refusal("NodeResourcesLeastAllocated", R"({"resources":[{"name":"cpu","weight":101},{"weight":-1}]})"),
            "[resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range [1, 100], "
            "resources[1].name: Invalid value: \"\": resource name not set, "
            "resources[1].weight: Invalid value: -1: resource weight of  not in valid range [1, 100]]");
}

TEST(RequestedToCapacityRatio, RoundsTheUsedShareUp) {
  const auto of = [](const char* plugin, std::string_view members, std::int64_t cpu, std::int64_t offered) {
    Scene scene(plugin, "{" + std::string(members) + R"("resources":[{"name":"cpu","weight":2}]})");
    return scene.score(asking({{"cpu", 0}}), {node({{"cpu", offered}}, {{"cpu", cpu}})})[0];
  };
  const std::string rising = R"("shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}],)";
  EXPECT_EQ(of("RequestedToCapacityRatio", rising, 1, 3), 34);
  EXPECT_EQ(of("RequestedToCapacityRatioPriority", rising, 1, 3), 34);
  EXPECT_EQ(of("RequestedToCapacityRatio", rising, 4, 3), 100) << "overcommitted is full";
  EXPECT_EQ(of("RequestedToCapacityRatio", rising, 0, 0), 100) << "so is a node that offers nothing";
  EXPECT_EQ(of("RequestedToCapacityRatio", rising + R"("maxNodeScore":10,)", 1, 3), 3);
  EXPECT_EQ(of("RequestedToCapacityRatioPriority", "", 1, 4), 75) << "without a shape the free share";
}
TEST(RequestedToCapacityRatio, AveragesRatingsAboveZeroAndRounds) {
  Scene scene(
      "RequestedToCapacityRatio",
      R"({"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}],"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":0}]})");
  const auto of = [&](std::int64_t cpu, std::int64_t memory) {
    return scene.score(asking({{"cpu", 0}, {"memory", 0}}),
                       {node({{"cpu", 100}, {"memory", 100}}, {{"cpu", cpu}, {"memory", memory}})})[0];
  };
  EXPECT_EQ(of(40, 0), 40) << "a rating of 0 does not count";
  EXPECT_EQ(of(40, 41), 41) << "40.5 is rounded away from zero";
  EXPECT_EQ(of(0, 0), 0);
}
TEST(RequestedToCapacityRatio, NamesEveryProblemOfItsShape) {
  EXPECT_EQ(refusal("RequestedToCapacityRatio", "{}"), "shape: Required value: at least one point must be specified");
  EXPECT_EQ(refusal("RequestedToCapacityRatioPriority", R"({"shape":[]})"),
            "shape: Required value: at least one point must be specified");
  EXPECT_EQ(refusal("RequestedToCapacityRatio",
                    R"({"shape":[{"utilization":10,"score":11},{"utilization":10,"score":-1},{"utilization":101}]})"),
            "[shape[0].score: Invalid value: 11: score values must not be greater than 10. Score[0]==11, "
            "shape[1].utilization: Invalid value: 10: utilization values must be sorted. Utilization[0]==10 >= "
            "Utilization[1]==10, "
            "shape[1].score: Invalid value: -1: score values must not be less than 0. Score[1]==-1, "
            "shape[2].utilization: Invalid value: 101: utilization values must not be greater than 100. "
            "Utilization[2]==101]");
}

TEST(ResourceLimitsPriority, GivesOneWhereALimitIsWithinTheNode) {
  for (const char* plugin : {"ResourceLimitsPriority", "NodeResourceLimits"}) {
    Scene scene(plugin);
    const std::vector<NodeSpec> nodes = {node({{"cpu", 100}, {"memory", 100}}), node({{"cpu", 100}}), node({})};
    const auto of = [&](std::vector<ContainerSpec> containers) {
      return scene.score({.container_resources = std::move(containers)}, nodes);
    };
    EXPECT_EQ(of({{}}), (Scores{0, 0, 0})) << "without limits";
    EXPECT_EQ(of({{.limits = {{"cpu", 100}}}}), (Scores{1, 1, 0}));
    EXPECT_EQ(of({{.limits = {{"cpu", 101}, {"memory", 100}}}}), (Scores{1, 0, 0})) << "one of the two is enough";
    EXPECT_EQ(of({{.limits = {{"cpu", 60}}}, {.limits = {{"cpu", 60}}}}), (Scores{0, 0, 0})) << "limits add up";
    EXPECT_EQ(of({{.limits = {{"cpu", 101}}, .kind = BERTH_CONTAINER_INIT}, {.limits = {{"cpu", 60}}}}),
              (Scores{0, 0, 0}));
    EXPECT_EQ(of({{.requests = {{"cpu", 1}}}}), (Scores{0, 0, 0})) << "requests are no limits";
  }
}

}  // namespace
}  // namespace berth::legacy::tests::resource_priorities_test
