// SPDX-License-Identifier: Apache-2.0
#include "queue/in_flight_log.hpp"

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

TEST(InFlightLog, AFailedPodSeesTheEventsAfterItsPop) {
  QueueFixture f;
  f.add("a");
  f.add("b");
  Ticket a = f.pop("a");
  f.queue->move_all(k_node_label, {});
  Ticket b = f.pop("b");
  f.queue->move_all(k_assigned_pod_delete, {});
  EXPECT_EQ(f.queue->sizes().logged_events, 2U);

  // b was popped after the label event: only the deletion counts for it.
  ASSERT_TRUE(f.queue->requeue(std::move(b), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("b"), Place::unschedulable);
  ASSERT_TRUE(f.queue->requeue(std::move(a), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("a"), Place::backoff);
  EXPECT_EQ(f.queue->sizes().logged_events, 0U);
}

TEST(InFlightLog, KeepsOnlyWhatTheOldestPodStillNeeds) {
  QueueFixture f;
  f.add("a");
  f.add("b");
  Ticket a = f.pop("a");
  f.queue->move_all(k_node_label, {});
  Ticket b = f.pop("b");
  f.queue->move_all(k_node_taint, {});
  f.queue->done(std::move(a));
  EXPECT_EQ(f.queue->sizes().logged_events, 1U);
  EXPECT_EQ(f.incoming("NodeUpdateNodeLabel").logged, 0);
  EXPECT_EQ(f.incoming("NodeUpdateNodeTaint").logged, 1);
  EXPECT_EQ(f.incoming("PodPopped").logged, 1);
  f.queue->done(std::move(b));
  EXPECT_EQ(f.queue->sizes().logged_events, 0U);
  EXPECT_EQ(f.queue->sizes().in_flight, 0U);
}

TEST(InFlightLog, RecordsNothingWithoutPodsInFlightAndNoEventWithoutAHint) {
  QueueFixture f;
  f.queue->move_all(k_node_label, {});
  EXPECT_EQ(f.queue->sizes().logged_events, 0U);
  f.add("a");
  Ticket a = f.pop("a");
  f.queue->move_all({EventResource::csi_driver, actions::add, {}}, {});
  EXPECT_EQ(f.queue->sizes().logged_events, 0U);
  f.queue->done(std::move(a));
}

TEST(InFlightLog, AnUpdateOfAPodInFlightIsAnEventForIt) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  Ticket ticket = f.pop("p");
  auto changed = make_pod("p", 3);
  const ClusterEvent events[] = {k_gates_gone};
  f.queue->update(pod, changed, events);
  EXPECT_EQ(ticket.pod(), pod) << "the attempt goes on with the pod it started with";
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_gates}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.find("p").pod, changed);
}

TEST(InFlightLog, AnActivationInFlightIsMeantForThatPodOnly) {
  QueueFixture f;
  const PodPtr p = f.add("p");
  f.add("q");
  Ticket ticket_p = f.pop("p"), ticket_q = f.pop("q");
  f.queue->activate(std::vector<PodPtr>{p});
  ASSERT_TRUE(f.queue->requeue(std::move(ticket_q), rejected_by({k_affinity}), nullptr).ok());
  ASSERT_TRUE(f.queue->requeue(std::move(ticket_p), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("q"), Place::unschedulable);
  EXPECT_EQ(f.place("p"), Place::backoff);
}

TEST(InFlightLog, APreCheckIsForgotten) {
  QueueFixture f;
  f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->move_all(k_assigned_pod_delete, {}, [](const model::Pod&) { return false; });
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_fit}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
}

TEST(InFlightLog, AClosedLogCountsAsHavingMissedSomething) {
  QueueFixture f;
  f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->close_log(ticket);
  EXPECT_EQ(f.queue->sizes().in_flight, 0U);
  ASSERT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_affinity}), nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::backoff);
}

TEST(InFlightLog, IsBoundedAndPodsWhoseEventsWereDroppedAreRetriedAfterTheirBackoff) {
  QueueFixture f;
  f.add("old");
  Ticket old = f.pop("old");
  for (std::size_t i = 0; i < InFlightLog::k_events_max; ++i) f.queue->move_all(k_node_label, {});
  f.add("young");
  Ticket young = f.pop("young");
  f.queue->move_all(k_node_label, {});
  EXPECT_EQ(f.queue->sizes().logged_events, InFlightLog::k_events_max);
  // None of these events concerns a pod rejected by taints, but what the dropped one was is unknown.
  ASSERT_TRUE(f.queue->requeue(std::move(young), rejected_by({k_taints}), nullptr).ok());
  EXPECT_EQ(f.place("young"), Place::unschedulable);
  ASSERT_TRUE(f.queue->requeue(std::move(old), rejected_by({k_taints}), nullptr).ok());
  EXPECT_EQ(f.place("old"), Place::backoff);
  EXPECT_EQ(f.queue->sizes().logged_events, 0U);
}

