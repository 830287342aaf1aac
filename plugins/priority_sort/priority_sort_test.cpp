// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

#include <limits>

namespace {
using namespace berth::testkit;

bool before(std::int64_t priority_a, std::int64_t enqueued_a, std::int64_t priority_b, std::int64_t enqueued_b) {
  Policy policy(tested_library());
  return policy.queue_key({.priority = priority_a}, enqueued_a) <
         policy.queue_key({.priority = priority_b}, enqueued_b);
}

TEST(PrioritySort, PutsHigherPriorityFirst) {
  EXPECT_TRUE(before(10, 5, 9, 1));
  EXPECT_FALSE(before(9, 1, 10, 5));
  EXPECT_TRUE(before(0, 5, -1, 1));
  EXPECT_TRUE(before(-1, 5, -2, 1));
}

TEST(PrioritySort, PutsTheEarlierFirstAmongEquals) {
  EXPECT_TRUE(before(7, 1, 7, 2));
  EXPECT_FALSE(before(7, 2, 7, 1));
  EXPECT_FALSE(before(7, 2, 7, 2)) << "equal pods have no order";
  EXPECT_TRUE(before(7, -1, 7, 0));
}

TEST(PrioritySort, OrdersTheExtremes) {
  constexpr std::int64_t k_max = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t k_min = std::numeric_limits<std::int32_t>::min();
  EXPECT_TRUE(before(k_max, 0, k_max - 1, 0));
  EXPECT_TRUE(before(k_max, 0, k_min, 0));
  EXPECT_TRUE(before(2000001000, std::numeric_limits<std::int64_t>::max(), 2000000000, 0)) << "system-node-critical";
}

}  // namespace
