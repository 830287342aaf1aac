// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::selector_spread_test {
namespace {

const char* const k_services = "core/v1/services";
const char* const k_beta_zone = "failure-domain.beta.kubernetes.io/zone";
const char* const k_zone = "topology.kubernetes.io/zone";
const char* const k_region = "topology.kubernetes.io/region";
const PodSpec k_web = {.name = "new", .labels = {{"app", "web"}, {"tier", "front"}}};

/// A zone of "" leaves the label out.
std::vector<NodeSpec> nodes_in(const std::vector<std::string>& zones, const char* key = k_beta_zone) {
  std::vector<NodeSpec> nodes;
  for (const std::string& zone : zones) {
    nodes.push_back({.name = "n" + std::to_string(nodes.size())});
    if (!zone.empty()) nodes.back().labels[key] = zone;
  }
  return nodes;
}

struct SpreadScene : Scene {
  explicit SpreadScene(std::string_view plugin = "SelectorSpreadPriority", std::string_view args = {})
      : Scene(plugin, args) {
    cluster().put(k_services, "default", "web", {R"({"app":"web"})"});
  }
  /// counts[i] pods app=web on node i.
  void place(const std::vector<std::uint32_t>& counts, const PodSpec& pod = {.labels = {{"app", "web"}}},
             bool terminating = false) {
    std::vector<FakeCluster::Place> where;
    for (std::uint32_t i = 0; i < counts.size(); ++i)
      if (counts[i] != 0) where.push_back({i, counts[i]});
    cluster().place(pod, where, terminating);
  }
  Scores spread(const PodSpec& pod, std::vector<NodeSpec> nodes) { return scored(pod, std::move(nodes)); }
};

TEST(SelectorSpreadPriority, PrefersNodesWithFewerOfThePods) {
  SpreadScene scene;
  scene.place({2, 1, 0});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"", "", ""})), (Scores{0, 50, 100}));
}
TEST(SelectorSpreadPriority, GivesZonesTwoThirdsOfTheWeight) {
  for (const char* key : {k_beta_zone, k_zone, k_region}) {
    SpreadScene scene;
    scene.place({2, 1, 0});
    EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "A", "B"}, key)), (Scores{0, 16, 100})) << key;
  }
  SpreadScene of_ten("SelectorSpreadPriority", with_max(10));
  of_ten.place({2, 1, 0});
  EXPECT_EQ(of_ten.spread(k_web, nodes_in({"A", "A", "B"})), (Scores{0, 1, 10}));
}
TEST(SelectorSpreadPriority, JudgesNodesWithoutAZoneByThemselves) {
  SpreadScene scene;
  scene.place({2, 1, 1});
  // The sum of zone A is 3, the highest; the last node has no zone and keeps 100 * (2 - 1) / 2.
  EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "A", ""})), (Scores{0, 16, 50}));
}
TEST(SelectorSpreadPriority, TellsZonesOfTwoRegionsApart) {
  SpreadScene scene;
  scene.place({2, 1, 0});
  std::vector<NodeSpec> nodes = nodes_in({"A", "A", "A"}, k_zone);
  nodes[1].labels[k_region] = "r";
  // Zone A of no region holds 2 pods, zone A of region r holds 1.
  EXPECT_EQ(scene.spread(k_web, nodes), (Scores{0, 50, 33}));
}
TEST(SelectorSpreadPriority, FollowsNodesThatMoveToAnotherZone) {
  SpreadScene scene;
  scene.place({2, 1, 0});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "A", "B"})), (Scores{0, 16, 100}));
  EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "B", "A"})), (Scores{0, 50, 33}));
}
TEST(SelectorSpreadPriority, ReadsTheBetaLabelFirst) {
  SpreadScene scene;
  scene.place({2, 1, 0});
  std::vector<NodeSpec> nodes = nodes_in({"A", "A", "B"});
  for (NodeSpec& node : nodes) node.labels[k_zone] = "same";
  EXPECT_EQ(scene.spread(k_web, nodes), (Scores{0, 16, 100}));
}
TEST(SelectorSpreadPriority, GivesEveryNodeTheMaximumWithoutPodsOrSelectors) {
  SpreadScene scene;
  EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "", "B"})), (Scores{100, 100, 100}));
  scene.place({2, 1, 0}, {.labels = {{"app", "db"}}});
  EXPECT_EQ(scene.spread({.labels = {{"app", "db"}}}, nodes_in({"", "", ""})), (Scores{100, 100, 100}))
      << "nothing selects these";
}
TEST(SelectorSpreadPriority, CountsPodsThatAllSelectorsSelect) {
  SpreadScene scene;
  scene.cluster().put("apps/v1/replicasets", "default", "rs", {R"({"matchLabels":{"tier":"front"}})"});
  scene.place({2, 0});
  scene.place({0, 1}, {.labels = {{"app", "web"}, {"tier", "front"}}});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"", ""})), (Scores{100, 0}))
      << "the two that only the service selects do not count";
}
TEST(SelectorSpreadPriority, LeavesOutTerminatingPodsAndOtherNamespaces) {
  SpreadScene scene;
  scene.place({1, 0, 0});
  scene.place({0, 5, 0}, {.labels = {{"app", "web"}}}, true);
  scene.place({0, 0, 5}, {.ns = "elsewhere", .labels = {{"app", "web"}}});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"", "", ""})), (Scores{0, 100, 100}));
}

