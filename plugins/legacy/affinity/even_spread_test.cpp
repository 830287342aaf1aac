// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::even_spread_test {
namespace {

const Answer k_refused = unschedulable("node(s) didn't match pod topology spread constraints");
const Strings k_web = {{"app", "web"}};
const SelectorSpec k_selects_web{{{"app", "In", {"web"}}}};

NodeSpec node(std::string name, Strings labels) { return {.name = std::move(name), .labels = std::move(labels)}; }
/// One node per zone.
std::vector<NodeSpec> zones(const std::vector<std::string>& names) {
  std::vector<NodeSpec> nodes;
  for (const std::string& zone : names) nodes.push_back(node("n" + std::to_string(nodes.size()), {{"zone", zone}}));
  return nodes;
}
PodSpec spreading(std::int32_t max_skew, std::uint32_t when = BERTH_SPREAD_DO_NOT_SCHEDULE) {
  return {.name = "new", .labels = k_web, .spread = {{"zone", max_skew, when, k_selects_web}}};
}

struct SpreadScene : Scene {
  using Scene::Scene;
  /// counts[i] pods on node i.
  void place(const std::vector<std::uint32_t>& counts, const PodSpec& pod = {.labels = k_web},
             bool terminating = false) {
    for (std::uint32_t i = 0; i < counts.size(); ++i)
      if (counts[i] != 0) cluster().place(pod, {{i, counts[i]}}, terminating);
  }
  Answers fits(const PodSpec& pod, std::vector<NodeSpec> nodes) { return prepared(pod, std::move(nodes)).filter(); }
  Scores scores(const PodSpec& pod, std::vector<NodeSpec> nodes) { return scored(pod, std::move(nodes)); }
};

// Three zones with one, one and no matching pod.
TEST(EvenPodsSpread, AdmitsTheEmptyZoneAtSkewOneAndAllAtSkewTwo) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 1, 0});
  EXPECT_EQ(scene.fits(spreading(1), zones({"a", "b", "c"})), (Answers{k_refused, k_refused, passes()}));
  EXPECT_EQ(scene.fits(spreading(2), zones({"a", "b", "c"})), (Answers{passes(), passes(), passes()}));
}
TEST(EvenPodsSpread, IsSkippedWithoutHardConstraints) {
  SpreadScene scene("EvenPodsSpread");
  EXPECT_EQ(scene.attempt({}, zones({"a"})).pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(scene.attempt(spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY), zones({"a"})).pre_filter().code,
            static_cast<berth_code>(BERTH_SKIP));
}
TEST(EvenPodsSpread, RefusesNodesWithoutTheKeyWithTheSameWords) {
  SpreadScene scene("EvenPodsSpread");
  EXPECT_EQ(scene.fits(spreading(1), {node("a", {{"zone", "a"}}), node("b", {})}), (Answers{passes(), k_refused}));
}
TEST(EvenPodsSpread, FitsEverywhereWhenNoNodeCounts) {
  SpreadScene scene("EvenPodsSpread");
  EXPECT_EQ(scene.fits(spreading(1), {node("a", {}), node("b", {})}), (Answers{passes(), passes()}));
  PodSpec pod = spreading(1);
  pod.node_selector = Strings{{"disk", "ssd"}};
  scene.place({5, 0});
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{passes(), passes()})) << "the selector admits no node";
}
TEST(EvenPodsSpread, CountsOnNodesThatThePodMayUse) {
  std::vector<NodeSpec> nodes = zones({"a", "b", "c"});
  nodes[0].labels["disk"] = nodes[1].labels["disk"] = "ssd";
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 1, 0});
  PodSpec pod = spreading(1);
  pod.node_selector = Strings{{"disk", "ssd"}};
  EXPECT_EQ(scene.fits(pod, nodes), (Answers{passes(), passes(), passes()}))
      << "zone c is not observed, so the lowest count is 1";
}
TEST(EvenPodsSpread, CountsTerminatingPodsOfTheNamespace) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 0, 0}, {.labels = k_web}, true);
  scene.place({0, 1, 0}, {.ns = "elsewhere", .labels = k_web});
  scene.place({0, 1, 0}, {.labels = {{"app", "db"}}});
  EXPECT_EQ(scene.fits(spreading(1), zones({"a", "b", "c"})), (Answers{k_refused, passes(), passes()}));
}
TEST(EvenPodsSpread, DistinguishesAnEmptySelectorFromNone) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 0}, {.labels = {{"any", "thing"}}});
  PodSpec pod = spreading(1);
  pod.spread[0].selector = SelectorSpec{};
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{k_refused, passes()})) << "an empty one counts all pods";
  pod.spread[0].selector = std::nullopt;
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{passes(), passes()})) << "none counts no pod";
}
TEST(EvenPodsSpread, CountsThePodItselfOnlyIfItMatches) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 0});
  PodSpec pod = spreading(1);
  pod.labels = {{"app", "other"}};
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{passes(), passes()}));
  scene.place({1, 0});
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{k_refused, passes()}));
}
TEST(EvenPodsSpread, WantsAllConstraintsMet) {
  SpreadScene scene("EvenPodsSpread");
  const std::vector<NodeSpec> nodes = {node("n0", {{"zone", "a"}, {"host", "n0"}}),
                                       node("n1", {{"zone", "a"}, {"host", "n1"}}),
                                       node("n2", {{"zone", "b"}, {"host", "n2"}}), node("n3", {{"zone", "b"}})};
  scene.place({1, 0, 1, 4});
  PodSpec pod = spreading(1);
  pod.spread.push_back({"host", 1, BERTH_SPREAD_DO_NOT_SCHEDULE, k_selects_web});
  EXPECT_EQ(scene.fits(pod, nodes), (Answers{k_refused, passes(), k_refused, k_refused}))
      << "pods on a node without all keys do not count";
}
TEST(EvenPodsSpread, SharesTheCountsOfAKey) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 0});
  scene.place({1, 0}, {.labels = {{"app", "db"}}});
  PodSpec pod = spreading(2);
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{passes(), passes()}));
  pod.spread.push_back({"zone", 2, BERTH_SPREAD_DO_NOT_SCHEDULE, SelectorSpec{{{"app", "In", {"db"}}}}});
  EXPECT_EQ(scene.fits(pod, zones({"a", "b"})), (Answers{k_refused, passes()})) << "one of each is two";
}
TEST(EvenPodsSpread, IgnoresWhatCameLater) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 1});
  PodSpec pod = spreading(1);
  pod.spread[0].min_domains = 3;
  pod.spread[0].match_label_keys = {"rev"};
  pod.labels["rev"] = "2";
  pod.spread[0].node_affinity_policy = BERTH_POLICY_IGNORE;
  pod.spread[0].node_taints_policy = BERTH_POLICY_HONOR;
  std::vector<NodeSpec> nodes = zones({"a", "b", "c"});
  nodes[2].taints = {{"k", "v", "NoSchedule"}};
  EXPECT_EQ(scene.fits(pod, nodes), (Answers{k_refused, k_refused, passes()})) << "the tainted zone c is the lowest";
}
TEST(EvenPodsSpread, FollowsPodsThatAreImagined) {
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 1, 0});
  Attempt& attempt = scene.prepared(spreading(1), zones({"a", "b", "c"}));
  {
    WhatIf what_if(scene.policy, attempt);
    what_if.add({.ns = "elsewhere", .labels = k_web}, 2);
    what_if.add({.labels = {{"app", "db"}}}, 2);
    EXPECT_EQ(attempt.filter(), (Answers{k_refused, k_refused, passes()})) << "others do not count";
    what_if.add({.labels = k_web}, 2);
    EXPECT_EQ(attempt.filter(), (Answers{passes(), passes(), passes()}));
    what_if.remove({.labels = k_web}, 0);
    EXPECT_EQ(attempt.filter(), (Answers{passes(), k_refused, k_refused}));
  }
  EXPECT_EQ(attempt.filter(), (Answers{k_refused, k_refused, passes()})) << "the state itself is as before";
}
TEST(EvenPodsSpread, CountsImaginedPodsWhereTheNodeSelectionIsNotMet) {
  std::vector<NodeSpec> nodes = zones({"a", "b"});
  nodes[0].labels["disk"] = "ssd";
  SpreadScene scene("EvenPodsSpread");
  scene.place({1, 0});
  PodSpec pod = spreading(1);
  pod.node_selector = Strings{{"disk", "ssd"}};
  Attempt& attempt = scene.prepared(pod, nodes);
  EXPECT_TRUE(attempt.filter()[0].passes);
  WhatIf what_if(scene.policy, attempt);
  what_if.remove({.labels = k_web}, 1);  // zone b is observed now, with less than nothing
  EXPECT_EQ(attempt.filter()[0], k_refused);
}

