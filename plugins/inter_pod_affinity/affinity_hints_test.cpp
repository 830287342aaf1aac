// SPDX-License-Identifier: Apache-2.0
#include "affinity_scene.hpp"

#include <gtest/gtest.h>

namespace affinity_hints_test {
namespace {
using namespace berth::inter_pod_affinity::tests;

const PodSpec k_wants = {.name = "waiting", .labels = k_web, .affinity_required = {near_web()}};
const PodSpec k_avoids = {.name = "waiting", .labels = k_web, .anti_required = {near_web()}};
PodSpec placed(Strings labels) { return {.name = "other", .node_name = "n", .labels = std::move(labels)}; }
PodSpec pending(Strings labels) { return {.name = "other", .labels = std::move(labels)}; }
PodSpec avoiding(Strings labels) {
  PodSpec pod = placed(std::move(labels));
  pod.anti_required = {near_web()};
  return pod;
}

struct PodCase {
  std::string name;
  PodSpec waiting;
  std::uint32_t action;
  std::optional<PodSpec> before, after;
  bool wakes;
};
const std::vector<PodCase> k_pod_cases = {
    {"WantedPodAdded", k_wants, BERTH_ACTION_ADD, {}, placed(k_web), true},
    {"OtherPodAdded", k_wants, BERTH_ACTION_ADD, {}, placed(k_db), false},
    {"PendingPodAdded", k_wants, BERTH_ACTION_ADD, {}, pending(k_web), false},
    {"AvoidedPodAdded", k_avoids, BERTH_ACTION_ADD, {}, placed(k_web), false},
    {"AvoidedPodGone", k_avoids, BERTH_ACTION_DELETE, placed(k_web), {}, true},
    {"WantedPodGone", k_wants, BERTH_ACTION_DELETE, placed(k_web), {}, false},
    {"PodThatAvoidedItGone", k_wants, BERTH_ACTION_DELETE, avoiding(k_db), {}, true},
    {"PodStartsToBeWanted", k_wants, BERTH_ACTION_UPDATE_POD_LABEL, placed(k_db), placed(k_web), true},
    {"PodStopsBeingWanted", k_wants, BERTH_ACTION_UPDATE_POD_LABEL, placed(k_web), placed(k_db), false},
    {"PodStopsBeingAvoided", k_avoids, BERTH_ACTION_UPDATE_POD_LABEL, placed(k_web), placed(k_db), true},
    {"PodStartsToBeAvoided", k_avoids, BERTH_ACTION_UPDATE_POD_LABEL, placed(k_db), placed(k_web), false},
    {"OwnLabels", k_avoids, BERTH_ACTION_UPDATE_POD_LABEL, k_avoids, k_avoids, true},
};
class AffinityPodHint : public testing::TestWithParam<PodCase> {};
TEST_P(AffinityPodHint, Answers) {
  const PodCase& c = GetParam();
  Scene scene;
  EXPECT_EQ(scene.policy.wakes({.kind = BERTH_KIND_POD, .actions = c.action, .old_pod = c.before, .new_pod = c.after},
                               c.waiting),
            c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, AffinityPodHint, testing::ValuesIn(k_pod_cases),
                         [](const auto& i) { return i.param.name; });

struct NodeCase {
  std::string name;
  PodSpec waiting;
  std::optional<NodeSpec> before;
  NodeSpec after;
  bool wakes;
};
const std::vector<NodeCase> k_node_cases = {
    {"AddedWithTheKeyOfAffinity", k_wants, {}, node("n", "a"), true},
    {"AddedWithoutTheKeyOfAffinity", k_wants, {}, node("n", "-"), false},
    {"AddedForAntiAffinity", k_avoids, {}, node("n", "-"), true},
    {"KeyOfAffinityGained", k_wants, node("n", "-"), node("n", "a"), true},
    {"KeyOfAffinityLost", k_wants, node("n", "a"), node("n", "-"), false},
    {"KeyOfAntiAffinityLost", k_avoids, node("n", "a"), node("n", "-"), true},
    {"KeyOfAntiAffinityGained", k_avoids, node("n", "-"), node("n", "a"), false},
    {"ValueForAffinityChanged", k_wants, node("n", "a"), node("n", "b"), true},
    {"ValueForAntiAffinityChanged", k_avoids, node("n", "a"), node("n", "b"), true},
    {"OtherLabelChanged", k_wants, node("n", "a"), node("m", "a"), false},
    {"NoTermsOfItsOwn", {.labels = k_web}, {}, node("n", "a"), false},
};
class AffinityNodeHint : public testing::TestWithParam<NodeCase> {};
TEST_P(AffinityNodeHint, Answers) {
  const NodeCase& c = GetParam();
  Scene scene;
  EXPECT_EQ(scene.policy.wakes({.actions = c.before ? BERTH_ACTION_UPDATE_NODE_LABEL : BERTH_ACTION_ADD,
                                .old_node = c.before,
                                .new_node = c.after},
                               c.waiting),
            c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, AffinityNodeHint, testing::ValuesIn(k_node_cases),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace affinity_hints_test
