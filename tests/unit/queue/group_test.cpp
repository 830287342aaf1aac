// SPDX-License-Identifier: Apache-2.0
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

using Names = std::vector<std::string>;

std::shared_ptr<model::Pod> member(const std::string& name, const std::string& group, std::int32_t priority = 0) {
  auto pod = make_pod(name, priority);
  pod->spec.edit().group = group;
  return pod;
}

/// Pops the first pod and its group; the tickets stay with the caller.
std::vector<Ticket> pop_group(QueueFixture& f) {
  std::optional<Ticket> first = f.queue->pop();
  EXPECT_TRUE(first.has_value());
  return f.queue->pop_group(std::move(*first));
}
Names names(const std::vector<Ticket>& tickets) {
  Names found;
  for (const Ticket& ticket : tickets) found.push_back(ticket.pod()->name);
  return found;
}
void finish(QueueFixture& f, std::vector<Ticket> tickets) {
  for (Ticket& ticket : tickets) f.queue->done(std::move(ticket));
}

TEST(PopGroup, TakesMembersFromEverywhereInTheOrderOfTheQueue) {
  QueueFixture f;
  f.add(member("rejected", "g"));
  EXPECT_TRUE(f.queue->requeue(f.pop("rejected"), rejected_by({k_fit}), nullptr).ok());
  f.add(member("failed", "g"));
  EXPECT_TRUE(f.queue->requeue(f.pop("failed"), {}, nullptr).ok());
  f.clock.advance(100ms);
  f.add(member("late", "g"));
  f.add(member("urgent", "g", 5));
  f.add(member("other", "h", 3));
  f.add("plain", 2);
  std::vector<Ticket> tickets = pop_group(f);
  EXPECT_EQ(names(tickets), (Names{"urgent", "rejected", "failed", "late"}));
  EXPECT_EQ(tickets[1].attempts(), 2u);
  EXPECT_EQ(tickets[0].group(), "g");
  finish(f, std::move(tickets));
  EXPECT_EQ(f.pop_name(), "other");
  EXPECT_EQ(f.pop_name(), "plain");
}

TEST(UnknownGroup, GatesThePodUntilTheGroupIsKnown) {
  QueueFixture f;
  f.policy.group_unknown_of = {"p"};
  const PodPtr before = f.add(member("p", "g"));
  EXPECT_TRUE(f.find("p").gated());
  EXPECT_FALSE(f.queue->pop().has_value()) << "it does not go by itself";
  const PodPtr still = member("p", "h");
  f.queue->update(before, still, {});
  f.queue->move_all(k_claim_add, {});  // of which the gate wants to hear
  EXPECT_TRUE(f.find("p").gated());
  f.policy.group_unknown_of.clear();
  const ClusterEvent no_gate_hears[] = {{EventResource::unschedulable_pod, actions::update_pod_label, {}}};
  f.queue->update(still, member("p", "i"), no_gate_hears);
  EXPECT_EQ(f.pop("p").group(), "i");
}

TEST(UnknownGroup, IsResolvedWhileOtherGatesHoldThePod) {
  QueueFixture f;
  f.policy.group_unknown_of = f.policy.closed_for = {"p"};
  const PodPtr before = f.add(member("p", "g"));
  EXPECT_EQ(f.find("p").gate_message, "no group is known");
  f.policy.group_unknown_of.clear();
  f.queue->update(before, member("p", "h"), {});
  EXPECT_EQ(f.find("p").gate_message, "waiting for a claim");
  f.policy.closed_for.clear();
  f.queue->move_all(k_claim_add, {});
  EXPECT_EQ(f.pop("p").group(), "h");
}

TEST(UnknownGroup, IsAskedForOncePerVersionOfThePod) {
  QueueFixture f;
  f.policy.group_unknown_of = {"p"};
  const PodPtr before = f.add(member("p", "g"));
  EXPECT_EQ(f.policy.group_asks, 1);
  f.queue->move_all(k_claim_add, {});
  f.clock.advance(10min);
  f.queue->flush();
  f.queue->activate(std::vector<PodPtr>{before});
  EXPECT_EQ(f.policy.group_asks, 1) << "the answer is a matter of the pod alone";
  EXPECT_TRUE(f.find("p").gated());
  f.queue->update(before, member("p", "h"), {});
  EXPECT_EQ(f.policy.group_asks, 2);
}

