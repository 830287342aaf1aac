// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::node_priorities_test {
namespace {

constexpr std::int64_t k_mi = std::int64_t{1} << 20;

TermSpec prefers(std::int32_t weight, std::vector<RequirementSpec> expressions,
                 std::vector<RequirementSpec> fields = {}) {
  return {.expressions = std::move(expressions), .fields = std::move(fields), .weight = weight};
}

TEST(NodeAffinityPriority, AddsUpWeightsAndScalesByTheHighest) {
  const PodSpec pod = {.preferred =
                           std::vector<TermSpec>{prefers(2, {{"foo", "In", {"bar"}}}), prefers(4, {{"key", "Exists"}}),
                                                 prefers(5, {{"az", "In", {"az1"}}, {"key", "Exists"}})}};
  const std::vector<NodeSpec> nodes = {{.labels = {{"foo", "bar"}}},
                                       {.labels = {{"key", "v"}}},
                                       {.labels = {{"key", "v"}, {"foo", "bar"}, {"az", "az1"}}},
                                       {.name = "none"}};
  Scene scene("NodeAffinityPriority");
  EXPECT_EQ(scene.score(pod, nodes), (Scores{18, 36, 100, 0}));
  Scene of_ten("NodeAffinityPriority", with_max(10));
  EXPECT_EQ(of_ten.score(pod, nodes), (Scores{1, 3, 10, 0}));
  EXPECT_EQ(scene.score({}, nodes), (Scores{0, 0, 0, 0}));
}
TEST(NodeAffinityPriority, LooksAtExpressionsOnly) {
  const std::vector<NodeSpec> nodes = {{.name = "a", .labels = {{"foo", "bar"}}}, {.name = "b"}};
  Scene scene("NodeAffinityPriority");
  EXPECT_EQ(scene.score(
                {.preferred = std::vector<TermSpec>{prefers(1, {}), prefers(1, {}, {{"metadata.name", "In", {"b"}}})}},
                nodes),
            (Scores{0, 0}))
      << "no expressions match nothing";
  EXPECT_EQ(scene.score(
                {.preferred = std::vector<TermSpec>{prefers(1, {{"foo", "Exists"}}, {{"metadata.name", "In", {"b"}}})}},
                nodes),
            (Scores{100, 0}))
      << "fields are not looked at";
}
TEST(NodeAffinityPriority, FailsForATermThatDoesNotParseUnlessItWeighsNothing) {
  TermSpec bad = prefers(1, {{"foo", "Exists"}});
  bad.error = "\"x y\" is not a label";
  Scene scene("NodeAffinityPriority");
  Attempt& attempt = scene.attempt({.preferred = std::vector<TermSpec>{bad}}, {{.name = "a"}});
  try {
    attempt.score();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "\"x y\" is not a label"}));
  }
  bad.weight = 0;
  EXPECT_EQ(scene.score({.preferred = std::vector<TermSpec>{bad}}, {{.name = "a", .labels = {{"foo", ""}}}}),
            Scores{0});
}

TEST(TaintTolerationPriority, PrefersFewerUntoleratedSoftTaints) {
  const auto tainted = [](int count) {
    NodeSpec node;
    for (int i = 0; i < count; ++i) node.taints.push_back({"k" + std::to_string(i), "v", "PreferNoSchedule"});
    return node;
  };
  const std::vector<NodeSpec> nodes = {tainted(0), tainted(1), tainted(3)};
  Scene scene("TaintTolerationPriority");
  EXPECT_EQ(scene.score({}, nodes), (Scores{100, 67, 0}));
  EXPECT_EQ(scene.score({.tolerations = {{.key = "k0", .op = "Exists"}}}, nodes), (Scores{100, 100, 0}));
  EXPECT_EQ(scene.score({.tolerations = {{.key = "k0", .op = "Exists", .effect = "NoSchedule"}}}, nodes),
            (Scores{100, 67, 0}))
      << "tolerations of other effects do not count";
  EXPECT_EQ(scene.score({.tolerations = {{.op = "Exists"}}}, nodes), (Scores{100, 100, 100}));
  EXPECT_EQ(scene.score({}, {{.taints = {{"k", "v", "NoSchedule"}}}}), Scores{100})
      << "hard taints are the predicate's";
  Scene of_ten("TaintTolerationPriority", with_max(10));
  EXPECT_EQ(of_ten.score({}, nodes), (Scores{10, 7, 0}));
}

