// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

const Answer k_refused = unresolvable("node(s) had untolerated taint(s)");

struct Case {
  const char* name;
  std::vector<TaintSpec> taints;
  std::vector<TolerationSpec> tolerations;
  bool fits;
};
const std::vector<Case> k_cases = {
    {"NoTaints", {}, {}, true},
    {"NotTolerated", {{"k", "v", "NoSchedule"}}, {}, false},
    {"ToleratedByEqual", {{"k", "v", "NoSchedule"}}, {{"k", "Equal", "v", "NoSchedule"}}, true},
    {"EmptyOperatorMeansEqual", {{"k", "v", "NoSchedule"}}, {{"k", "Equal", "v", ""}}, true},
    {"OtherValue", {{"k", "v", "NoSchedule"}}, {{"k", "Equal", "w", ""}}, false},
    {"OtherKey", {{"k", "v", "NoSchedule"}}, {{"l", "Equal", "v", ""}}, false},
    {"ExistsIgnoresTheValue", {{"k", "v", "NoSchedule"}}, {{"k", "Exists", "w", ""}}, true},
    {"OtherEffect", {{"k", "v", "NoSchedule"}}, {{"k", "Exists", "", "NoExecute"}}, false},
    {"NoExecuteRepels", {{"k", "v", "NoExecute"}}, {}, false},
    {"NoExecuteTolerated", {{"k", "v", "NoExecute"}}, {{"k", "Exists", "", "NoExecute"}}, true},
    {"PreferNoScheduleDoesNotRepel", {{"k", "v", "PreferNoSchedule"}}, {}, true},
    {"UnknownEffectIsIgnored", {{"k", "v", "Whatever"}}, {}, true},
    {"EveryTaintNeedsAToleration",
     {{"a", "", "NoSchedule"}, {"b", "", "NoSchedule"}},
     {{"a", "Exists", "", ""}},
     false},
    {"EveryTaintHasAToleration",
     {{"a", "", "NoSchedule"}, {"b", "", "NoExecute"}},
     {{"a", "Exists", "", ""}, {"b", "Exists", "", ""}},
     true},
    {"EmptyKeyComparesTheValueOnly", {{"k", "v", "NoSchedule"}}, {{"", "Equal", "v", ""}}, true},
    {"EmptyKeyOtherValue", {{"k", "v", "NoSchedule"}}, {{"", "Equal", "", ""}}, false},
    {"EmptyKeyExistsToleratesAll", {{"a", "x", "NoSchedule"}, {"b", "", "NoExecute"}}, {{"", "Exists", "", ""}}, true},
    {"LtToleratesSmallerNumbers", {{"k", "-7", "NoSchedule"}}, {{"k", "Lt", "5", ""}}, true},
    {"LtDoesNotTolerateTheSameNumber", {{"k", "5", "NoSchedule"}}, {{"k", "Lt", "5", ""}}, false},
    {"GtToleratesGreaterNumbers", {{"k", "9", "NoSchedule"}}, {{"k", "Gt", "5", ""}}, true},
    {"GtDoesNotTolerateTheSameNumber", {{"k", "5", "NoSchedule"}}, {{"k", "Gt", "5", ""}}, false},
    {"GtOfAnotherEffect", {{"k", "9", "NoSchedule"}}, {{"k", "Gt", "5", "NoExecute"}}, false},
    {"ATaintThatIsNoNumber", {{"k", "v9", "NoSchedule"}}, {{"k", "Gt", "5", ""}}, false},
    {"ATaintWithoutAValue", {{"k", "", "NoSchedule"}}, {{"k", "Lt", "5", ""}}, false},
    {"ATolerationThatIsNoNumber", {{"k", "9", "NoSchedule"}}, {{"k", "Gt", "5.0", ""}}, false},
    {"ANumberWithAZeroInFront", {{"k", "09", "NoSchedule"}}, {{"k", "Gt", "5", ""}}, false},
    {"UnknownOperatorToleratesNothing", {{"k", "v", "NoSchedule"}}, {{"k", "In", "v", ""}}, false},
};

