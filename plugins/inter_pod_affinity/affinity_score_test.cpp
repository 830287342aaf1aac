// SPDX-License-Identifier: Apache-2.0
#include "affinity_scene.hpp"

#include <gtest/gtest.h>

namespace affinity_score_test {
namespace {
using namespace berth::inter_pod_affinity::tests;
using Scores = std::vector<std::int64_t>;

PodSpec prefers(std::int32_t weight, Strings own = k_db) {
  return {.labels = std::move(own), .affinity_preferred = {near_web(k_zone, weight)}};
}
PodSpec prefers_away(std::int32_t weight, Strings own = k_db) {
  return {.labels = std::move(own), .anti_preferred = {near_web(k_zone, weight)}};
}
const PodSpec k_web_pod = {.labels = k_web};

struct ScoreCase {
  std::string name;
  PodSpec pod;
  PodSpec placed;  // twice on n0, once on n2
  Scores raw;      // empty: takes no part
  std::string args = {};
};
const std::vector<ScoreCase> k_cases = {
    {"OwnPreference", prefers(5), k_web_pod, {10, 10, 5, 0}},
    {"OwnAversion", prefers_away(5), k_web_pod, {-10, -10, -5, 0}},
    {"PreferenceOfPlacedPods", k_web_pod, prefers(3), {6, 6, 3, 0}},
    {"AversionOfPlacedPods", k_web_pod, prefers_away(3), {-6, -6, -3, 0}},
    {"RequirementOfPlacedPods", k_web_pod, {.affinity_required = {near_web()}}, {2, 2, 1, 0}},
    {"HardWeight", k_web_pod, {.affinity_required = {near_web()}}, {40, 40, 20, 0}, R"({"hardPodAffinityWeight":20})"},
    {"HardWeightOff", k_web_pod, {.affinity_required = {near_web()}}, {}, R"({"hardPodAffinityWeight":0})"},
    {"BothWays", prefers(5, k_web), prefers(3, k_web), {16, 16, 8, 0}},
    {"SumsThatCancelOutStillTakePart", prefers(4, k_web), prefers_away(4, k_web), {0, 0, 0, 0}},
    {"NoPodMatches", prefers(5), {.labels = k_db}, {}},
    {"NoPodHasTerms", k_web_pod, k_web_pod, {}},
    {"ExistingPreferencesIgnored", k_web_pod, prefers(3), {}, R"({"ignorePreferredTermsOfExistingPods":true})"},
    {"ExistingPreferencesCountForPodsWithTheirOwn",
     prefers(5, k_web),
     prefers(3, k_web),
     {16, 16, 8, 0},
     R"({"ignorePreferredTermsOfExistingPods":true})"},
};
class AffinityScore : public testing::TestWithParam<ScoreCase> {};
TEST_P(AffinityScore, SumsWeightsPerDomain) {
  const ScoreCase& c = GetParam();
  Scene scene(c.args);
  scene.cluster().place(c.placed, {{0, 2}, {2, 1}});
  Attempt& attempt = scene.attempt(c.pod);
  if (c.raw.empty()) {
    EXPECT_EQ(attempt.pre_score().code, BERTH_SKIP);
  } else {
    ASSERT_EQ(attempt.pre_score(), Outcome{});
    EXPECT_EQ(attempt.score(), c.raw);
  }
}
INSTANTIATE_TEST_SUITE_P(All, AffinityScore, testing::ValuesIn(k_cases), [](const auto& i) { return i.param.name; });

TEST(AffinityScore, IsStretchedOverTheRange) {
  Scene scene;
  scene.cluster().place(k_web_pod, {{0, 29}, {2, 100}});
  Attempt& attempt = scene.attempt(prefers(1));
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.normalized(), (Scores{28, 28, 100, 0})) << "0.29 * 100 is 28.999...";
}

TEST(AffinityScore, SeveralKeysAddUp) {
  PodSpec both = prefers(5);
  both.affinity_preferred.push_back(near_web(k_host, 1));
  Scene scene;
  scene.cluster().place(k_web_pod, {{0, 2}, {3, 1}});
  Attempt& attempt = scene.attempt(both);
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{12, 10, 0, 1}));
}

TEST(AffinityScore, WithoutPreScoreIsAnError) {
  Scene scene;
  try {
    scene.attempt(prefers(5)).score();
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, R"(failed to read "PreScoreInterPodAffinity" from cycleState: not found)"}));
  }
}

TEST(AffinityArgs, OutOfRangeIsRefused) {
  try {
    Scene scene(R"({"hardPodAffinityWeight":101})");
    FAIL() << "accepted";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_BAD_ARGS, "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"}));
  }
}

}  // namespace
}  // namespace affinity_score_test
