// SPDX-License-Identifier: Apache-2.0
#include "spread_scene.hpp"

#include "critical_paths.hpp"
#include "natural_log.hpp"

#include <gtest/gtest.h>
#include <berth/testkit/what_if.hpp>

namespace spread_filter_test {
namespace {
using namespace berth::pod_topology_spread;
using namespace berth::pod_topology_spread::tests;

SpreadSpec by_zone() { return {.topology_key = k_zone, .selector = k_selects_web}; }
PodSpec web(std::vector<SpreadSpec> spread) { return {.labels = k_web, .spread = std::move(spread)}; }
const std::vector<NodeSpec> k_two_zones = {node("n0", "a"), node("n1", "a"), node("n2", "b")};

std::vector<std::string> answers(Attempt& attempt) {
  std::vector<std::string> out;
  for (const Answer& answer : attempt.filter())
    out.push_back(answer.passes ? "" : (answer.unresolvable ? "UU " : "U ") + answer.reason);
  return out;
}
using Texts = std::vector<std::string>;

TEST(SpreadFilter, RejectsDomainsThatWouldExceedTheSkew) {
  Scene scene;
  scene.cluster().place(web({}), {{0, 1}, {1, 1}});
  Attempt& attempt = scene.attempt(web({by_zone()}), k_two_zones);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(answers(attempt), (Texts{"U " + k_skewed, "U " + k_skewed, ""}));
}

TEST(SpreadFilter, TooFewDomainsCountAsAnEmptyOne) {
  Scene scene;
  scene.cluster().place(web({}), {{0, 2}, {2, 1}});
  SpreadSpec three = by_zone();
  three.min_domains = 3;
  Attempt& attempt = scene.attempt(web({three}), k_two_zones);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(answers(attempt), (Texts{"U " + k_skewed, "U " + k_skewed, "U " + k_skewed}));
}

TEST(SpreadFilter, NodesWithoutTheKeyAreUnresolvable) {
  Scene scene;
  Attempt& attempt = scene.attempt(web({by_zone()}), {node("n0", "a"), node("n1", "-")});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(answers(attempt), (Texts{"", "UU " + k_no_label}));
}

TEST(SpreadFilter, TheFirstFailingConstraintNamesTheReason) {
  Scene scene;
  scene.cluster().place(web({}), {{0, 5}});
  SpreadSpec by_rack{.topology_key = "rack", .selector = k_selects_web};
  const std::vector<NodeSpec> nodes = {node("n0", "a", {{"rack", "1"}}), node("n1", "b"),
                                       node("n2", "b", {{"rack", "2"}})};
  Attempt& zone_first = scene.attempt(web({by_zone(), by_rack}), nodes);
  ASSERT_EQ(zone_first.pre_filter(), Outcome{});
  EXPECT_EQ(answers(zone_first), (Texts{"U " + k_skewed, "UU " + k_no_label, ""}));
}

TEST(SpreadFilter, TakesNoPartWithoutHardConstraints) {
  Scene scene;
  SpreadSpec soft = by_zone();
  soft.when = BERTH_SPREAD_SCHEDULE_ANYWAY;
  EXPECT_EQ(scene.attempt(web({}), k_two_zones).pre_filter().code, BERTH_SKIP);
  EXPECT_EQ(scene.attempt(web({soft}), k_two_zones).pre_filter().code, BERTH_SKIP);
}

struct CountCase {
  std::string name;
  SpreadSpec constraint;
  PodSpec placed;
  bool terminating;
  bool counts;
};
SpreadSpec with(std::optional<SelectorSpec> selector, std::vector<std::string> keys = {}) {
  return {.topology_key = k_zone, .selector = std::move(selector), .match_label_keys = std::move(keys)};
}
const std::vector<CountCase> k_counts = {
    {"Matching", by_zone(), {.labels = k_web}, false, true},
    {"OtherLabels", by_zone(), {.labels = {{"app", "db"}}}, false, false},
    {"OtherNamespace", by_zone(), {.ns = "other", .labels = k_web}, false, false},
    {"Terminating", by_zone(), {.labels = k_web}, true, false},
    {"EverythingSelectsNothing", with(SelectorSpec{}), {.labels = k_web}, false, false},
    {"NoSelector", with(std::nullopt), {.labels = k_web}, false, false},
    {"SameValueOfAMatchedKey", with(k_selects_web, {"rev"}), {.labels = {{"app", "web"}, {"rev", "1"}}}, false, true},
    {"OtherValueOfAMatchedKey", with(k_selects_web, {"rev"}), {.labels = {{"app", "web"}, {"rev", "2"}}}, false, false},
    {"MatchedKeyThatThePodLacks", with(k_selects_web, {"none"}), {.labels = k_web}, false, true},
    {"MatchedKeyWithoutASelector", with(std::nullopt, {"rev"}), {.labels = {{"rev", "1"}}}, false, false},
};
class SpreadCounts : public testing::TestWithParam<CountCase> {};
TEST_P(SpreadCounts, PodsThatTheConstraintMeans) {
  const CountCase& c = GetParam();
  Scene scene;
  scene.cluster().place(c.placed, {{0, 9}}, c.terminating);
  Attempt& attempt = scene.attempt({.labels = {{"app", "web"}, {"rev", "1"}}, .spread = {c.constraint}}, k_two_zones);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(answers(attempt), (c.counts ? Texts{"U " + k_skewed, "U " + k_skewed, ""} : Texts{"", "", ""}));
}
INSTANTIATE_TEST_SUITE_P(All, SpreadCounts, testing::ValuesIn(k_counts), [](const auto& i) { return i.param.name; });

struct PolicyCase {
  std::string name;
  std::uint32_t affinity_policy, taints_policy;
  std::vector<TolerationSpec> tolerations;
  bool skew_seen;  // zone b is empty and counts, so zone a is too full
};
const std::vector<PolicyCase> k_policies = {
    {"AffinityHonoured", BERTH_POLICY_HONOR, BERTH_POLICY_IGNORE, {}, false},
    {"AffinityIgnored", BERTH_POLICY_IGNORE, BERTH_POLICY_IGNORE, {}, true},
    {"TaintsHonoured", BERTH_POLICY_IGNORE, BERTH_POLICY_HONOR, {}, false},
    {"TaintsTolerated", BERTH_POLICY_IGNORE, BERTH_POLICY_HONOR, {{.op = "Exists"}}, true},
};
class SpreadPolicies : public testing::TestWithParam<PolicyCase> {};
TEST_P(SpreadPolicies, DecideWhichNodesCount) {
  const PolicyCase& c = GetParam();
  SpreadSpec constraint = by_zone();
  constraint.node_affinity_policy = c.affinity_policy;
  constraint.node_taints_policy = c.taints_policy;
  PodSpec pod = web({constraint});
  pod.node_selector = Strings{{"disk", "ssd"}};
  pod.tolerations = c.tolerations;
  std::vector<NodeSpec> nodes = {node("n0", "a", {{"disk", "ssd"}}), node("n1", "b")};
  nodes[1].taints = {{"dedicated", "x", "NoSchedule"}};
  Scene scene;
  scene.cluster().place(web({}), {{0, 1}});
  Attempt& attempt = scene.attempt(pod, nodes);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  // Where zone b does not count, zone a holds the minimum itself.
  EXPECT_EQ(answers(attempt)[0], c.skew_seen ? "U " + k_skewed : "");
}
INSTANTIATE_TEST_SUITE_P(All, SpreadPolicies, testing::ValuesIn(k_policies),
                         [](const auto& i) { return i.param.name; });

TEST(SpreadWhatIf, FollowsPodsOnACloneOnly) {
  Scene scene;
  scene.cluster().place(web({}), {{0, 1}});
  Attempt& attempt = scene.attempt(web({by_zone()}), k_two_zones);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const Texts before = answers(attempt);
  EXPECT_EQ(before, (Texts{"U " + k_skewed, "U " + k_skewed, ""}));
  {
    WhatIf what_if(scene.policy, attempt);
    what_if.remove(web({}), 0);
    EXPECT_EQ(answers(attempt), (Texts{"", "", ""}));
    what_if.add(web({}), 2);
    EXPECT_EQ(answers(attempt), (Texts{"", "", "U " + k_skewed}));
    what_if.remove(web({}), 2);
    what_if.add(web({}), 1);
    EXPECT_EQ(answers(attempt), before) << "adding and removing cancel out";
    what_if.add({.ns = "other", .labels = k_web}, 2);
    EXPECT_EQ(answers(attempt), before) << "other namespaces do not count";
  }
  EXPECT_EQ(answers(attempt), before);
}

TEST(SpreadWhatIf, SaysWhichPodsMatterOnNoNode) {
  std::vector<NodeSpec> nodes = k_two_zones;
  nodes.push_back(node("n3", "-"));
  Scene scene;
  scene.cluster().place(web({}), {{0, 1}});
  Attempt& attempt = scene.attempt(web({by_zone()}), nodes);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const Texts before = answers(attempt);
  WhatIf what_if(scene.policy, attempt);
  EXPECT_FALSE(what_if.remove({.labels = {{"app", "db"}}}, 0)) << "no constraint selects it";
  EXPECT_FALSE(what_if.add({.ns = "other", .labels = k_web}, 2)) << "other namespaces do not count";
  EXPECT_TRUE(what_if.add(web({}), 3)) << "not on this node, which is in no zone, but on others";
  EXPECT_EQ(answers(attempt), before);
  EXPECT_TRUE(what_if.remove(web({}), 0));
}

TEST(SpreadFilter, WithoutPreFilterIsAnError) {
  Scene scene;
  try {
    scene.attempt(web({by_zone()}), k_two_zones).filter();
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, R"(reading "PreFilterPodTopologySpread" from cycleState: not found)"}));
  }
}

TEST(CriticalPaths, KeepTheTwoSmallest) {
  CriticalPaths paths;
  paths.update(10, 3);
  paths.update(11, 1);
  paths.update(12, 2);
  EXPECT_EQ(paths.lowest(), 1);
  EXPECT_EQ(paths.second(), 2);
  paths.update(11, 5);
  EXPECT_EQ(paths.lowest(), 2);
  EXPECT_EQ(paths.second(), 5) << "the third domain is not remembered";
}

TEST(CriticalPaths, AnEmptyDomainNameMeetsTheInitialSlot) {
  CriticalPaths paths;
  paths.update(BERTH_ID_EMPTY, 4);
  EXPECT_EQ(paths.lowest(), 4);
  paths.update(10, 2);
  EXPECT_EQ(paths.lowest(), 2);
  EXPECT_EQ(paths.second(), 4);
}

TEST(NaturalLog, MatchesKnownValues) {
  EXPECT_EQ(natural_log(1), 0.0);
  EXPECT_EQ(natural_log(2), 0.6931471805599453);
  EXPECT_EQ(natural_log(5), 1.6094379124341003);
  EXPECT_NEAR(natural_log(5002), std::log(5002.0), 1e-14);
}

}  // namespace
}  // namespace spread_filter_test
