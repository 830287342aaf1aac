// SPDX-License-Identifier: Apache-2.0
#include "affinity_scene.hpp"

#include <gtest/gtest.h>
#include <berth/testkit/what_if.hpp>

namespace affinity_filter_test {
namespace {
using namespace berth::inter_pod_affinity::tests;

PodSpec wants_web(Strings own = k_db) { return {.labels = std::move(own), .affinity_required = {near_web()}}; }
PodSpec avoids_web(Strings own = k_db) { return {.labels = std::move(own), .anti_required = {near_web()}}; }
PodSpec pod(Strings labels, std::string ns = "default") { return {.ns = std::move(ns), .labels = std::move(labels)}; }

TEST(AffinityFilter, WantsADomainWithAMatchingPod) {
  Scene scene;
  scene.cluster().place(pod(k_web), {{0}});
  Attempt& attempt = scene.attempt(wants_web());
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", k_no_affinity, k_no_affinity}));
}

TEST(AffinityFilter, TheFirstOfAGroupMayGoWhereTheKeysAre) {
  Scene scene;
  Attempt& attempt = scene.attempt(wants_web(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", "", k_no_affinity}));
}

TEST(AffinityFilter, AnotherPodsGroupIsNotOnesOwn) {
  Scene scene;
  Attempt& attempt = scene.attempt(wants_web(k_db));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts(4, k_no_affinity)));
}

TEST(AffinityFilter, AMatchingPodOutsideAllDomainsLeavesTheGroupEmpty) {
  Scene scene;
  scene.cluster().place(pod(k_web), {{3}});
  Attempt& attempt = scene.attempt(wants_web(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", "", k_no_affinity}));
}

TEST(AffinityFilter, OnePodMustMatchAllTerms) {
  PodSpec both = wants_web();
  both.affinity_required.push_back({.topology_key = k_host, .selector = SelectorSpec{{{"tier", "Exists"}}}});
  Scene scene;
  scene.cluster().place(pod(k_web), {{0}});
  scene.cluster().place(pod({{"tier", "1"}}), {{1}});
  scene.cluster().place(pod({{"app", "web"}, {"tier", "1"}}), {{2}});
  Attempt& attempt = scene.attempt(both);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{k_no_affinity, k_no_affinity, "", k_no_affinity}));
}

TEST(AffinityFilter, AvoidsDomainsWithMatchingPods) {
  Scene scene;
  scene.cluster().place(pod(k_web), {{0}}, true);
  Attempt& attempt = scene.attempt(avoids_web());
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{k_anti, k_anti, "", ""})) << "terminating pods count";
}

