// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::node_conditions_test {
namespace {

struct ConditionCase {
  const char* name;
  Strings conditions;
  bool unschedulable;
  Answer want;
};
const std::vector<ConditionCase> k_condition_cases = {
    {"NoConditions", {}, false, passes()},
    {"Ready", {{"Ready", "True"}, {"NetworkUnavailable", "False"}}, false, passes()},
    {"NotReady", {{"Ready", "False"}}, false, unresolvable("node(s) were not ready")},
    {"UnknownIsNotReady", {{"Ready", "Unknown"}}, false, unresolvable("node(s) were not ready")},
    {"NoNetwork", {{"NetworkUnavailable", "True"}}, false, unresolvable("node(s) had unavailable network")},
    {"UnknownNetwork", {{"NetworkUnavailable", "Unknown"}}, false, unresolvable("node(s) had unavailable network")},
    {"Cordoned", {{"Ready", "True"}}, true, unresolvable("node(s) were unschedulable")},
    {"AllThree",
     {{"Ready", "False"}, {"NetworkUnavailable", "True"}},
     true,
     unresolvable("node(s) were not ready, node(s) had unavailable network, node(s) were unschedulable")},
    {"OtherConditionsDoNotMatter", {{"MemoryPressure", "True"}, {"DiskPressure", "True"}}, false, passes()},
};

class CheckNodeConditionTable : public testing::TestWithParam<ConditionCase> {};
TEST_P(CheckNodeConditionTable, NamesAllThatHolds) {
  const ConditionCase& c = GetParam();
  Scene scene("CheckNodeCondition");
  // No toleration helps.
  EXPECT_EQ(scene.filter({.tolerations = {{.op = "Exists"}}},
                         {{.name = "good"}, {.conditions = c.conditions, .unschedulable = c.unschedulable}}),
            (Answers{passes(), c.want}));
}
INSTANTIATE_TEST_SUITE_P(All, CheckNodeConditionTable, testing::ValuesIn(k_condition_cases),
                         [](const auto& instance) { return instance.param.name; });

TEST(CheckNodeCondition, WakesPodsAfterChangesOfConditionsAndCordons) {
  Scene scene("CheckNodeCondition");
  for (const std::uint32_t action :
       {BERTH_ACTION_ADD, BERTH_ACTION_UPDATE_NODE_CONDITION, BERTH_ACTION_UPDATE_NODE_TAINT})
    EXPECT_TRUE(scene.policy.wakes({.actions = action, .new_node = NodeSpec{}}, {})) << action;
  EXPECT_FALSE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_LABEL, .new_node = NodeSpec{}}, {}));
}

struct PressureCase {
  const char* plugin;
  const char* condition;
  const char* reason;
};
const std::vector<PressureCase> k_pressures = {
    {"CheckNodeMemoryPressure", "MemoryPressure", "node(s) had memory pressure"},
    {"CheckNodeDiskPressure", "DiskPressure", "node(s) had disk pressure"},
    {"CheckNodePIDPressure", "PIDPressure", "node(s) had pid pressure"}};

class Pressures : public testing::TestWithParam<PressureCase> {};
TEST_P(Pressures, RefuseNodesUnderThatPressureOnly) {
  const PressureCase& c = GetParam();
  Scene scene(c.plugin);
  std::vector<NodeSpec> nodes = {{.name = "none"}, {.conditions = {{c.condition, "False"}}}};
  Answers want = {passes(), passes()};
  for (const PressureCase& other : k_pressures) {
    nodes.push_back({.conditions = {{other.condition, "True"}}});
    want.push_back(other.condition == c.condition ? unresolvable(c.reason) : passes());
  }
  nodes.push_back({.conditions = {{c.condition, "Unknown"}}});
  want.push_back(passes());
  EXPECT_EQ(scene.filter({.container_resources = {{}}}, nodes), want);
}
INSTANTIATE_TEST_SUITE_P(All, Pressures, testing::ValuesIn(k_pressures),
                         [](const auto& instance) { return instance.param.plugin; });

