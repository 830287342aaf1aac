// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::pod_affinity_test {
namespace {

const std::string k_general = "node(s) didn't match pod affinity/anti-affinity, ";
const Answer k_existing = unschedulable(k_general + "node(s) didn't satisfy existing pods anti-affinity rules");
const Answer k_affinity = unresolvable(k_general + "node(s) didn't match pod affinity rules");
const Answer k_anti = unschedulable(k_general + "node(s) didn't match pod anti-affinity rules");
const Strings k_web = {{"app", "web"}};
const std::vector<NodeSpec> k_nodes = {{.name = "n0", .labels = {{"zone", "a"}, {"host", "n0"}}},
                                       {.name = "n1", .labels = {{"zone", "a"}, {"host", "n1"}}},
                                       {.name = "n2", .labels = {{"zone", "b"}, {"host", "n2"}}},
                                       {.name = "n3", .labels = {{"host", "n3"}}}};
const Answers k_all = {passes(), passes(), passes(), passes()};

/// A term about app=web. Without namespaces it means that of its own pod.
AffinityTermSpec about_web(std::string key = "zone", std::int32_t weight = 0,
                           std::vector<std::string> namespaces = {}) {
  return {.topology_key = std::move(key),
          .selector = SelectorSpec{{{"app", "In", {"web"}}}},
          .namespaces = std::move(namespaces),
          .weight = weight};
}

struct AffinityScene : Scene {
  using Scene::Scene;
  Attempt& prepared(const PodSpec& pod) { return Scene::prepared(pod, k_nodes); }
  Answers fits(const PodSpec& pod) { return prepared(pod).filter(); }
  Scores scores(const PodSpec& pod, std::vector<NodeSpec> nodes = k_nodes) { return scored(pod, std::move(nodes)); }
};

TEST(MatchInterPodAffinity, WantsAPodInTheSameDomain) {
  AffinityScene scene("MatchInterPodAffinity");
  const PodSpec pod = {.affinity_required = {about_web()}};
  EXPECT_EQ(scene.fits({}), k_all);
  EXPECT_EQ(scene.fits(pod), (Answers{k_affinity, k_affinity, k_affinity, k_affinity}));
  scene.cluster().place({.labels = k_web}, {{1, 1}});
  EXPECT_EQ(scene.fits(pod), (Answers{passes(), passes(), k_affinity, k_affinity}));
}
TEST(MatchInterPodAffinity, LetsTheFirstPodOfAGroupGoAnywhere) {
  AffinityScene scene("MatchInterPodAffinity");
  const PodSpec pod = {.labels = k_web, .affinity_required = {about_web()}};
  EXPECT_EQ(scene.fits(pod), k_all) << "even where the topology key is absent";
  scene.cluster().place({.labels = k_web}, {{2, 1}});
  EXPECT_EQ(scene.fits(pod), (Answers{k_affinity, k_affinity, passes(), k_affinity}));
}
TEST(MatchInterPodAffinity, WantsOnePodThatAllTermsMean) {
  AffinityScene scene("MatchInterPodAffinity");
  PodSpec pod = {.affinity_required = {about_web(), about_web("host")}};
  pod.affinity_required[1].selector = SelectorSpec{{{"tier", "In", {"front"}}}};
  scene.cluster().place({.labels = k_web}, {{0, 1}});
  scene.cluster().place({.labels = {{"tier", "front"}}}, {{0, 1}});
  EXPECT_EQ(scene.fits(pod), (Answers{k_affinity, k_affinity, k_affinity, k_affinity}));
  scene.cluster().place({.labels = {{"app", "web"}, {"tier", "front"}}}, {{1, 1}});
  EXPECT_EQ(scene.fits(pod), (Answers{k_affinity, passes(), k_affinity, k_affinity}));
}
TEST(MatchInterPodAffinity, KeepsAwayFromPodsThatAnyTermMeans) {
  AffinityScene scene("MatchInterPodAffinity");
  PodSpec pod = {.anti_required = {about_web(), about_web("host")}};
  pod.anti_required[1].selector = SelectorSpec{{{"app", "In", {"db"}}}};
  scene.cluster().place({.labels = k_web}, {{0, 1}});
  scene.cluster().place({.labels = {{"app", "db"}}}, {{3, 1}});
  EXPECT_EQ(scene.fits(pod), (Answers{k_anti, k_anti, passes(), k_anti}));
}
TEST(MatchInterPodAffinity, HonoursTheAntiAffinityOfPlacedPods) {
  AffinityScene scene("MatchInterPodAffinity");
  scene.cluster().place({.anti_required = {about_web()}}, {{2, 1}});
  EXPECT_EQ(scene.fits({.labels = k_web}), (Answers{passes(), passes(), k_existing, passes()}));
  EXPECT_EQ(scene.fits({.labels = {{"app", "db"}}}), k_all);
}
TEST(MatchInterPodAffinity, NamesTheFirstThatFailsOfThree) {
  AffinityScene scene("MatchInterPodAffinity");
  scene.cluster().place({.anti_required = {about_web()}}, {{2, 1}});
  scene.cluster().place({.labels = {{"app", "db"}}}, {{0, 1}, {2, 1}});
  PodSpec pod = {.labels = k_web, .affinity_required = {about_web()}, .anti_required = {about_web()}};
  pod.affinity_required[0].selector = pod.anti_required[0].selector = SelectorSpec{{{"app", "In", {"db"}}}};
  EXPECT_EQ(scene.fits(pod), (Answers{k_anti, k_anti, k_existing, k_affinity}));
}
TEST(MatchInterPodAffinity, TakesAnEmptyListAsTheNamespaceOfTheTermsPod) {
  AffinityScene scene("MatchInterPodAffinity");
  scene.cluster().place({.ns = "other", .labels = k_web}, {{0, 1}});
  scene.cluster().place({.ns = "other", .anti_required = {about_web()}}, {{2, 1}});
  const PodSpec near = {.ns = "default", .labels = k_web, .anti_required = {about_web()}};
  EXPECT_EQ(scene.fits(near), k_all);
  PodSpec far = near;
  far.anti_required = {about_web("zone", 0, {"other"})};
  EXPECT_EQ(scene.fits(far), (Answers{k_anti, k_anti, passes(), passes()}));
  PodSpec there = near;
  there.ns = "other";
  EXPECT_EQ(scene.fits(there), (Answers{k_anti, k_anti, k_existing, passes()}));
}
TEST(MatchInterPodAffinity, DoesNotLookAtNamespaceSelectors) {
  AffinityScene scene("MatchInterPodAffinity");
  scene.cluster().place({.ns = "other", .labels = k_web}, {{0, 1}});
  PodSpec pod = {.anti_required = {about_web()}};
  pod.anti_required[0].namespace_selector = SelectorSpec{};  // today: every namespace
  EXPECT_EQ(scene.fits(pod), k_all);
}
TEST(MatchInterPodAffinity, FollowsPodsThatAreImagined) {
  AffinityScene scene("MatchInterPodAffinity");
  const PodSpec web = {.labels = k_web};
  const PodSpec pod = {.labels = k_web, .affinity_required = {about_web()}, .anti_required = {about_web("host")}};
  Attempt& attempt = scene.prepared(pod);
  EXPECT_EQ(attempt.filter(), k_all);
  {
    WhatIf what_if(scene.policy, attempt);
    what_if.add(web, 0);
    EXPECT_EQ(attempt.filter(), (Answers{k_anti, passes(), k_affinity, k_affinity}));
    what_if.remove(web, 0);
    EXPECT_EQ(attempt.filter(), k_all) << "a pair without pods is gone";
    what_if.add({.anti_required = {about_web("host")}}, 3);
    EXPECT_EQ(attempt.filter(), (Answers{passes(), passes(), passes(), k_existing}));
  }
  EXPECT_EQ(attempt.filter(), k_all) << "the state itself is as before";
}
TEST(MatchInterPodAffinity, ForgetsPodsThatAreImaginedAway) {
  AffinityScene scene("MatchInterPodAffinity");
  scene.cluster().place({.labels = k_web}, {{0, 1}});
  scene.cluster().place({.anti_required = {about_web()}}, {{2, 1}});
  Attempt& attempt = scene.prepared({.labels = k_web, .anti_required = {about_web()}});
  EXPECT_EQ(attempt.filter(), (Answers{k_anti, k_anti, k_existing, passes()}));
  WhatIf what_if(scene.policy, attempt);
  what_if.remove({.labels = k_web}, 0);
  what_if.remove({.anti_required = {about_web()}}, 2);
  EXPECT_EQ(attempt.filter(), k_all);
}

TEST(InterPodAffinityPriority, AddsUpWeightsPerDomain) {
  AffinityScene scene("InterPodAffinityPriority");
  scene.cluster().place({.labels = k_web}, {{0, 2}});
  scene.cluster().place({.labels = k_web}, {{2, 1}});
  const PodSpec pod = {.affinity_preferred = {about_web("zone", 5)}};
  EXPECT_EQ(scene.scores(pod), (Scores{100, 100, 50, 0}));
  AffinityScene of_ten("InterPodAffinityPriority", with_max(10));
  of_ten.cluster().place({.labels = k_web}, {{0, 3}, {2, 1}});
  EXPECT_EQ(of_ten.scores(pod), (Scores{10, 10, 3, 0}));
}
TEST(InterPodAffinityPriority, StartsItsScaleAtZero) {
  const std::vector<NodeSpec> two = {k_nodes[0], k_nodes[1]};
  AffinityScene scene("InterPodAffinityPriority");
  scene.cluster().place({.labels = k_web}, {{0, 1}});
  EXPECT_EQ(scene.scores({.affinity_preferred = {about_web("zone", 5)}}, two), (Scores{100, 100})) << "5 and 5";
  EXPECT_EQ(scene.scores({.anti_preferred = {about_web("host", 5)}}, two), (Scores{0, 100})) << "-5 and 0";
  EXPECT_EQ(scene.scores({}, two), (Scores{0, 0}));
}
TEST(InterPodAffinityPriority, CountsPreferencesOfPlacedPodsAndTheirRequiredTerms) {
  const auto of = [](const PodSpec& placed, std::string_view args = "{}") {
    AffinityScene scene("InterPodAffinityPriority", args);
    scene.cluster().place(placed, {{0, 1}});
    scene.cluster().place({.labels = k_web}, {{2, 1}});
    return scene.scores({.labels = k_web, .affinity_preferred = {about_web("host", 4)}});
  };
  EXPECT_EQ(of({.affinity_preferred = {about_web("zone", 2)}}), (Scores{50, 50, 100, 0}));
  EXPECT_EQ(of({.anti_preferred = {about_web("zone", 4)}}), (Scores{0, 0, 100, 50}));
  EXPECT_EQ(of({.affinity_required = {about_web()}}), (Scores{25, 25, 100, 0})) << "1 by default";
  EXPECT_EQ(of({.affinity_required = {about_web()}}, R"({"hardPodAffinitySymmetricWeight":3})"),
            (Scores{75, 75, 100, 0}));
  EXPECT_EQ(of({.affinity_required = {about_web()}}, R"({"hardPodAffinitySymmetricWeight":0})"),
            (Scores{0, 0, 100, 0}));
  EXPECT_EQ(of({.ns = "other", .affinity_preferred = {about_web("zone", 2)}}), (Scores{0, 0, 100, 0}))
      << "an empty list is the namespace of the placed pod";
}
TEST(InterPodAffinityPriority, NeverMatchesAnEmptyTopologyKey) {
  AffinityScene scene("InterPodAffinityPriority");
  scene.cluster().place({.labels = k_web}, {{0, 1}});
  EXPECT_EQ(scene.scores({.affinity_preferred = {about_web("", 5)}}), (Scores{0, 0, 0, 0}));
}
TEST(InterPodAffinityPriority, RefusesAWeightOutOfRange) {
  EXPECT_EQ(refusal("InterPodAffinityPriority", R"({"hardPodAffinitySymmetricWeight":101})"),
            "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]");
}

}  // namespace
}  // namespace berth::legacy::tests::pod_affinity_test