TEST(EvenPodsSpreadPriority, ScalesFromTheTotalToTheLeast) {
  SpreadScene scene("EvenPodsSpreadPriority");
  scene.place({3, 1, 0});
  const PodSpec pod = spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY);
  EXPECT_EQ(scene.scores(pod, zones({"a", "b", "c"})), (Scores{25, 75, 100}));
  SpreadScene of_ten("EvenPodsSpreadPriority", with_max(10));
  of_ten.place({3, 1, 0});
  EXPECT_EQ(of_ten.scores(pod, zones({"a", "b", "c"})), (Scores{2, 7, 10}));
}
TEST(EvenPodsSpreadPriority, GivesTheMaximumWhereNothingDiffers) {
  SpreadScene scene("EvenPodsSpreadPriority");
  const PodSpec pod = spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY);
  EXPECT_EQ(scene.scores(pod, zones({"a", "b"})), (Scores{100, 100}));
  scene.place({2});
  EXPECT_EQ(scene.scores(pod, zones({"a"})), Scores{100}) << "total and least are equal";
  EXPECT_EQ(scene.scores({}, zones({"a", "b"})), (Scores{0, 0})) << "without soft constraints";
  EXPECT_EQ(scene.scores(spreading(1), zones({"a", "b"})), (Scores{0, 0})) << "hard ones are the predicate's";
}
TEST(EvenPodsSpreadPriority, GivesNothingToNodesWithoutAllKeys) {
  SpreadScene scene("EvenPodsSpreadPriority");
  scene.place({1, 0, 4});
  EXPECT_EQ(scene.scores(spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY),
                         {node("n0", {{"zone", "a"}}), node("n1", {{"zone", "b"}}), node("n2", {})}),
            (Scores{0, 100, 0}));
}
TEST(EvenPodsSpreadPriority, CountsPodsOfEveryNamespaceAndTerminatingOnes) {
  SpreadScene scene("EvenPodsSpreadPriority");
  scene.place({2, 0, 0}, {.ns = "elsewhere", .labels = k_web});
  scene.place({0, 1, 0}, {.labels = k_web}, true);
  scene.place({0, 0, 9}, {.labels = {{"app", "db"}}});
  EXPECT_EQ(scene.scores(spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY), zones({"a", "b", "c"})), (Scores{33, 66, 100}));
}
TEST(EvenPodsSpreadPriority, CountsOnNodesThatThePodMayUse) {
  std::vector<NodeSpec> nodes = {node("n0", {{"zone", "a"}, {"disk", "ssd"}}), node("n1", {{"zone", "a"}}),
                                 node("n2", {{"zone", "b"}, {"disk", "ssd"}})};
  SpreadScene scene("EvenPodsSpreadPriority");
  scene.place({1, 5, 3});
  PodSpec pod = spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY);
  pod.required = std::vector<TermSpec>{{.expressions = {{"disk", "Exists"}}}};
  // Zone a counts 1, for both of its nodes; total 1 + 1 + 3.
  EXPECT_EQ(scene.scores(pod, nodes), (Scores{100, 100, 50}));
}
TEST(EvenPodsSpreadPriority, AddsUpItsConstraints) {
  SpreadScene scene("EvenPodsSpreadPriority");
  const std::vector<NodeSpec> nodes = {node("n0", {{"zone", "a"}, {"host", "n0"}}),
                                       node("n1", {{"zone", "a"}, {"host", "n1"}}),
                                       node("n2", {{"zone", "b"}, {"host", "n2"}})};
  scene.place({2, 0, 1});
  PodSpec pod = spreading(1, BERTH_SPREAD_SCHEDULE_ANYWAY);
  pod.spread.push_back({"host", 1, BERTH_SPREAD_SCHEDULE_ANYWAY, k_selects_web});
  // 2 + 2, 2 + 0, 1 + 1: total 8, least 2.
  EXPECT_EQ(scene.scores(pod, nodes), (Scores{66, 100, 100}));
}

}  // namespace
}  // namespace berth::legacy::tests::even_spread_test