TEST(CheckNodeMemoryPressure, ConcernsPodsWithoutRequestsAndLimits) {
  const auto fits = [](std::vector<ContainerSpec> containers) {
    Scene scene("CheckNodeMemoryPressure");
    return scene
        .filter({.container_resources = std::move(containers), .overhead = {{"cpu", 100}}},
                {{.conditions = {{"MemoryPressure", "True"}}}})[0]
        .passes;
  };
  EXPECT_FALSE(fits({{}, {}}));
  EXPECT_FALSE(fits({{.requests = {{"cpu", 0}, {"memory", 0}}}})) << "an amount of 0 asks for nothing";
  EXPECT_FALSE(fits({{.requests = {{"example.com/gpu", 1}}}})) << "other resources do not count";
  EXPECT_TRUE(fits({{}, {.requests = {{"cpu", 1}}}}));
  EXPECT_TRUE(fits({{.limits = {{"memory", 1}}}}));
  EXPECT_TRUE(fits({{.requests = {{"memory", 1}}, .kind = BERTH_CONTAINER_INIT}, {}}));
}
TEST(CheckNodeDiskPressure, ConcernsPodsWithRequestsToo) {
  Scene scene("CheckNodeDiskPressure");
  EXPECT_EQ(
      scene.filter({.container_resources = {{.requests = {{"cpu", 1}}}}}, {{.conditions = {{"DiskPressure", "True"}}}}),
      Answers{unresolvable("node(s) had disk pressure")});
}

TEST(CheckNodeUnschedulable, RefusesCordonedNodesUnlessThatIsTolerated) {
  Scene scene("CheckNodeUnschedulable");
  const std::vector<NodeSpec> nodes = {{.name = "open"}, {.unschedulable = true}};
  EXPECT_EQ(scene.filter({}, nodes), (Answers{passes(), unresolvable("node(s) were unschedulable")}));
  EXPECT_EQ(scene.filter({.tolerations = {{.key = "node.kubernetes.io/unschedulable", .op = "Exists"}}}, nodes),
            (Answers{passes(), passes()}));
  EXPECT_FALSE(
      scene
          .filter({.tolerations = {{.key = "node.kubernetes.io/unschedulable", .op = "Exists", .effect = "NoExecute"}}},
                  nodes)[1]
          .passes);
}

struct TaintCase {
  const char* name;
  std::vector<TaintSpec> taints;
  std::vector<TolerationSpec> tolerations;
  bool all, no_execute;  // whether the pod fits, by predicate
};
const std::vector<TaintCase> k_taint_cases = {
    {"None", {}, {}, true, true},
    {"NoSchedule", {{"k", "v", "NoSchedule"}}, {}, false, true},
    {"NoExecute", {{"k", "v", "NoExecute"}}, {}, false, false},
    {"PreferNoSchedule", {{"k", "v", "PreferNoSchedule"}}, {}, true, true},
    {"Tolerated", {{"k", "v", "NoExecute"}}, {{.key = "k", .value = "v"}}, true, true},
    {"OtherValue", {{"k", "v", "NoExecute"}}, {{.key = "k", .value = "w"}}, false, false},
    {"OneOfTwoTolerated",
     {{"k", "", "NoSchedule"}, {"l", "", "NoExecute"}},
     {{.key = "l", .op = "Exists"}},
     false,
     true},
    {"NoComparisons", {{"k", "1", "NoExecute"}}, {{.key = "k", .op = "Lt", .value = "5"}}, false, false},
};
class Taints : public testing::TestWithParam<TaintCase> {};
TEST_P(Taints, AreToleratedByPredicate) {
  const TaintCase& c = GetParam();
  const Answer refused = unresolvable("node(s) had taints that the pod didn't tolerate");
  const auto ask = [&](const char* plugin) {
    Scene scene(plugin);
    return scene.filter({.tolerations = c.tolerations}, {{.name = "clean"}, {.taints = c.taints}});
  };
  EXPECT_EQ(ask("PodToleratesNodeTaints"), (Answers{passes(), c.all ? passes() : refused}));
  EXPECT_EQ(ask("PodToleratesNodeNoExecuteTaints"), (Answers{passes(), c.no_execute ? passes() : refused}));
}
INSTANTIATE_TEST_SUITE_P(All, Taints, testing::ValuesIn(k_taint_cases),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace berth::legacy::tests::node_conditions_test
