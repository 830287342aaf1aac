// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <berth/ext/node_order.h>

#include <gtest/gtest.h>

namespace berth::legacy::tests::services_test {
namespace {

const char* const k_services = "core/v1/services";
const Answer k_refused = unschedulable("node(s) didn't match service affinity");
const PodSpec k_web = {.name = "new", .labels = {{"app", "web"}}};
const std::vector<NodeSpec> k_nodes = {{.name = "n0", .labels = {{"region", "r1"}, {"zone", "z11"}}},
                                       {.name = "n1", .labels = {{"region", "r1"}, {"zone", "z12"}}},
                                       {.name = "n2", .labels = {{"region", "r2"}, {"zone", "z21"}}},
                                       {.name = "n3"}};
const Answers k_all = {passes(), passes(), passes(), passes()};
const Answers k_like_n0 = {passes(), passes(), k_refused, k_refused};  // region r1

/// Its nodes have a list order of their own.
struct OrderedCluster : FakeCluster {
  using FakeCluster::FakeCluster;
  std::vector<berth_slot> order = {0, 1, 2, 3};

  static void install(FakeHost& host) {
    static const berth_node_order_v1 table{sizeof table, 0, [](void* ctx, const berth_cycle_v1*) -> const berth_slot* {
                                             return of(*static_cast<FakeHost*>(ctx)).order.data();
                                           }};
    FakeCluster::install(host);
    host.companion = std::shared_ptr<FakeCluster>(std::make_shared<OrderedCluster>(host));
    host.extra_services["berth.node_order/1"] = &table;
  }
  static OrderedCluster& of(FakeHost& host) { return static_cast<OrderedCluster&>(FakeCluster::of(host)); }
};

struct PodsKeptTogether : Scene {
  explicit PodsKeptTogether(std::string_view plugin = "CheckServiceAffinity",
                            std::string_view args = R"({"labels":["region"]})")
      : Scene(plugin, args, OrderedCluster::install) {
    cluster().put(k_services, "default", "web", {R"({"app":"web"})"});
  }
  Attempt& prepared(const PodSpec& pod) { return Scene::prepared(pod, k_nodes); }
  Answers answers(const PodSpec& pod) { return prepared(pod).filter(); }
};

TEST(CheckServiceAffinity, KeepsPodsWhereTheFirstOneIs) {
  PodsKeptTogether scene;
  EXPECT_EQ(scene.answers(k_web), k_all) << "the first pod may go anywhere";
  scene.cluster().place(k_web, {{2, 1}, {0, 1}});
  EXPECT_EQ(scene.answers(k_web), k_like_n0);
}
TEST(CheckServiceAffinity, TakesTheNodeForTheFirstThatStandsFirstInListOrder) {
  PodsKeptTogether scene;
  OrderedCluster::of(scene.policy.host()).order = {3, 2, 1, 0};
  scene.cluster().place(k_web, {{0, 1}, {2, 1}});
  EXPECT_EQ(scene.answers(k_web), (Answers{k_refused, k_refused, passes(), k_refused}));
}
TEST(CheckServiceAffinity, LetsTheNodeSelectorDecideFirst) {
  PodsKeptTogether scene("CheckServiceAffinity", R"({"labels":["region","zone"]})");
  scene.cluster().place(k_web, {{0, 1}});
  EXPECT_EQ(scene.answers(k_web), (Answers{passes(), k_refused, k_refused, k_refused}));
  PodSpec pod = k_web;
  pod.node_selector = Strings{{"zone", "z12"}, {"disk", "ssd"}};
  EXPECT_EQ(scene.answers(pod), (Answers{k_refused, passes(), k_refused, k_refused}))
      << "region from the first pod, zone from the selector, other labels are not its business";
  pod.node_selector = Strings{{"zone", "z21"}, {"region", "r2"}};
  EXPECT_EQ(scene.answers(pod), (Answers{k_refused, k_refused, passes(), k_refused}));
}
TEST(CheckServiceAffinity, TakesOnlyLabelsThatTheFirstNodeCarries) {
  PodsKeptTogether scene;
  scene.cluster().place(k_web, {{3, 1}});
  EXPECT_EQ(scene.answers(k_web), k_all);
}
TEST(CheckServiceAffinity, NeedsAServiceOfTheNamespaceThatSelectsThePod) {
  PodsKeptTogether scene;
  scene.cluster().place(k_web, {{0, 1}});
  scene.cluster().put(k_services, "default", "web", {R"({"app":"db"})"});
  EXPECT_EQ(scene.answers(k_web), k_all);
  scene.cluster().put(k_services, "default", "web", {""});
  EXPECT_EQ(scene.answers(k_web), k_all) << "no selector selects nothing";
  scene.cluster().put(k_services, "elsewhere", "web", {R"({"app":"web"})"});
  EXPECT_EQ(scene.answers(k_web), k_all);
  scene.cluster().put(k_services, "default", "any", {"{}"});
  EXPECT_EQ(scene.answers(k_web), k_like_n0) << "an empty selector selects everything";
}
TEST(CheckServiceAffinity, FollowsPodsOfTheNamespaceThatHaveAllLabelsOfThePod) {
  PodsKeptTogether scene;
  scene.cluster().place({.ns = "elsewhere", .labels = {{"app", "web"}}}, {{2, 1}});
  scene.cluster().place({.labels = {{"tier", "front"}}}, {{2, 1}});
  EXPECT_EQ(scene.answers(k_web), k_all);
  scene.cluster().place({.labels = {{"app", "web"}, {"tier", "front"}}}, {{1, 1}}, true);
  EXPECT_EQ(scene.answers(k_web), k_like_n0) << "more labels are fine, and terminating pods count";
}
TEST(CheckServiceAffinity, FollowsAnyPodForAPodWithoutLabels) {
  PodsKeptTogether scene;
  scene.cluster().put(k_services, "default", "any", {"{}"});
  scene.cluster().place({.labels = {{"tier", "front"}}}, {{1, 1}});
  EXPECT_EQ(scene.answers({}), k_like_n0);
}
TEST(CheckServiceAffinity, FollowsPodsThatAreImagined) {
  PodsKeptTogether scene;
  Attempt& attempt = scene.prepared(k_web);
  {
    WhatIf what_if(scene.policy, attempt);
    what_if.add({.ns = "elsewhere", .labels = k_web.labels}, 2);
    what_if.add({.labels = {{"app", "db"}}}, 2);
    EXPECT_EQ(attempt.filter(), k_all) << "others do not count";
    what_if.add(k_web, 0);
    EXPECT_EQ(attempt.filter(), k_like_n0);
    what_if.remove(k_web, 0);
    EXPECT_EQ(attempt.filter(), k_all);
  }
  EXPECT_EQ(attempt.filter(), k_all) << "the state itself is as before";
}
TEST(CheckServiceAffinity, FollowsTheNextPodWhenTheFirstGoes) {
  PodsKeptTogether scene;
  scene.cluster().place(k_web, {{0, 2}, {2, 1}});
  Attempt& attempt = scene.prepared(k_web);
  WhatIf what_if(scene.policy, attempt);
  what_if.remove(k_web, 0);
  EXPECT_EQ(attempt.filter(), k_like_n0) << "one of two is left";
  what_if.remove(k_web, 0);
  EXPECT_EQ(attempt.filter(), (Answers{k_refused, k_refused, passes(), k_refused}));
  what_if.remove(k_web, 2);
  EXPECT_EQ(attempt.filter(), k_all);
}
TEST(CheckServiceAffinity, PutsAPodThatGoesAndComesBackBehindTheOthers) {
  PodsKeptTogether scene;
  scene.cluster().place(k_web, {{0, 1}, {2, 1}});
  Attempt& attempt = scene.prepared(k_web);
  WhatIf what_if(scene.policy, attempt);
  what_if.remove(k_web, 0);
  what_if.add(k_web, 0);
  const Answers like_n2 = {k_refused, k_refused, passes(), k_refused};
  EXPECT_EQ(attempt.filter(), like_n2);
  what_if.remove(k_web, 0);
  EXPECT_EQ(attempt.filter(), like_n2);
  what_if.remove(k_web, 2);
  EXPECT_EQ(attempt.filter(), k_all) << "it left for good, not twice";
}
TEST(CheckServiceAffinity, SaysWhatIsMissing) {
  PodsKeptTogether scene;
  try {
    scene.attempt(k_web, k_nodes).filter();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "counts of pods are missing: enable the plugin at preFilter too"}));
  }
  EXPECT_EQ(refusal("CheckServiceAffinity", "{}"), "labels: Required value: at least one label must be specified");
}
TEST(CheckServiceAffinity, WakesPodsAfterChangesOfPodsNodesAndServices) {
  PodsKeptTogether scene;
  EXPECT_TRUE(scene.policy.wakes({.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_ADD, .new_pod = k_web}, {}));
  EXPECT_TRUE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_LABEL, .new_node = NodeSpec{}}, {}));
  EXPECT_TRUE(scene.policy.wakes({.kind = BERTH_KIND_OWN_WATCH, .actions = BERTH_ACTION_ADD}, {}));
  EXPECT_FALSE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_TAINT, .new_node = NodeSpec{}}, {}));
}

