// SPDX-License-Identifier: Apache-2.0
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

struct HintCase {
  const char* name;
  std::vector<PluginIndex> unschedulable, pending;
  ClusterEvent event;
  Place want;  // after the event, with the back-off over
};

class EventVerdict : public ::testing::TestWithParam<HintCase> {};

TEST_P(EventVerdict, MovesOrLeavesTheWaitingPod) {
  const HintCase& c = GetParam();
  QueueFixture f;
  f.add("p");
  Rejectors rejectors;
  for (const PluginIndex plugin : c.unschedulable) rejectors.unschedulable.insert(plugin);
  for (const PluginIndex plugin : c.pending) rejectors.pending.insert(plugin);
  f.fail("p", rejectors);
  ASSERT_EQ(f.place("p"), Place::unschedulable);
  f.clock.advance(3s);
  f.queue->move_all(c.event, {});
  EXPECT_EQ(f.place("p"), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, EventVerdict,
    ::testing::Values(
        HintCase{"node_affinity_hears_of_taints", {k_affinity}, {}, k_node_taint, Place::active},
        HintCase{"taint_toleration_ignores_labels", {k_taints}, {}, k_node_label, Place::unschedulable},
        HintCase{"one_willing_rejector_is_enough", {k_fit, k_affinity}, {}, k_assigned_pod_delete, Place::active},
        HintCase{"no_registration_no_move", {k_deaf}, {}, k_node_add, Place::unschedulable},
        HintCase{"narrow_registration_ignores_broad_update",
                 {k_affinity},
                 {},
                 ClusterEvent{EventResource::node, actions::update, {}},
                 Place::unschedulable},
        HintCase{"a_rejected_pod_moves_on_the_wildcard",
                 {k_affinity},
                 {},
                 ClusterEvent{EventResource::any, actions::all, "UnschedulableTimeout"},
                 Place::active}),
    [](const auto& row) { return row.param.name; });

TEST(Hints, AnEventMovesToBackoffWhileThePodIsBackingOff) {
  QueueFixture f;
  f.add("p");
  f.fail("p", rejected_by({k_affinity}));
  f.queue->move_all(k_node_label, {});
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.incoming("NodeUpdateNodeLabel").backoff, 1U);
}

TEST(Hints, APluginThatWasOnlyWaitingSkipsTheBackoff) {
  QueueFixture f;
  f.add("p");
  f.fail("p", {plugins({k_claims, k_affinity}), plugins({k_claims})});
  f.queue->move_all(k_node_label, {});
  EXPECT_EQ(f.place("p"), Place::backoff) << "the other plugin does not";

  QueueFixture g;
  g.add("p");
  g.fail("p", {plugins({k_claims, k_affinity}), plugins({k_claims})});
  g.queue->move_all(k_claim_add, {});
  EXPECT_EQ(g.place("p"), Place::active);
}

TEST(Hints, ImmediatelyStillAsksTheGates) {
  QueueFixture f;
  f.add("p");
  f.fail("p", {plugins({k_claims}), plugins({k_claims})});
  f.policy.closed_for.insert("p");
  f.queue->move_all(k_claim_add, {});
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  EXPECT_TRUE(f.find("p").gated());
}

TEST(Hints, AreAskedOnlyForPodsTheirPluginRejected) {
  QueueFixture f;
  f.add("a");
  f.add("b");
  f.fail("a", rejected_by({k_fit}));
  f.fail("b", rejected_by({k_affinity}));
  f.fits = false;
  f.queue->move_all(k_node_allocatable, {});
  EXPECT_EQ(f.asked, std::vector<std::string>{"a"});
  EXPECT_EQ(f.place("a"), Place::unschedulable);
  EXPECT_EQ(f.place("b"), Place::unschedulable);
}

