// SPDX-License-Identifier: Apache-2.0
#include "spread_scene.hpp"

#include <gtest/gtest.h>

namespace spread_score_test {
namespace {
using namespace berth::pod_topology_spread::tests;
using Scores = std::vector<std::int64_t>;

SpreadSpec soft(std::string key, std::int32_t max_skew = 1) {
  return {.topology_key = std::move(key),
          .max_skew = max_skew,
          .when = BERTH_SPREAD_SCHEDULE_ANYWAY,
          .selector = k_selects_web};
}
PodSpec web(std::vector<SpreadSpec> spread = {}) { return {.labels = k_web, .spread = std::move(spread)}; }
const std::vector<NodeSpec> k_three_zones = {node("n0", "a"), node("n1", "b"), node("n2", "c")};

TEST(SpreadScore, FewerPodsScoreHigher) {
  Scene scene;
  scene.cluster().place(web(), {{0, 3}, {1, 1}});
  Attempt& attempt = scene.attempt(web({soft(k_zone)}), k_three_zones);
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{5, 2, 0}));  // ln 5 * 3, ln 5 * 1, 0
  EXPECT_EQ(attempt.normalized(), (Scores{0, 60, 100}));
}

TEST(SpreadScore, AllEqualIsBest) {
  for (const std::int32_t max_skew : {1, 3}) {
    Scene scene;
    Attempt& attempt = scene.attempt(web({soft(k_zone, max_skew)}), k_three_zones);
    ASSERT_EQ(attempt.pre_score(), Outcome{});
    EXPECT_EQ(attempt.score(), (Scores(3, max_skew - 1)));
    EXPECT_EQ(attempt.normalized(), (Scores{100, 100, 100}));
  }
}

TEST(SpreadScore, HostnameCountsPodsOfTheNode) {
  Scene scene;
  scene.cluster().place(web(), {{0, 2}});
  Attempt& attempt = scene.attempt(web({soft(k_host)}), k_three_zones);
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{3, 0, 0}));  // 2 * ln 5
}

TEST(SpreadScore, NodesWithoutAKeyOfThePodsConstraintsAreIgnored) {
  Scene scene;
  scene.cluster().place(web(), {{0, 2}, {2, 7}});
  Attempt& attempt = scene.attempt(web({soft(k_zone)}), {node("n0", "a"), node("n1", "b"), node("n2", "-")});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{3, 0, 0}));  // 2 * ln 4
  EXPECT_EQ(attempt.normalized(), (Scores{0, 100, 0}));
}

TEST(SpreadScore, IneligibleNodesDoNotCountForZonesButForThemselves) {
  PodSpec pod = web({soft(k_zone), soft(k_host)});
  pod.node_selector = Strings{{"disk", "ssd"}};
  Scene scene;
  scene.cluster().place(web(), {{0, 1}});
  Attempt& attempt = scene.attempt(pod, {node("n0", "a"), node("n1", "b", {{"disk", "ssd"}})});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{1, 0}));  // hostname: 1 * ln 4
}

TEST(SpreadScore, TakesNoPartWithoutSoftConstraints) {
  Scene scene;
  EXPECT_EQ(scene.attempt(web(), k_three_zones).pre_score().code, BERTH_SKIP);
}

TEST(SpreadScore, WithoutPreScoreIsAnError) {
  Scene scene;
  try {
    scene.attempt(web({soft(k_zone)}), k_three_zones).score();
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, R"(error reading "PreScorePodTopologySpread" from cycleState: not found)"}));
  }
}

