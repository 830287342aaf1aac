// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

TEST(SchedulingGates, LetsPodsWithoutGatesThrough) {
  Policy policy(tested_library());
  EXPECT_EQ(policy.pre_enqueue({}), Outcome{});
}

TEST(SchedulingGates, NamesTheGatesInTheirOrder) {
  Policy policy(tested_library());
  EXPECT_EQ(policy.pre_enqueue({.gates = {"foo"}}),
            (Outcome{BERTH_UNRESOLVABLE, "waiting for scheduling gates: [foo]"}));
  EXPECT_EQ(policy.pre_enqueue({.gates = {"g2", "example.com/g1"}}),
            (Outcome{BERTH_UNRESOLVABLE, "waiting for scheduling gates: [g2 example.com/g1]"}));
}

TEST(SchedulingGates, WakesThePodWhoseGatesAreGone) {
  Policy policy(tested_library());
  const auto wakes = [&](std::uint32_t actions, const char* changed) {
    return policy.wakes({.kind = BERTH_KIND_POD,
                         .actions = actions,
                         .old_pod = PodSpec{.name = changed, .gates = {"g"}},
                         .new_pod = PodSpec{.name = changed}},
                        {.name = "p", .gates = {"g"}});
  };
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "p"));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "q")) << "another pod";
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_POD_LABEL, "p"));
}

}  // namespace