TEST(UnknownGroup, TakesAPodBackThatWasReady) {
  QueueFixture f;
  const PodPtr before = f.add(member("p", "g"));
  f.policy.group_unknown_of = {"p"};
  f.queue->update(before, member("p", "h"), {});
  EXPECT_TRUE(f.find("p").gated());
  EXPECT_FALSE(f.queue->pop().has_value());
}

TEST(PopGroup, LeavesOutMembersThatAreGatedOrInFlight) {
  QueueFixture f;
  auto gated = member("gated", "g");
  gated->spec.edit().gates = {"later"};
  f.add(gated);
  f.add(member("flying", "g"));
  Ticket flying = f.pop("flying");
  f.add(member("ready", "g"));
  std::vector<Ticket> tickets = pop_group(f);
  EXPECT_EQ(names(tickets), Names{"ready"});
  finish(f, std::move(tickets));
  f.queue->done(std::move(flying));
}

TEST(PopGroup, LeavesOutMembersThatWereDeletedOrJoinedAnotherGroup) {
  QueueFixture f;
  const PodPtr gone = f.add(member("gone", "g"));
  const PodPtr moved = f.add(member("moved", "g"));
  f.add(member("stays", "g"));
  f.queue->remove(*gone);
  const ClusterEvent events[] = {k_pod_update};
  f.queue->update(moved, member("moved", "h"), events);
  std::vector<Ticket> tickets = pop_group(f);
  EXPECT_EQ(names(tickets), Names{"moved"});
  finish(f, std::move(tickets));
  tickets = pop_group(f);
  EXPECT_EQ(names(tickets), Names{"stays"});
  finish(f, std::move(tickets));
}

TEST(PopGroup, SeesWhatHappenedWhileAMemberWasInFlight) {
  QueueFixture f;
  f.add(member("a", "g"));
  f.add(member("b", "g"));
  std::vector<Ticket> tickets = pop_group(f);
  f.queue->move_all(k_assigned_pod_delete, {});
  for (Ticket& ticket : tickets) EXPECT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_fit}), nullptr).ok());
  EXPECT_EQ(f.queue->sizes().backoff, 2u);
}

/// A key of priority alone, names for equal keys.
class NamePolicy final : public QueuePolicy {
 public:
  bool ordered_by_key() const override { return false; }
  OrderKey key(const model::QueuedPod& pod) override {
    return {{~static_cast<std::uint64_t>(std::int64_t{pod.pod->priority}), 0, 0, 0}};
  }
  bool before(const model::QueuedPod& a, const model::QueuedPod& b) override {
    EXPECT_EQ(a.pod->priority, b.pod->priority) << "equal keys only";
    return a.pod->name < b.pod->name;
  }
  std::optional<Gate> pre_enqueue(const model::QueuedPod&, PluginIndex) override { return std::nullopt; }
  std::uint64_t classify(const model::Pod&) override { return 0; }
};

TEST(OrderWithKeyAndCallback, AsksTheCallbackAboutEqualKeys) {
  ManualClock clock(1'000'000'000);
  NamePolicy policy;
  SchedulingQueue queue(
      {}, HintTable(std::vector<ProfileHints>{}), policy, [](const model::Pod&) { return PodPtr(); }, clock);
  for (const auto& [name, priority] :
       std::vector<std::pair<std::string, int>>{{"g-2", 0}, {"z", 1}, {"g-10", 0}, {"a", 0}})
    queue.add(make_pod(name, priority));
  for (const char* name : {"z", "a", "g-10", "g-2"}) {
    std::optional<Ticket> ticket = queue.pop();
    ASSERT_TRUE(ticket.has_value());
    EXPECT_EQ(ticket->pod()->name, name);
    queue.done(std::move(*ticket));
  }
}

}  // namespace
}  // namespace berth::queue::testing
