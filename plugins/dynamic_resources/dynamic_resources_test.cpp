// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

const std::vector<NodeSpec> k_nodes = {{.name = "a"}, {.name = "b"}};

TEST(DynamicResources, IsSkippedForPodsWithoutClaims) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.name = "p"}, k_nodes);
  EXPECT_EQ(attempt.pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(attempt.score(), (std::vector<std::int64_t>{0, 0}));
}

TEST(DynamicResources, TurnsPodsWithClaimsAway) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.name = "p", .resource_claims = {"gpu"}}, k_nodes);
  EXPECT_EQ(attempt.pre_filter(), (Outcome{BERTH_UNRESOLVABLE, "resource claims of pods are not supported yet"}));
}

TEST(DynamicResources, FailsLaterPointsWithoutPreFilter) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.name = "p"}, k_nodes);
  const auto outcome = [](auto&& call) {
    try {
      call();
    } catch (const CallError& e) {
      return e.outcome;
    }
    return Outcome{};
  };
  EXPECT_EQ(outcome([&] { attempt.filter(); }), (Outcome{BERTH_ERROR, "not found"}));
  EXPECT_EQ(outcome([&] { attempt.score(); }), (Outcome{BERTH_ERROR, "not found"}));
}

}  // namespace
