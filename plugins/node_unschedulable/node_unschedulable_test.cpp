// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

const char* const k_key = "node.kubernetes.io/unschedulable";
const Answer k_refused = unresolvable("node(s) were unschedulable");

struct TolerationCase {
  const char* name;
  std::vector<TolerationSpec> tolerations;
  bool tolerated;
};
const std::vector<TolerationCase> k_tolerations = {
    {"None", {}, false},
    {"ByKey", {{.key = k_key, .op = "Exists"}}, true},
    {"ByKeyAndEffect", {{.key = k_key, .op = "Exists", .effect = "NoSchedule"}}, true},
    {"OtherEffect", {{.key = k_key, .op = "Exists", .effect = "NoExecute"}}, false},
    {"EqualToTheEmptyValue", {{.key = k_key, .op = "Equal", .value = ""}}, true},
    {"EqualToAnotherValue", {{.key = k_key, .op = "Equal", .value = "x"}}, false},
    {"EmptyKeyExists", {{.op = "Exists"}}, true},
    {"EmptyKeyEqualEmptyValue", {{.op = "Equal"}}, true},
    {"SecondOfTwo", {{.key = "a", .op = "Exists"}, {.key = k_key, .op = "Exists"}}, true},
    {"Comparison", {{.key = k_key, .op = "Lt", .value = "1"}}, false},
};

class NodeUnschedulableTolerations : public testing::TestWithParam<TolerationCase> {};
TEST_P(NodeUnschedulableTolerations, DecideOnCordonedNodes) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.tolerations = GetParam().tolerations},
                  {{.name = "open"}, {.name = "cordoned", .unschedulable = true}});
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{passes(), GetParam().tolerated ? passes() : k_refused}));
}
INSTANTIATE_TEST_SUITE_P(All, NodeUnschedulableTolerations, testing::ValuesIn(k_tolerations),
                         [](const auto& instance) { return instance.param.name; });

TEST(NodeUnschedulable, IgnoresTheNodesOwnTaints) {
  Policy policy(tested_library());
  Attempt attempt(policy, {}, {{.name = "a", .taints = {{k_key, "", "NoSchedule"}}}});
  EXPECT_EQ(attempt.filter(), std::vector<Answer>{passes()});
}

TEST(NodeUnschedulable, JudgesBlocksOfAnySize) {
  for (const std::size_t size : {1u, 63u, 64u, 65u, 200u}) {
    std::vector<NodeSpec> nodes(size);
    for (std::size_t i = 0; i < size; ++i) nodes[i].unschedulable = i % 3 == 0;
    Policy policy(tested_library());
    const std::vector<Answer> answers = Attempt(policy, {}, nodes).filter();
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(answers[i], i % 3 == 0 ? k_refused : passes()) << i << " of " << size;
  }
}

TEST(NodeUnschedulable, WakesPodsWhenANodeOpens) {
  const NodeSpec open{.name = "n"};
  const NodeSpec cordoned{.name = "n", .unschedulable = true};
  Policy policy(tested_library());
  const auto wakes = [&](std::uint32_t actions, std::optional<NodeSpec> before, std::optional<NodeSpec> after) {
    return policy.wakes({.actions = actions, .old_node = before, .new_node = after}, {});
  };
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, {}, open));
  EXPECT_FALSE(wakes(BERTH_ACTION_ADD, {}, cordoned));
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, cordoned, open));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, open, cordoned));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, open, open));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, cordoned, open)) << "not an interest";
}

TEST(NodeUnschedulable, WakesThePodThatNowTolerates) {
  Policy policy(tested_library());
  const PodSpec tolerant{.name = "p", .tolerations = {{.key = k_key, .op = "Exists"}}};
  const auto wakes = [&](const PodSpec& changed, const PodSpec& waiting) {
    return policy.wakes(
        {.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_UPDATE_POD_TOLERATION, .old_pod = waiting, .new_pod = changed},
        waiting);
  };
  EXPECT_TRUE(wakes(tolerant, {.name = "p"}));
  EXPECT_FALSE(wakes({.name = "p", .tolerations = {{.key = "other", .op = "Exists"}}}, {.name = "p"}));
  EXPECT_FALSE(wakes(tolerant, {.name = "q"})) << "another pod";
}

TEST(NodeUnschedulable, NeedsItsColumnAndItsService) {
  EXPECT_THROW(Policy(tested_library(), {}, [](FakeHost& h) { h.missing_columns.insert(BERTH_COL_UNSCHEDULABLE); }),
               CallError);
  EXPECT_THROW(Policy(tested_library(), {}, [](FakeHost& h) { h.missing_services.insert("berth.intern/1"); }),
               CallError);
}

}  // namespace
