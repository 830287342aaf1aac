// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

TEST(LeftoverFlush, MovesAPodAtTheFirstScanAfterFiveMinutes) {
  QueueFixture f;
  f.queue->flush();  // the first scan runs at start
  f.clock.advance(7s);
  f.add("p");
  f.fail("p", rejected_by({k_deaf}));
  // Rejected at 7 s: more than five minutes old from 307 s on; scans are at multiples of 30 s.
  EXPECT_EQ(f.queue->next_leftover_ns(), 330'000'000'000);
  EXPECT_EQ(f.queue->leftover_limit_ns(), 330'000'000'000);
  EXPECT_EQ(f.queue->next_wakeup_ns(), 330'000'000'000);
  for (int scan = 1; scan <= 10; ++scan) {
    f.clock.advance(std::chrono::nanoseconds(scan * 30'000'000'000 - f.clock.monotonic_ns()));
    f.queue->flush();
    EXPECT_EQ(f.place("p"), Place::unschedulable) << scan;
  }
  f.clock.advance(30s);
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::active);
  EXPECT_EQ(f.incoming("UnschedulableTimeout").active, 1U);
}

TEST(LeftoverFlush, IsRememberedUntilTheAttemptFails) {
  QueueFixture f;
  f.add("p");
  f.add("q");
  for (const char* name : {"p", "q"}) {
    Ticket ticket = f.pop(name);
    EXPECT_FALSE(ticket.after_flush());
    ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_taints}), nullptr).ok());
  }
  f.clock.advance(6min);
  f.queue->flush();
  EXPECT_TRUE(f.pop("p").after_flush());  // dropped: as after an error
  Ticket ticket = f.pop("q");
  EXPECT_TRUE(ticket.after_flush());
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_taints}), nullptr).ok());
  f.queue->move_all(ClusterEvent{EventResource::node, actions::update_node_taint, {}}, {});
  f.clock.advance(1min);
  f.queue->flush();
  for (const char* name : {"p", "q"}) EXPECT_FALSE(f.pop(name).after_flush()) << name;
}

TEST(LeftoverFlush, NeedsMoreThanFiveMinutes) {
  QueueFixture f;
  f.queue->flush();
  f.add("p");
  f.fail("p", rejected_by({k_deaf}));
  f.clock.advance(5min);
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::unschedulable) << "exactly five minutes";
  EXPECT_EQ(f.queue->next_leftover_ns(), 330'000'000'000);
}

TEST(LeftoverFlush, IsAnEventForPodsInFlight) {
  QueueFixture f;
  f.add("old");
  f.fail("old", rejected_by({k_deaf}));
  f.add("p");
  Ticket ticket = f.pop("p");
  f.clock.advance(6min);
  f.queue->flush();
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_deaf}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
}

TEST(Wakeup, IsTheEarlierOfBackoffAndLeftovers) {
  QueueFixture f(100.25);
  EXPECT_FALSE(f.queue->next_wakeup_ns().has_value());
  f.add("waits");
  f.fail("waits", rejected_by({k_deaf}));
  f.add("fails");
  f.fail("fails", {});
  EXPECT_EQ(f.queue->next_wakeup_ns(), 1'750'000'000);  // 102.0 on the wall
  f.clock.advance(std::chrono::nanoseconds(*f.queue->next_wakeup_ns()));
  f.queue->flush();
  EXPECT_EQ(f.pop_name(), "fails");
  ASSERT_TRUE(f.queue->next_wakeup_ns().has_value());
  f.clock.advance(std::chrono::nanoseconds(*f.queue->next_wakeup_ns() - f.clock.monotonic_ns()));
  f.queue->flush();
  EXPECT_EQ(f.pop_name(), "waits");
  EXPECT_FALSE(f.queue->next_wakeup_ns().has_value());
}

TEST(RejectorCounts, FollowThePod) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  EXPECT_EQ(f.waiting_for(k_fit), 0);
  f.fail("p", rejected_by({k_fit, k_affinity}));
  EXPECT_EQ(f.waiting_for(k_fit), 1);
  EXPECT_EQ(f.waiting_for(k_affinity), 1);
  f.queue->activate(std::vector<PodPtr>{pod});
  EXPECT_EQ(f.waiting_for(k_fit), 1);
  Ticket ticket = f.pop("p");
  EXPECT_EQ(f.waiting_for(k_fit), 0);
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_fit}), nullptr).ok());
  f.queue->remove(*pod);
  EXPECT_EQ(f.waiting_for(k_fit), 0);
}

TEST(WaitPop, ReturnsWhatAnotherThreadAdds) {
  SystemClock clock;
  FakePolicy policy;
  SchedulingQueue queue(
      {}, HintTable(), policy, [](const model::Pod&) { return nullptr; }, clock);
  std::vector<std::string> popped;
  std::thread popper([&] {
    while (std::optional<Ticket> ticket = queue.wait_pop()) {
      popped.push_back(ticket->pod()->name);
      queue.done(std::move(*ticket));
    }
  });
  for (int i = 0; i < 100; ++i) queue.add(make_pod("p" + std::to_string(i)));
  queue.close();
  popper.join();
  EXPECT_EQ(popped.size(), 100U);
}

}  // namespace
}  // namespace berth::queue::testing