class TaintTolerationTable : public testing::TestWithParam<Case> {};
TEST_P(TaintTolerationTable, Filters) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.tolerations = GetParam().tolerations},
                  {{.name = "clean"}, {.name = "tainted", .taints = GetParam().taints}});
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{passes(), GetParam().fits ? passes() : k_refused}));
}
INSTANTIATE_TEST_SUITE_P(All, TaintTolerationTable, testing::ValuesIn(k_cases),
                         [](const auto& instance) { return instance.param.name; });

NodeSpec soft(int taints) {
  NodeSpec node;
  for (int i = 0; i < taints; ++i) node.taints.push_back({"k" + std::to_string(i), "v", "PreferNoSchedule"});
  return node;
}

TEST(TaintToleration, ScoresFewerSoftTaintsHigher) {
  Policy policy(tested_library());
  Attempt attempt(policy, {}, {soft(0), soft(1), soft(2), soft(4)});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{0, 1, 2, 4}));
  EXPECT_EQ(attempt.normalized(), (Scores{100, 75, 50, 0}));
}

TEST(TaintToleration, GivesEveryNodeTheMaximumWithoutSoftTaints) {
  Policy policy(tested_library());
  Attempt attempt(policy, {}, {soft(0), {.name = "b", .taints = {{"k", "v", "NoSchedule"}}}});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.normalized(), (Scores{100, 100}));
}

TEST(TaintToleration, CountsTolerationsOfSoftOrAnyEffectOnly) {
  const auto score = [](TolerationSpec toleration) {
    Policy policy(tested_library());
    Attempt attempt(policy, {.tolerations = {toleration}}, {soft(2)});
    EXPECT_EQ(attempt.pre_score(), Outcome{});
    return attempt.score();
  };
  EXPECT_EQ(score({"k0", "Exists", "", ""}), Scores{1});
  EXPECT_EQ(score({"k0", "Exists", "", "PreferNoSchedule"}), Scores{1});
  EXPECT_EQ(score({"k0", "Equal", "v", "PreferNoSchedule"}), Scores{1});
  EXPECT_EQ(score({"k0", "Exists", "", "NoSchedule"}), Scores{2});
  EXPECT_EQ(score({"", "Exists", "", ""}), Scores{0});
}

TEST(TaintToleration, FailsToScoreWithoutPreScore) {
  Policy policy(tested_library());
  Attempt attempt(policy, {}, {soft(1)});
  try {
    attempt.score();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, "failed to read \"PreScoreTaintToleration\" from cycleState: not found"}));
  }
}

TEST(TaintToleration, WakesPodsWhenANodeBecomesTolerable) {
  const NodeSpec clean{.name = "n"};
  const NodeSpec tainted{.name = "n", .taints = {{"k", "v", "NoSchedule"}}};
  const NodeSpec softly{.name = "n", .taints = {{"k", "v", "PreferNoSchedule"}}};
  Policy policy(tested_library());
  const auto wakes = [&](std::uint32_t actions, std::optional<NodeSpec> before, std::optional<NodeSpec> after) {
    return policy.wakes({.actions = actions, .old_node = before, .new_node = after}, {});
  };
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, {}, clean));
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, {}, softly));
  EXPECT_FALSE(wakes(BERTH_ACTION_ADD, {}, tainted));
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, tainted, clean));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, clean, clean)) << "it was tolerable before";
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, clean, tainted));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, softly, clean));
}

TEST(TaintToleration, WakesThePodWhoseTolerationsChanged) {
  Policy policy(tested_library());
  const auto wakes = [&](const char* changed) {
    return policy.wakes(
        {.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_UPDATE_POD_TOLERATION, .new_pod = PodSpec{.name = changed}},
        {.name = "p"});
  };
  EXPECT_TRUE(wakes("p"));
  EXPECT_FALSE(wakes("q"));
}

TEST(TaintToleration, TellsManyTaintListsApart) {
  std::vector<NodeSpec> nodes(300);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].taints = {{"k", "v" + std::to_string(i % 150), "NoSchedule"}};
  Policy policy(tested_library());
  Attempt attempt(policy, {.tolerations = {{"k", "Equal", "v77", ""}}}, nodes);
  const std::vector<Answer> answers = attempt.filter();
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(answers[i], i % 150 == 77 ? passes() : k_refused) << i;
}

}  // namespace