TEST(ImageLocalityPriority, HasThresholdsThatDoNotGrowWithTheContainers) {
  const auto of = [](std::vector<ImageRefSpec> images, std::vector<ImageSpec> present, std::uint32_t containers,
                     int max_score = 100) {
    Scene scene("ImageLocalityPriority", with_max(max_score));
    return scene.score({.images = std::move(images), .containers = containers}, {{.images = std::move(present)}})[0];
  };
  EXPECT_EQ(of({{"a"}}, {{"a", 2048 * k_mi}}, 1), 100);
  EXPECT_EQ(of({{"a"}}, {{"a", 2048 * k_mi}}, 4), 100) << "four containers have no higher threshold";
  EXPECT_EQ(of({{"a"}}, {{"a", 2048 * k_mi}}, 1, 10), 10);
  EXPECT_EQ(of({{"a"}}, {{"a", 23 * k_mi}}, 1), 0);
  EXPECT_EQ(of({{"a"}}, {}, 1), 0);
  EXPECT_EQ(of({{"a"}, {"b"}}, {{"a", 100 * k_mi}, {"b", 200 * k_mi}}, 2), 100 * (300 - 23) / (1000 - 23));
  EXPECT_EQ(
      of({{"a", BERTH_IMAGE_INIT_CONTAINER}, {"b", BERTH_IMAGE_VOLUME}}, {{"a", 900 * k_mi}, {"b", 900 * k_mi}}, 1), 0)
      << "only containers count";
}
TEST(ImageLocalityPriority, ScalesSizesByTheShareOfNodesThatHaveTheImage) {
  Scene scene("ImageLocalityPriority");
  EXPECT_EQ(scene.score({.images = {{"a"}}}, {{.images = {{"a", 1000 * k_mi, 1}}}, {.name = "without"}}),
            (Scores{100 * (500 - 23) / (1000 - 23), 0}));
}

const char* const k_avoid =
    R"({"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"u1"}},"reason":"x"},
                          {"podSignature":{"podController":{"apiVersion":"v1","kind":"ReplicationController","uid":"u2"}}}]})";

TEST(NodePreferAvoidPodsPriority, AvoidsNodesThatNameTheController) {
  const char* key = "scheduler.alpha.kubernetes.io/preferAvoidPods";
  const std::vector<NodeSpec> nodes = {{.annotations = {{key, k_avoid}}},
                                       {.name = "none"},
                                       {.annotations = {{key, "{not json"}}},
                                       {.annotations = {{key, R"({"preferAvoidPods":"x"})"}}},
                                       {.annotations = {{key, R"({"preferAvoidPods":[]})"}}}};
  const auto of = [&](const char* plugin, const char* kind, const char* uid, int max_score) {
    Scene scene(plugin, with_max(max_score));
    return scene.score({.owner_kind = kind, .owner_uid = uid}, nodes);
  };
  const Scores none_avoided = {100, 100, 100, 100, 100};
  for (const char* plugin : {"NodePreferAvoidPodsPriority", "NodePreferAvoidPods"}) {
    EXPECT_EQ(of(plugin, "ReplicaSet", "u1", 100), (Scores{0, 100, 100, 100, 100}));
    EXPECT_EQ(of(plugin, "ReplicationController", "u2", 10), (Scores{0, 10, 10, 10, 10}));
    EXPECT_EQ(of(plugin, "ReplicaSet", "u2", 100), none_avoided) << "kind and uid must both be equal";
    EXPECT_EQ(of(plugin, "StatefulSet", "u1", 100), none_avoided) << "other kinds are never asked to stay away";
    EXPECT_EQ(of(plugin, "", "", 100), none_avoided);
  }
}

TEST(EqualPriority, GivesEveryNodeOne) {
  Scene scene("EqualPriority");
  EXPECT_EQ(scene.score({}, {{.name = "a"}, {.name = "b"}}), (Scores{1, 1}));
}

}  // namespace
}  // namespace berth::legacy::tests::node_priorities_test
