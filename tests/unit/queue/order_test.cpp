// SPDX-License-Identifier: Apache-2.0
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

class ActiveOrder : public ::testing::TestWithParam<bool> {};  // by key, by callback

TEST_P(ActiveOrder, IsPriorityThenTimeThenArrival) {
  QueueFixture f(100.0, {}, GetParam());
  f.add("low", -5);
  f.add("first");
  f.add("second");
  f.clock.advance(1ns);
  f.add("later");
  f.add("urgent", 2'000'000'000);
  for (const char* name : {"urgent", "first", "second", "later", "low"}) EXPECT_EQ(f.pop_name(), name);
  EXPECT_EQ(f.pop_name(), "");
}

TEST_P(ActiveOrder, FollowsAChangedPriority) {
  QueueFixture f(100.0, {}, GetParam());
  f.add("a", 1);
  const PodPtr b = f.add("b", 0);
  auto raised = make_pod("b", 7);
  const ClusterEvent events[] = {k_pod_update};
  f.queue->update(b, raised, events);
  EXPECT_EQ(f.pop_name(), "b");
  EXPECT_EQ(f.pop_name(), "a");
}

TEST_P(ActiveOrder, SurvivesManyRemovalsAndReplacements) {
  QueueFixture f(100.0, {}, GetParam());
  std::vector<PodPtr> pods;
  for (int i = 0; i < 500; ++i) pods.push_back(f.add("p" + std::to_string(i), i % 7));
  for (int i = 0; i < 500; ++i)
    if (i % 5 != 0) f.queue->remove(*pods[static_cast<std::size_t>(i)]);
  std::int32_t last = 100;
  int popped = 0;
  while (std::optional<Ticket> ticket = f.queue->pop()) {
    EXPECT_LE(ticket->pod()->priority, last);
    last = ticket->pod()->priority;
    ++popped;
    f.queue->done(std::move(*ticket));
  }
  EXPECT_EQ(popped, 100);
}

INSTANTIATE_TEST_SUITE_P(ByKeyAndByCallback, ActiveOrder, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "Key" : "Callback"; });

TEST(ActiveQueue, HoldsOnePodPerName) {
  QueueFixture f;
  f.add("p");
  auto recreated = make_pod("p");
  recreated->uid = "uid-p-again";
  f.add(recreated);
  Ticket ticket = f.pop("p");
  EXPECT_EQ(ticket.pod()->uid, "uid-p-again");
  EXPECT_FALSE(f.queue->pop().has_value());
  f.queue->done(std::move(ticket));
}

TEST(ActiveQueue, APodAddedAgainWhileInFlightIsDroppedWhenItsTurnComes) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->add(pod);
  EXPECT_FALSE(f.queue->pop().has_value());
  EXPECT_EQ(f.queue->sizes().active, 0U);
  f.queue->done(std::move(ticket));
}

TEST(ActiveQueue, CountsPopsAsAttempts) {
  QueueFixture f;
  f.add("p");
  EXPECT_EQ(f.pop("p").attempts(), 1U);  // dropped: comes back as after an error
  f.clock.advance(2s);
  f.queue->flush();
  Ticket again = f.pop("p");
  EXPECT_EQ(again.attempts(), 2U);
  EXPECT_EQ(f.queue->counts().pops, 2U);
  f.queue->done(std::move(again));
}

TEST(ActiveQueue, AnUpdateOfAnUnknownPodAddsIt) {
  QueueFixture f;
  const PodPtr pod = make_pod("p");
  f.queue->update(pod, pod, {});
  EXPECT_EQ(f.incoming("UnschedulablePodUpdate").active, 1U);
  EXPECT_EQ(f.pop_name(), "p");
}

TEST(ActiveQueue, HandsOutWhatIsReadyAfterClose) {
  QueueFixture f;
  f.add("p");
  f.queue->close();
  std::optional<Ticket> ticket = f.queue->wait_pop();
  ASSERT_TRUE(ticket.has_value());
  f.queue->done(std::move(*ticket));
  EXPECT_FALSE(f.queue->wait_pop().has_value());
}

}  // namespace
}  // namespace berth::queue::testing