TEST(InFlightLog, KeepsNoMoreBytesOfObjectsThanItsBudget) {
  QueueFixture f;
  f.add("old");
  Ticket old = f.pop("old");
  const auto node = std::make_shared<model::Node>();
  node->name = "n";
  node->labels.resize(100'000, {1, 1});  // 800 kB
  EventObjects objects;
  objects.new_node = node;
  const std::size_t fit = InFlightLog::k_bytes_max / (node->labels.capacity() * sizeof(model::Label));
  for (std::size_t i = 0; i < 2 * fit; ++i) f.queue->move_all(k_node_label, objects);
  EXPECT_LE(f.queue->sizes().logged_bytes, InFlightLog::k_bytes_max);
  EXPECT_GT(f.queue->sizes().logged_events, fit / 2);
  EXPECT_LE(f.queue->sizes().logged_events, fit);
  ASSERT_TRUE(f.queue->requeue(std::move(old), rejected_by({k_taints}), nullptr).ok());
  EXPECT_EQ(f.place("old"), Place::backoff) << "what the dropped events were is not known";
  EXPECT_EQ(f.queue->sizes().logged_bytes, 0U);
}

TEST(InFlightLog, AMissedEventThatQueuesAtOnceWinsOverAnEarlierOneThatBacksOff) {
  QueueFixture f;
  f.add("p");
  Ticket ticket = f.pop("p");
  f.queue->move_all(k_node_label, {});
  f.queue->move_all(k_claim_add, {});
  ASSERT_TRUE(
      f.queue->requeue(std::move(ticket), {plugins({k_affinity, k_claims}), plugins({k_claims})}, nullptr).ok());
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(Requeue, IsRefusedWhenThePodIsQueuedAlready) {
  struct Case {
    const char* message;
    std::function<void(QueueFixture&)> arrange;
  };
  const Case cases[] = {
      {"Pod default/p is already present in the active queue", [](QueueFixture&) {}},
      {"Pod default/p is already present in the backoff queue",
       [](QueueFixture& f) {
         Ticket twin = f.pop("p");
         ASSERT_TRUE(f.queue->requeue(std::move(twin), {}, nullptr).ok());
       }},
      {"Pod default/p is already present in unschedulable queue",
       [](QueueFixture& f) {
         Ticket twin = f.pop("p");
         ASSERT_TRUE(f.queue->requeue(std::move(twin), rejected_by({k_fit}), nullptr).ok());
       }},
  };
  for (const Case& c : cases) {
    QueueFixture f;
    f.add("p");
    Ticket ticket = f.pop("p");
    auto recreated = make_pod("p");
    recreated->uid = "uid-p-again";
    f.add(recreated);
    c.arrange(f);
    const Status status = f.queue->requeue(std::move(ticket), {}, nullptr);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, c.message);
    EXPECT_EQ(f.queue->pending_pods().size(), 1U);
  }
}

TEST(TicketEnd, DroppingItRetriesThePodAsAfterAnError) {
  QueueFixture f;
  f.add("p");
  { const Ticket ticket = f.pop("p"); }
  EXPECT_EQ(f.place("p"), Place::error_backoff);
  EXPECT_EQ(f.find("p").error_count, 1U);
}

TEST(TicketEnd, DroppingItLetsADeletedPodGo) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  {
    const Ticket ticket = f.pop("p");
    f.queue->remove(*pod);
    EXPECT_EQ(f.place("p"), Place::in_flight);
  }
  EXPECT_TRUE(f.queue->pending_pods().empty());
}

TEST(TicketEnd, AssigningOverItDecidesTheFormerPod) {
  QueueFixture f;
  f.add("a");
  f.add("b");
  Ticket ticket = f.pop("a");
  ticket = f.pop("b");
  EXPECT_EQ(f.place("a"), Place::error_backoff);
  EXPECT_EQ(ticket.pod()->name, "b");
  f.queue->done(std::move(ticket));
  EXPECT_FALSE(ticket);  // NOLINT(bugprone-use-after-move): empty by contract
}

}  // namespace
}  // namespace berth::queue::testing
