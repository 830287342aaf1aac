// SPDX-License-Identifier: Apache-2.0
#include "app/live/cycle_clock.hpp"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

using std::chrono::milliseconds;
constexpr std::int64_t k_ms = 1'000'000;

TEST(CycleClock, IsZeroBetweenDecisions) {
  ManualClock clock;
  CycleClock cycle(clock);
  clock.advance(milliseconds(5));
  EXPECT_EQ(cycle.age_ns(), 0);
  cycle.begin();
  clock.advance(milliseconds(5));
  EXPECT_EQ(cycle.age_ns(), 5 * k_ms);
  cycle.end();
  EXPECT_EQ(cycle.age_ns(), 0);
}

TEST(CycleClock, WaitsForExtendersDoNotCount) {
  ManualClock clock;
  CycleClock cycle(clock);
  cycle.begin();
  clock.advance(milliseconds(3));
  cycle.wait(true);
  clock.advance(milliseconds(1000));
  EXPECT_EQ(cycle.age_ns(), 3 * k_ms) << "while it waits";
  cycle.wait(false);
  EXPECT_EQ(cycle.age_ns(), 3 * k_ms);
  clock.advance(milliseconds(2));
  cycle.wait(true);
  clock.advance(milliseconds(500));
  cycle.wait(false);
  clock.advance(milliseconds(1));
  EXPECT_EQ(cycle.age_ns(), 6 * k_ms);
}

TEST(CycleClock, EachDecisionStartsFromZero) {
  ManualClock clock;
  CycleClock cycle(clock);
  cycle.begin();
  cycle.wait(true);
  clock.advance(milliseconds(10));
  cycle.wait(false);
  cycle.end();
  cycle.begin();
  clock.advance(milliseconds(4));
  EXPECT_EQ(cycle.age_ns(), 4 * k_ms);
}

}  // namespace
}  // namespace berth::app