struct DefaultsCase {
  std::string name;
  PodSpec pod;
  bool takes_part;
};
PodSpec owned(std::string api_version, std::string kind, std::string owner) {
  return {.labels = k_web,
          .owner_api_version = std::move(api_version),
          .owner_kind = std::move(kind),
          .owner_name = std::move(owner)};
}
const std::vector<DefaultsCase> k_defaults = {
    {"NoOwnerSelectsIt", {.labels = {{"app", "lonely"}}}, false},
    {"Service", {.labels = {{"app", "served"}}}, true},
    {"ServiceOfAnotherNamespace", {.ns = "other", .labels = {{"app", "served"}}}, false},
    {"ReplicaSet", owned("apps/v1", "ReplicaSet", "rs"), true},
    {"StatefulSet", owned("apps/v1", "StatefulSet", "ss"), true},
    {"ReplicationController", owned("v1", "ReplicationController", "rc"), true},
    {"WrongGroup", owned("extensions/v1beta1", "ReplicaSet", "rs"), false},
    {"OtherKind", owned("batch/v1", "Job", "rs"), false},
    {"MissingOwner", owned("apps/v1", "ReplicaSet", "gone"), false},
    {"SelectorThatDoesNotParse", owned("apps/v1", "ReplicaSet", "broken"), false},
};
class SpreadDefaults : public testing::TestWithParam<DefaultsCase> {};
TEST_P(SpreadDefaults, ComeFromServicesAndControllers) {
  Scene scene;
  FakeCluster& cluster = scene.cluster();
  cluster.put("core/v1/services", "default", "all", {"{}"});
  cluster.put("core/v1/services", "default", "headless", {""});
  cluster.put("core/v1/services", "default", "served", {R"({"app":"served"})"});
  cluster.put("core/v1/replicationcontrollers", "default", "rc", {R"({"app":"web"})"});
  cluster.put("apps/v1/replicasets", "default", "rs", {R"({"matchLabels":{"app":"web"}})"});
  cluster.put("apps/v1/replicasets", "default", "broken",
              {R"({"matchExpressions":[{"key":"app","operator":"In","values":[]}]})"});
  cluster.put("apps/v1/statefulsets", "default", "ss", {R"({"matchExpressions":[{"key":"app","operator":"Exists"}]})"});
  Attempt& attempt = scene.attempt(GetParam().pod, k_three_zones);
  EXPECT_EQ(attempt.pre_score().code, GetParam().takes_part ? BERTH_OK : BERTH_SKIP);
}
INSTANTIATE_TEST_SUITE_P(All, SpreadDefaults, testing::ValuesIn(k_defaults),
                         [](const auto& i) { return i.param.name; });

TEST(SpreadDefaults, NodesWithoutAZoneShareOne) {
  Scene scene;
  scene.cluster().put("core/v1/services", "default", "web", {R"({"app":"web"})"});
  scene.cluster().place(web(), {{1, 2}});
  Attempt& attempt = scene.attempt(web(), {node("n0", "a"), node("n1", "-"), node("n2", "")});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  // n0: host 0 + 2, zone 0 + 4. n1: host 2 * ln 5 + 2, no zone. n2: host 2, zone "" holds n1's pods: 2 * ln 4 + 4.
  EXPECT_EQ(attempt.score(), (Scores{6, 5, 9}));
}

TEST(SpreadDefaults, FollowChangesOfServices) {
  Scene scene;
  FakeCluster& cluster = scene.cluster();
  EXPECT_EQ(scene.attempt(web(), k_three_zones).pre_score().code, BERTH_SKIP);
  cluster.put("core/v1/services", "default", "web", {R"({"app":"web"})"});
  EXPECT_EQ(scene.attempt(web(), k_three_zones).pre_score().code, BERTH_OK);
  cluster.put("core/v1/services", "default", "web", {R"({"app":"db"})"});
  EXPECT_EQ(scene.attempt(web(), k_three_zones).pre_score().code, BERTH_SKIP);
}

TEST(SpreadDefaults, AListReplacesTheBuiltInOnes) {
  Scene scene(R"({"defaultingType":"List","defaultConstraints":
      [{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}]})");
  scene.cluster().put("core/v1/services", "default", "web", {R"({"app":"web"})"});
  scene.cluster().place(web(), {{0, 1}});
  Attempt& attempt = scene.attempt(web(), k_three_zones);
  EXPECT_EQ(attempt.pre_score().code, BERTH_SKIP);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter()[0], unschedulable(k_skewed));
  EXPECT_EQ(attempt.filter()[1], passes());
}

struct ArgsCase {
  std::string name, args, want;
};
const std::vector<ArgsCase> k_args = {
    {"SystemWithConstraints",
     R"({"defaultConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]})",
     R"(defaultingType: Invalid value: "System": when .defaultConstraints are not empty)"},
    {"EverythingWrong",
     R"({"defaultingType":"List","defaultConstraints":[{"maxSkew":0,"whenUnsatisfiable":"Maybe","labelSelector":{}}]})",
     "[defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
     "defaultConstraints[0].topologyKey: Required value: can not be empty, "
     "defaultConstraints[0].whenUnsatisfiable: Unsupported value: \"Maybe\": supported values: \"DoNotSchedule\", "
     "\"ScheduleAnyway\", "
     "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each "
     "pod]"},
    {"Repeated",
     R"({"defaultingType":"List","defaultConstraints":[
         {"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"},
         {"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]})",
     "defaultConstraints[1]: Duplicate value: \"{zone, ScheduleAnyway}\""},
};
class SpreadArgs : public testing::TestWithParam<ArgsCase> {};
TEST_P(SpreadArgs, AreRefused) {
  try {
    Scene scene(GetParam().args);
    FAIL() << "accepted";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_BAD_ARGS, GetParam().want}));
  }
}
INSTANTIATE_TEST_SUITE_P(All, SpreadArgs, testing::ValuesIn(k_args), [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace spread_score_test
