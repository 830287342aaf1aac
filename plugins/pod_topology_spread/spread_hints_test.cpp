// SPDX-License-Identifier: Apache-2.0
#include "spread_scene.hpp"

#include <gtest/gtest.h>

namespace spread_hints_test {
namespace {
using namespace berth::pod_topology_spread::tests;

PodSpec waiting(std::uint32_t taints_policy = BERTH_POLICY_IGNORE) {
  return {.name = "waiting",
          .labels = k_web,
          .spread = {{.topology_key = k_zone, .selector = k_selects_web, .node_taints_policy = taints_policy}}};
}
PodSpec placed(Strings labels, std::string ns = "default") {
  return {.name = "other", .ns = std::move(ns), .node_name = "n", .labels = std::move(labels)};
}
const Strings k_db = {{"app", "db"}};

struct PodCase {
  std::string name;
  std::uint32_t action;
  std::optional<PodSpec> before, after;
  bool wakes;
  PodSpec pod = waiting();
};
PodSpec tolerant(PodSpec pod) {
  pod.tolerations = {{.op = "Exists"}};
  return pod;
}
const std::vector<PodCase> k_pod_cases = {
    {"MatchingPodAdded", BERTH_ACTION_ADD, {}, placed(k_web), true},
    {"OtherPodAdded", BERTH_ACTION_ADD, {}, placed(k_db), false},
    {"PendingPodAdded", BERTH_ACTION_ADD, {}, PodSpec{.name = "other", .labels = k_web}, false},
    {"NominatedPodAdded", BERTH_ACTION_ADD, {}, PodSpec{.name = "other", .nominated_node = "n", .labels = k_web}, true},
    {"PodOfAnotherNamespaceAdded", BERTH_ACTION_ADD, {}, placed(k_web, "other"), false},
    {"MatchingPodGone", BERTH_ACTION_DELETE, placed(k_web), {}, true},
    {"OtherPodGone", BERTH_ACTION_DELETE, placed(k_db), {}, false},
    {"PodStartsToMatch", BERTH_ACTION_UPDATE_POD_LABEL, placed(k_db), placed(k_web), true},
    {"PodStopsMatching", BERTH_ACTION_UPDATE_POD_LABEL, placed(k_web), placed(k_db), true},
    {"PodKeepsMatching", BERTH_ACTION_UPDATE_POD_LABEL, placed(k_web), placed({{"app", "web"}, {"x", "y"}}), false},
    {"OwnTolerationsWhereTaintsCount", BERTH_ACTION_UPDATE_POD_TOLERATION, waiting(BERTH_POLICY_HONOR),
     tolerant(waiting(BERTH_POLICY_HONOR)), true, waiting(BERTH_POLICY_HONOR)},
    {"OwnTolerationsWhereTaintsDoNot", BERTH_ACTION_UPDATE_POD_TOLERATION, waiting(), tolerant(waiting()), false},
    {"TolerationsOfOthers", BERTH_ACTION_UPDATE_POD_TOLERATION, placed(k_web), tolerant(placed(k_web)), false,
     waiting(BERTH_POLICY_HONOR)},
};
class SpreadPodHint : public testing::TestWithParam<PodCase> {};
TEST_P(SpreadPodHint, Answers) {
  const PodCase& c = GetParam();
  Scene scene;
  EXPECT_EQ(
      scene.policy.wakes({.kind = BERTH_KIND_POD, .actions = c.action, .old_pod = c.before, .new_pod = c.after}, c.pod),
      c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, SpreadPodHint, testing::ValuesIn(k_pod_cases),
                         [](const auto& i) { return i.param.name; });

NodeSpec tainted(NodeSpec n) {
  n.taints = {{"k", "v", "NoSchedule"}};
  return n;
}
struct NodeCase {
  std::string name;
  std::uint32_t action;
  std::optional<NodeSpec> before, after;
  bool wakes;
};
const std::vector<NodeCase> k_node_cases = {
    {"AddedWithTheKey", BERTH_ACTION_ADD, {}, node("n", "a"), true},
    {"AddedWithoutTheKey", BERTH_ACTION_ADD, {}, node("n", "-"), false},
    {"GoneWithTheKey", BERTH_ACTION_DELETE, node("n", "a"), {}, true},
    {"GoneWithoutTheKey", BERTH_ACTION_DELETE, node("n", "-"), {}, false},
    {"KeyGained", BERTH_ACTION_UPDATE_NODE_LABEL, node("n", "-"), node("n", "a"), true},
    {"KeyLost", BERTH_ACTION_UPDATE_NODE_LABEL, node("n", "a"), node("n", "-"), true},
    {"ValueChanged", BERTH_ACTION_UPDATE_NODE_LABEL, node("n", "a"), node("n", "b"), true},
    {"OtherLabelChanged", BERTH_ACTION_UPDATE_NODE_LABEL, node("n", "a"), node("n", "a", {{"x", "y"}}), false},
    {"TaintsChanged", BERTH_ACTION_UPDATE_NODE_TAINT, tainted(node("n", "a")), node("n", "a"), true},
    {"TaintsChangedOutsideTheKey", BERTH_ACTION_UPDATE_NODE_TAINT, tainted(node("n", "-")), node("n", "-"), false},
};
class SpreadNodeHint : public testing::TestWithParam<NodeCase> {};
TEST_P(SpreadNodeHint, Answers) {
  const NodeCase& c = GetParam();
  Scene scene;
  EXPECT_EQ(scene.policy.wakes({.actions = c.action, .old_node = c.before, .new_node = c.after}, waiting()), c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, SpreadNodeHint, testing::ValuesIn(k_node_cases),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace spread_hints_test