struct ControllerCase {
  const char* name;
  const char* resource;
  const char* selector;
  bool counts;
};
const std::vector<ControllerCase> k_controllers = {
    {"ReplicationController", "core/v1/replicationcontrollers", R"({"tier":"front"})", true},
    {"ReplicationControllerWithoutSelector", "core/v1/replicationcontrollers", "{}", false},
    {"ReplicaSet", "apps/v1/replicasets", R"({"matchExpressions":[{"key":"tier","operator":"In","values":["front"]}]})",
     true},
    {"ReplicaSetWithEmptySelector", "apps/v1/replicasets", "{}", false},
    {"ReplicaSetThatDoesNotParse", "apps/v1/replicasets",
     R"({"matchExpressions":[{"key":"tier","operator":"Sometimes"}]})", false},
    {"ReplicaSetOfOthers", "apps/v1/replicasets", R"({"matchLabels":{"tier":"back"}})", false},
    {"StatefulSet", "apps/v1/statefulsets", R"({"matchLabels":{"tier":"front"}})", true},
};
class Controllers : public testing::TestWithParam<ControllerCase> {};
TEST_P(Controllers, SelectByTheirSelectorNotByOwnership) {
  Scene plain("SelectorSpreadPriority"), services_only("ServiceSpreadingPriority");
  const auto ask = [](Scene& scene) {
    scene.cluster().put(GetParam().resource, "default", "it", {GetParam().selector});
    scene.cluster().place({.labels = {{"tier", "front"}}}, {{0, 1}});
    Attempt& a = scene.attempt({.labels = {{"tier", "front"}}}, nodes_in({"", ""}));
    EXPECT_EQ(a.pre_score(), Outcome{});
    return a.normalized();
  };
  EXPECT_EQ(ask(plain), (Scores{GetParam().counts ? 0 : 100, 100}));
  EXPECT_EQ(ask(services_only), (Scores{100, 100})) << "controllers do not matter to ServiceSpreadingPriority";
}
INSTANTIATE_TEST_SUITE_P(All, Controllers, testing::ValuesIn(k_controllers),
                         [](const auto& instance) { return instance.param.name; });

TEST(ServiceSpreadingPriority, SpreadsByServices) {
  SpreadScene scene("ServiceSpreadingPriority");
  scene.cluster().put(k_services, "default", "none", {""});  // without a selector it selects nothing
  scene.place({2, 1, 0});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"A", "A", "B"})), (Scores{0, 16, 100}));
}
TEST(ServiceSpreadingPriority, FollowsChangesOfServices) {
  SpreadScene scene("ServiceSpreadingPriority");
  scene.place({1, 0});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"", ""})), (Scores{0, 100}));
  scene.cluster().put(k_services, "default", "web", {R"({"app":"db"})"});
  EXPECT_EQ(scene.spread(k_web, nodes_in({"", ""})), (Scores{100, 100}));
}

TEST(SelectorSpread, FollowsServicesAndTheOwnController) {
  SpreadScene scene("SelectorSpread");
  scene.cluster().put("apps/v1/replicasets", "default", "rs", {R"({"matchLabels":{"tier":"front"}})"});
  scene.place({2, 0, 0});
  scene.place({0, 1, 0}, {.labels = {{"app", "web"}, {"tier", "front"}}});
  PodSpec pod = k_web;
  EXPECT_EQ(scene.spread(pod, nodes_in({"", "", ""})), (Scores{0, 50, 100}))
      << "a ReplicaSet that does not own the pod does not matter";
  pod.owner_api_version = "apps/v1";
  pod.owner_kind = "ReplicaSet";
  pod.owner_name = "rs";
  EXPECT_EQ(scene.spread(pod, nodes_in({"", "", ""})), (Scores{100, 0, 100}));
}
TEST(SelectorSpread, LeavesPodsWithSpreadConstraintsAlone) {
  SpreadScene scene("SelectorSpread");
  PodSpec pod = k_web;
  pod.spread = {{.topology_key = k_zone}};
  EXPECT_EQ(scene.attempt(pod, nodes_in({""})).pre_score().code, static_cast<berth_code>(BERTH_SKIP));
}
TEST(SelectorSpread, GivesEveryNodeTheMaximumForAnEmptySelector) {
  SpreadScene scene("SelectorSpread");
  scene.place({2, 0});
  EXPECT_EQ(scene.spread({.labels = {{"app", "db"}}}, nodes_in({"", ""})), (Scores{100, 100}));
}

TEST(SelectorSpreadPriority, SaysWhatIsMissingWithoutPreScore) {
  SpreadScene scene;
  try {
    scene.attempt(k_web, nodes_in({""})).score();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "counts of pods are missing: enable the plugin at preScore too"}));
  }
}

}  // namespace
}  // namespace berth::legacy::tests::selector_spread_test