TEST(Hints, SeeTheEventAsItCameIn) {
  ProfileHints profile;
  profile.scheduler_name = "default-scheduler";
  ClusterEvent seen;
  model::NodePtr seen_node;
  Registration registration = on(EventResource::node, actions::all, k_fit, [&](const HintCall& call, std::uint64_t*) {
    seen = call.event;
    seen_node = call.objects.new_node;
  });
  profile.registrations.push_back(registration);
  FakePolicy policy;
  ManualClock clock(100'000'000'000);
  SchedulingQueue queue(
      {}, HintTable({profile}), policy, [](const model::Pod&) { return nullptr; }, clock);
  queue.add(make_pod("p"));
  ASSERT_TRUE(queue.requeue(std::move(*queue.pop()), rejected_by({k_fit}), nullptr).ok());
  EventObjects objects;
  objects.new_node = std::make_shared<model::Node>();
  queue.move_all(k_node_label, objects);
  EXPECT_EQ(seen.actions, actions::update_node_label);
  EXPECT_EQ(seen_node, objects.new_node);
}

TEST(Hints, OfAClassAreAskedOncePerClass) {
  ProfileHints profile;
  profile.scheduler_name = "default-scheduler";
  std::vector<std::string> asked;
  Registration registration =
      on(EventResource::node, actions::add, k_fit, hint_per_pod([&](const model::Pod& pod, const EventObjects&) {
           asked.push_back(pod.spec->group);
           return pod.spec->group == "yes";
         }));
  registration.by_class = true;
  profile.registrations.push_back(registration);
  FakePolicy policy;
  ManualClock clock(100'000'000'000);
  SchedulingQueue queue(
      {}, HintTable({profile}), policy, [](const model::Pod&) { return nullptr; }, clock);
  for (int i = 0; i < 200; ++i) {
    auto pod = make_pod("p" + std::to_string(i));
    pod->spec.edit().group = i % 3 == 0 ? "yes" : "no";
    queue.add(pod);
    ASSERT_TRUE(queue.requeue(std::move(*queue.pop()), rejected_by({k_fit}), nullptr).ok());
  }
  clock.advance(3s);
  queue.move_all(k_node_add, {});
  EXPECT_EQ(asked.size(), 2U);
  for (const PendingPod& pod : queue.pending_pods())
    EXPECT_EQ(pod.place, pod.pod->spec->group == "yes" ? Place::active : Place::unschedulable) << pod.pod->name;
}

TEST(Hints, OfAPodRejectedWhileItWaitsAreAskedToo) {
  QueueFixture f;
  auto gated = make_pod("p");
  gated->spec.edit().gates = {"g"};
  const PodPtr pod = f.add(gated);
  f.policy.closed_for.insert("p");
  auto open = make_pod("p");
  const ClusterEvent events[] = {k_gates_gone};
  f.queue->update(pod, open, events);  // one gate opens, the next one closes
  EXPECT_EQ(f.find("p").gate, k_claims);
  f.policy.closed_for.clear();
  f.queue->move_all(k_claim_add, {});
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(Hints, OnlyPodsThatPassThePreCheckAreMoved) {
  QueueFixture f;
  f.add("a");
  f.add("b");
  f.fail("a", rejected_by({k_fit}));
  f.fail("b", rejected_by({k_fit}));
  f.clock.advance(3s);
  f.queue->move_all(k_assigned_pod_delete, {}, [](const model::Pod& waiting) { return waiting.name == "b"; });
  EXPECT_EQ(f.place("a"), Place::unschedulable);
  EXPECT_EQ(f.place("b"), Place::active);
}

TEST(Hints, AnUpdateOfAWaitingPodAsksThemForItsOwnEvents) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  f.fail("p", rejected_by({k_fit}));
  f.clock.advance(3s);
  const ClusterEvent events[] = {k_pod_update};
  auto changed = make_pod("p");
  f.queue->update(pod, changed, events);
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  EXPECT_EQ(f.find("p").pod, changed) << "the newest version waits";
}

TEST(Hints, TellWhatMayWakeAPodByThePluginThatRejectedIt) {
  const QueueFixture f;
  std::vector<std::pair<EventResource, model::EventActions>> events;
  for (const WakingEvent& waking : f.queue->waking_events("default-scheduler", plugins({k_affinity, k_claims})))
    events.emplace_back(waking.event.resource, waking.event.actions);
  EXPECT_EQ(events, (std::vector<std::pair<EventResource, model::EventActions>>{
                        {EventResource::node, actions::add | actions::update_node_label},
                        {EventResource::node, actions::update_node_taint},
                        {EventResource::resource_claim, actions::add | actions::update}}));
  EXPECT_TRUE(f.queue->waking_events("another-scheduler", plugins({k_affinity})).empty());
}

TEST(Registrations, NodeAddBringsTaintUpdates) {
  std::vector<Registration> all;
  append_registrations(all, {on(EventResource::node, actions::add, k_fit)});
  append_registrations(all, {on(EventResource::node, actions::add | actions::update_node_taint, k_taints)});
  append_registrations(
      all, {on(EventResource::node, actions::add, k_affinity), on(EventResource::node, actions::update, k_affinity)});
  append_registrations(all, {on(EventResource::pod, actions::add, k_gates)});
  std::vector<PluginIndex> implicit;
  for (const Registration& registration : all)
    if (registration.registered.actions == actions::update_node_taint) implicit.push_back(registration.plugin);
  EXPECT_EQ(implicit, std::vector<PluginIndex>{k_fit});
}

TEST(Registrations, TheDefaultListHearsOfEverythingButAttachmentsAndSlices) {
  const HintTable table({{"s", default_registrations(k_fit)}});
  EXPECT_TRUE(table.asked(k_fit, k_node_taint));
  EXPECT_TRUE(table.asked(k_fit, k_assigned_pod_delete));
  EXPECT_TRUE(table.asked(k_fit, {EventResource::device_class, actions::add, {}}));
  EXPECT_FALSE(table.asked(k_fit, {EventResource::volume_attachment, actions::remove, {}}));
  EXPECT_FALSE(table.asked(k_fit, {EventResource::resource_slice, actions::add, {}}));
}

}  // namespace
}  // namespace berth::queue::testing