TEST(ServiceAffinity, FiltersAsThePredicateAndPassesAllWithoutLabels) {
  PodsKeptTogether scene("ServiceAffinity", R"({"affinityLabels":["region"]})");
  scene.cluster().place(k_web, {{0, 1}});
  EXPECT_EQ(scene.answers(k_web), k_like_n0);
  EXPECT_EQ(scene.attempt(k_web, k_nodes).pre_score().code, static_cast<berth_code>(BERTH_SKIP));
  PodsKeptTogether without("ServiceAffinity", R"({"antiAffinityLabelsPreference":["zone"]})");
  EXPECT_EQ(without.attempt(k_web, k_nodes).pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
}

/// Labels of the scored nodes, and how many pods app=web are on each.
Scores apart(std::string_view plugin, std::string_view args, std::vector<Strings> labels,
             const std::vector<std::uint32_t>& counts) {
  PodsKeptTogether scene(plugin, args);
  std::vector<NodeSpec> nodes;
  for (Strings& each : labels) nodes.push_back({.name = "n" + std::to_string(nodes.size()), .labels = std::move(each)});
  for (std::uint32_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) scene.cluster().place(k_web, {{i, counts[i]}});
  Attempt& a = scene.attempt(k_web, nodes);
  EXPECT_EQ(a.pre_score(), Outcome{});
  return a.normalized();
}
const Strings k_x = {{"L", "x"}}, k_y = {{"L", "y"}};

TEST(ServiceAntiAffinity, PrefersValuesWithFewerOfThePods) {
  const char* args = R"({"label":"L"})";
  EXPECT_EQ(apart("ServiceAntiAffinity", args, {k_x, k_x, k_y, {}}, {3, 1, 0, 0}), (Scores{0, 0, 100, 0}));
  EXPECT_EQ(apart("ServiceAntiAffinity", args, {k_x, k_y, {}}, {1, 2, 1}), (Scores{75, 50, 0}))
      << "pods on nodes without the label are part of the total";
  EXPECT_EQ(apart("ServiceAntiAffinity", with_max(10, R"("label":"L")"), {k_x, k_y, {}}, {1, 2, 1}), (Scores{7, 5, 0}));
  EXPECT_EQ(apart("ServiceAntiAffinity", args, {k_x, {}}, {0, 0}), (Scores{100, 0})) << "without pods";
  EXPECT_EQ(refusal("ServiceAntiAffinity", "{}"), "label: Required value: a label must be specified");
}
TEST(ServiceAntiAffinity, FollowsTheFirstServiceByName) {
  PodsKeptTogether scene("ServiceAntiAffinity", R"({"label":"L"})");
  scene.cluster().put(k_services, "default", "another", {R"({"tier":"front"})"});
  scene.cluster().place({.labels = {{"tier", "front"}}}, {{0, 1}});
  scene.cluster().place({.labels = {{"app", "web"}}}, {{1, 5}});
  Attempt& a = scene.attempt({.labels = {{"app", "web"}, {"tier", "front"}}},
                             {{.name = "a", .labels = k_x}, {.name = "b", .labels = k_y}});
  ASSERT_EQ(a.pre_score(), Outcome{});
  EXPECT_EQ(a.normalized(), (Scores{0, 100}));
}
TEST(ServiceAntiAffinity, GivesLabelledNodesTheMaximumWithoutAService) {
  PodsKeptTogether scene("ServiceAntiAffinity", R"({"label":"L"})");
  scene.cluster().place({.labels = {{"app", "db"}}}, {{0, 1}});
  Attempt& a = scene.attempt({.labels = {{"app", "db"}}}, {{.labels = k_x}, {.labels = k_y}, {.name = "c"}});
  ASSERT_EQ(a.pre_score(), Outcome{});
  EXPECT_EQ(a.normalized(), (Scores{100, 100, 0}));
}

TEST(ServiceAffinity, AveragesOverLabelsAndTruncatesOnce) {
  const Strings both_x = {{"L", "x"}, {"M", "x"}}, mixed = {{"L", "x"}, {"M", "y"}};
  // L: all three pods on x: 0. M: 1 of 3 on x, 2 on y: 66.67 and 33.33; half of it.
  EXPECT_EQ(apart("ServiceAffinity", R"({"antiAffinityLabelsPreference":["L","M"]})", {both_x, mixed, k_x}, {1, 2, 0}),
            (Scores{33, 16, 0}));
  EXPECT_EQ(apart("ServiceAffinity", R"({"antiAffinityLabelsPreference":["L"]})", {k_x, k_y}, {1, 3}),
            (Scores{75, 25}));
}

}  // namespace
}  // namespace berth::legacy::tests::services_test