TEST(AffinityFilter, RespectsWhatPlacedPodsAvoid) {
  Scene scene;
  scene.cluster().place(avoids_web(), {{2}});
  Attempt& attempt = scene.attempt(pod(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", k_existing_anti, ""}));
}

TEST(AffinityFilter, IsSkippedWhenNoPodHasATermAboutThePod) {
  Scene scene;
  EXPECT_EQ(scene.attempt(pod(k_web)).pre_filter().code, BERTH_SKIP);
  scene.cluster().place(avoids_web(), {{2}});
  EXPECT_EQ(scene.attempt(pod(k_db)).pre_filter().code, BERTH_SKIP) << "a term that means others";
}

struct ReachCase {
  std::string name;
  std::vector<std::string> namespaces;
  std::optional<SelectorSpec> selector;
  bool finds_other, finds_plain;
};
/// Namespaces: other has team=x, plain has no labels.
const std::vector<ReachCase> k_reaches = {
    {"Listed", {"other"}, std::nullopt, true, false},
    {"OwnByDefault", {"default"}, std::nullopt, false, false},
    {"EveryNamespace", {}, SelectorSpec{}, true, true},
    {"ByLabel", {}, SelectorSpec{{{"team", "In", {"x"}}}}, true, false},
    {"ByLabelInAdditionToTheList", {"plain"}, SelectorSpec{{{"team", "In", {"x"}}}}, true, true},
    {"WhatAnEmptyLabelSetSatisfiesMeansEverywhere", {}, SelectorSpec{{{"team", "NotIn", {"x"}}}}, true, true},
    {"NotInWithAnother", {}, SelectorSpec{{{"team", "NotIn", {"y"}}, {"team", "Exists"}}}, true, false},
};
class AffinityReach : public testing::TestWithParam<ReachCase> {};
TEST_P(AffinityReach, OfThePodsOwnTerms) {
  const ReachCase& c = GetParam();
  Scene scene;
  scene.cluster().put("core/v1/namespaces", "", "default", {"{}"});
  scene.cluster().put("core/v1/namespaces", "", "plain", {""});
  scene.cluster().put("core/v1/namespaces", "", "other", {R"({"team":"x"})"});
  scene.cluster().place(pod(k_web, "other"), {{0}});
  scene.cluster().place(pod(k_web, "plain"), {{1}});
  PodSpec asks = avoids_web();
  asks.anti_required[0].topology_key = k_host;
  asks.anti_required[0].namespaces = c.namespaces;
  asks.anti_required[0].namespace_selector = c.selector;
  Attempt& attempt = scene.attempt(asks);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(Scene::answers(attempt), (Texts{c.finds_other ? k_anti : "", c.finds_plain ? k_anti : "", "", ""}));
}
INSTANTIATE_TEST_SUITE_P(All, AffinityReach, testing::ValuesIn(k_reaches), [](const auto& i) { return i.param.name; });

TEST(AffinityFilter, TermsOfPlacedPodsSeeTheNamespacesLabels) {
  PodSpec placed = avoids_web();
  placed.anti_required[0].namespaces = {};
  placed.anti_required[0].namespace_selector = SelectorSpec{{{"team", "NotIn", {"x"}}}};
  Scene scene;
  scene.cluster().put("core/v1/namespaces", "", "other", {R"({"team":"x"})"});
  scene.cluster().place(placed, {{2}});
  EXPECT_EQ(scene.attempt(pod(k_web, "other")).pre_filter().code, BERTH_SKIP);
  Attempt& elsewhere = scene.attempt(pod(k_web));
  ASSERT_EQ(elsewhere.pre_filter(), Outcome{}) << "a namespace that is not known has no labels";
  EXPECT_EQ(Scene::answers(elsewhere)[2], k_existing_anti);
}

TEST(AffinityWhatIf, TheLastPodOfAGroupOpensTheWayForTheFirst) {
  Scene scene;
  scene.cluster().place(pod(k_web), {{0}});
  Attempt& attempt = scene.attempt(wants_web(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const Texts before = Scene::answers(attempt);
  EXPECT_EQ(before, (Texts{"", "", k_no_affinity, k_no_affinity}));
  {
    WhatIf what_if(scene.policy, attempt);
    what_if.remove(pod(k_web), 0);
    EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", "", k_no_affinity}));
    what_if.add(pod(k_web), 2);
    EXPECT_EQ(Scene::answers(attempt), (Texts{k_no_affinity, k_no_affinity, "", k_no_affinity}));
  }
  EXPECT_EQ(Scene::answers(attempt), before) << "the original is untouched";
}

TEST(AffinityWhatIf, AntiAffinityBothWays) {
  Scene scene;
  scene.cluster().place(avoids_web(), {{2}});
  Attempt& attempt = scene.attempt(avoids_web(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  WhatIf what_if(scene.policy, attempt);
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", k_existing_anti, ""}));
  what_if.remove(avoids_web(), 2);
  EXPECT_EQ(Scene::answers(attempt), (Texts(4, "")));
  what_if.add(pod(k_web), 1);
  EXPECT_EQ(Scene::answers(attempt), (Texts{k_anti, k_anti, "", ""}));
}

TEST(AffinityWhatIf, KeysThatNoPlacedPodUses) {
  PodSpec by_host = avoids_web();
  by_host.anti_required[0].topology_key = k_host;
  Scene scene;
  scene.cluster().place(avoids_web(), {{2}});
  Attempt& attempt = scene.attempt(pod(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  WhatIf what_if(scene.policy, attempt);
  what_if.add(by_host, 3);
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", k_existing_anti, k_existing_anti}));
  what_if.remove(by_host, 3);
  EXPECT_EQ(Scene::answers(attempt), (Texts{"", "", k_existing_anti, ""}));
}

TEST(AffinityWhatIf, SaysWhichPodsMatterOnNoNode) {
  Scene scene;
  scene.cluster().place(pod(k_web), {{0}});
  scene.cluster().place(avoids_web(), {{2}});
  Attempt& attempt = scene.attempt(avoids_web(k_web));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const Texts before = Scene::answers(attempt);
  WhatIf what_if(scene.policy, attempt);
  EXPECT_FALSE(what_if.remove(pod(k_db), 0)) << "no term is about it";
  EXPECT_FALSE(what_if.add(pod(k_web, "other"), 0)) << "the term is about its own namespace";
  EXPECT_EQ(Scene::answers(attempt), before);
  EXPECT_TRUE(what_if.remove(pod(k_web), 0)) << "a term of the pod at hand is about it";
  EXPECT_TRUE(what_if.remove(avoids_web(), 2)) << "its own term is about the pod at hand";
  EXPECT_TRUE(what_if.add(pod(k_web), 3)) << "not on this node, which is in no zone, but on others";
}

TEST(AffinityFilter, WithoutPreFilterIsAnError) {
  Scene scene;
  try {
    scene.attempt(wants_web()).filter();
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, R"(error reading "PreFilterInterPodAffinity" from cycleState: not found)"}));
  }
}

}  // namespace
}  // namespace affinity_filter_test
