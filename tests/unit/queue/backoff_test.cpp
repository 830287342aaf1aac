// SPDX-License-Identifier: Apache-2.0
#include "queue/rules/backoff.hpp"

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

constexpr std::int64_t k_s = backoff::k_second_ns;

TEST(BackoffDuration, DoublesUpToTheMaximum) {
  const std::int64_t want_s[] = {0, 1, 2, 4, 8, 10, 10};
  for (std::uint32_t count = 0; count < 7; ++count)
    EXPECT_EQ(backoff::duration_ns(count, k_s, 10 * k_s), want_s[count] * k_s) << count;
  EXPECT_EQ(backoff::duration_ns(1000, k_s, 10 * k_s), 10 * k_s);
}

TEST(BackoffDuration, IsNothingWhenTheMaximumIsZero) { EXPECT_EQ(backoff::duration_ns(3, k_s, 0), 0); }

TEST(BackoffExpiry, LastsUntilTheWholeSecondHasPassed) {
  EXPECT_TRUE(backoff::backing_off(101 * k_s, 101 * k_s + 999'999'999, true));
  EXPECT_FALSE(backoff::backing_off(101 * k_s, 102 * k_s, true));
  EXPECT_TRUE(backoff::backing_off(101 * k_s, 101 * k_s, false));
  EXPECT_FALSE(backoff::backing_off(101 * k_s, 101 * k_s + 1, false));
}

struct Leaving {
  double failed_at_s;
  int failures;
  std::int64_t expiry_s;
  std::int64_t leaves_at_s;
};

class BackoffTable : public ::testing::TestWithParam<Leaving> {};

// A pod fails `failures` times by errors, the last time at failed_at_s, and is watched leaving its back-off.
TEST_P(BackoffTable, LeavesAtTheStatedSecond) {
  const Leaving& row = GetParam();
  QueueFixture f(50.0);
  f.add("p");
  for (int i = 1; i < row.failures; ++i) {
    f.fail("p", {});
    f.clock.advance(12s);
    f.queue->flush();
  }
  f.clock.advance(std::chrono::nanoseconds(static_cast<std::int64_t>(row.failed_at_s * 1e9) - f.queue->now_ns()));
  f.fail("p", {});
  EXPECT_EQ(f.find("p").backoff_until_ns, row.expiry_s * k_s);
  ASSERT_EQ(f.queue->next_backoff_ns(), row.leaves_at_s * k_s - (f.queue->now_ns() - f.clock.monotonic_ns()));
  f.clock.advance(std::chrono::nanoseconds(row.leaves_at_s * k_s - 1 - f.queue->now_ns()));
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::error_backoff);
  f.clock.advance(1ns);
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::active);
}

INSTANTIATE_TEST_SUITE_P(WholeSeconds, BackoffTable,
                         ::testing::Values(Leaving{100.3, 1, 101, 102}, Leaving{100.0, 1, 101, 102},
                                           Leaving{100.9, 2, 102, 103}, Leaving{150.5, 5, 160, 161}));

TEST(BackoffCounts, ErrorsAndRejectionsAreCountedApart) {
  // Rejected, error, error, rejected: waits of 1, 1, 2 and 2 seconds.
  QueueFixture f(100.0);
  f.add("p");
  const Rejectors rejected = rejected_by({k_affinity}), error{};
  const Rejectors* results[] = {&rejected, &error, &error, &rejected};
  const std::int64_t waits_s[] = {1, 1, 2, 2};
  for (int i = 0; i < 4; ++i) {
    Ticket ticket = f.pop("p");
    const std::int64_t at_ns = f.queue->now_ns();
    ASSERT_TRUE(f.queue->requeue(std::move(ticket), *results[i], nullptr).ok());
    EXPECT_EQ(f.find("p").backoff_until_ns, at_ns + waits_s[i] * k_s) << i;
    f.queue->move_all(k_node_label, {});
    f.clock.advance(4s);
    f.queue->flush();
  }
}

TEST(BackoffQueue, ReleasesInOrderOfExpiry) {
  QueueFixture f(100.0);
  f.add("late", 10);
  f.clock.advance(1ms);
  f.add("early", 0);
  Ticket late = f.pop("late"), early = f.pop("early");
  ASSERT_TRUE(f.queue->requeue(std::move(early), {}, nullptr).ok());
  f.clock.advance(1s);
  ASSERT_TRUE(f.queue->requeue(std::move(late), {}, nullptr).ok());
  f.clock.advance(1s);
  f.queue->flush();
  EXPECT_EQ(f.place("early"), Place::active);
  EXPECT_EQ(f.place("late"), Place::error_backoff);
}

TEST(BackoffQueue, AnIdleSchedulerTakesRejectedPodsOutOfTheirBackoff) {
  QueueFixture f;
  f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->move_all(k_node_label, {});  // missed while in flight
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.pop_name(), "p");
  EXPECT_EQ(f.incoming("PopFromBackoffQ").active, 1U);
}

TEST(BackoffQueue, AnIdleSchedulerLeavesFailedPodsInTheirBackoff) {
  QueueFixture f;
  f.add("p");
  f.fail("p", {});
  EXPECT_EQ(f.place("p"), Place::error_backoff);
  EXPECT_FALSE(f.queue->pop().has_value());
}

TEST(BackoffQueue, EqualExpiryIsBrokenByTheOrderOfTheQueue) {
  QueueFixture f;
  f.add("a", 1);
  f.add("b", 2);
  Ticket b = f.pop("b"), a = f.pop("a");
  f.queue->move_all(k_node_label, {});
  ASSERT_TRUE(f.queue->requeue(std::move(a), rejected_by({k_affinity}), nullptr).ok());
  ASSERT_TRUE(f.queue->requeue(std::move(b), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.pop_name(), "b");
  EXPECT_EQ(f.pop_name(), "a");
}

TEST(BackoffQueue, KeepsItsPodsWithoutEarlyPopWhenToldSo) {
  QueueOptions options;
  options.pops_from_backoff = false;
  QueueFixture f(100.5, options);
  f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->move_all(k_node_label, {});
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.find("p").backoff_until_ns, 101'500'000'000);  // not aligned
  EXPECT_FALSE(f.queue->pop().has_value());
  f.clock.advance(1s + 1ns);
  f.queue->flush();
  EXPECT_EQ(f.pop_name(), "p");
}

TEST(BackoffQueue, AMaximumOfZeroDisablesIt) {
  QueueOptions options;
  options.backoff_max_ns = 0;
  QueueFixture f(100.0, options);
  f.add("p");
  f.fail("p", {});
  EXPECT_EQ(f.place("p"), Place::active);
}

}  // namespace
}  // namespace berth::queue::testing
