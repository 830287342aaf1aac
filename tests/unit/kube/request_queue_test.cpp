// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http_session.hpp"

namespace berth::net {
namespace {

using std::chrono::milliseconds;

/// Requests with their priority as the name of the target; one comes each millisecond.
struct Line {
  void add(std::int32_t priority) {
    Request request;
    request.priority = priority;
    request.target = std::to_string(priority);
    queue.add(++number, {start + milliseconds(number), std::move(request)});
  }
  std::string take(milliseconds after_start) {
    return queue.take(start + after_start, milliseconds(5'000)).second.request.target;
  }

  const RequestQueue::TimePoint start{};
  std::uint64_t number = 0;
  RequestQueue queue;
};

TEST(RequestQueue, HigherPrioritiesGoFirstAndEqualOnesAsTheyCame) {
  Line line;
  for (const std::int32_t priority : {0, -10, 2'000'000'000, 0, 7, -2'147'483'647 - 1}) line.add(priority);
  std::vector<std::uint64_t> order;
  while (!line.queue.empty()) order.push_back(line.queue.take(line.start, milliseconds(5'000)).first);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 5, 1, 4, 2, 6}));
}

TEST(RequestQueue, OneInTenIsTheOldestOnceThatHasWaitedForLong) {
  Line line;
  for (int i = 0; i < 3; ++i) line.add(0);
  int low = 0;
  const auto take_with_a_flow_of_high_ones = [&](int count, milliseconds at) {
    for (int i = 0; i < count; ++i) {
      line.add(100);
      low += line.take(at) == "0" ? 1 : 0;
    }
  };
  take_with_a_flow_of_high_ones(1'000, milliseconds(4'000));
  EXPECT_EQ(low, 0) << "they have not waited for long";
  take_with_a_flow_of_high_ones(10, milliseconds(6'000));
  EXPECT_EQ(low, 1);
  take_with_a_flow_of_high_ones(20, milliseconds(6'000));
  EXPECT_EQ(low, 3) << "none waits for ever";
}

TEST(RequestQueue, WhatIsTakenOutGoesNoMore) {
  Line line;
  line.add(5);
  line.add(1);
  EXPECT_EQ(line.queue.remove(1)->request.target, "5");
  EXPECT_FALSE(line.queue.remove(1).has_value());
  EXPECT_EQ(line.take(milliseconds(0)), "1");
  EXPECT_TRUE(line.queue.empty());
}

}  // namespace
}  // namespace berth::net
