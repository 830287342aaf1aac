// SPDX-License-Identifier: Apache-2.0
// The queue as it was in v1.16. Times are those of the clock since the start.
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

QueueOptions options_of_v1_16() {
  QueueOptions options;
  options.as_v1_16 = true;
  options.pops_from_backoff = false;
  options.leftover_age_ns = 60'000'000'000;
  return options;
}

struct OldQueue : QueueFixture {
  OldQueue() : QueueFixture(100.0, options_of_v1_16()) { queue->flush(); }

  /// An attempt that something happened during: the pod goes to back-off.
  void fail_while_moving(const std::string& name) {
    Ticket ticket = pop(name);
    queue->move_all(k_node_add, {});
    EXPECT_TRUE(queue->requeue(std::move(ticket), rejected_by({k_deaf}), nullptr).ok());
  }
  double backs_off_s(const std::string& name) const {
    return static_cast<double>(find(name).backoff_until_ns - queue->now_ns()) / 1e9;
  }
  void advance(std::chrono::nanoseconds time) {
    clock.advance(time);
    queue->flush();
  }
};

TEST(RulesOfV116, DoubleTheBackOffFromOneSecondToTen) {
  OldQueue f;
  f.add("p");
  for (const int wanted_s : {1, 2, 4, 8, 10, 10}) {
    f.fail_while_moving("p");
    EXPECT_EQ(f.place("p"), Place::backoff);
    EXPECT_EQ(f.backs_off_s("p"), wanted_s);
    f.advance(std::chrono::seconds(wanted_s));
    EXPECT_EQ(f.place("p"), Place::active) << wanted_s;
  }
}

TEST(RulesOfV116, ForgetTheAttemptsOfAPodThatWasQuietForLongerThanTheLongestBackOff) {
  OldQueue f;
  f.add("p");
  f.fail_while_moving("p");
  f.advance(1s);
  f.fail_while_moving("p");
  EXPECT_EQ(f.backs_off_s("p"), 2);
  f.advance(10s + 1ns);
  f.fail_while_moving("p");
  EXPECT_EQ(f.backs_off_s("p"), 1);
}

TEST(RulesOfV116, LookAtBackOffsOnceASecond) {
  OldQueue f;
  f.advance(300ms);
  f.add("p");
  f.fail_while_moving("p");  // over at 1.3 s
  f.advance(1600ms);         // 1.9 s
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.queue->next_backoff_ns(), f.clock.monotonic_ns() + 100'000'000);
  f.advance(100ms);
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(RulesOfV116, SendAPodToBackOffWhenSomethingMovedInItsCycleAndElseToTheUnschedulable) {
  OldQueue f;
  f.add("p");
  f.fail("p", rejected_by({k_fit}));
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  f.add("q");
  f.fail_while_moving("q");
  EXPECT_EQ(f.place("q"), Place::backoff);
  f.add("r");  // what moved before its cycle does not count
  f.fail("r", rejected_by({k_fit}));
  EXPECT_EQ(f.place("r"), Place::unschedulable);
}

TEST(RulesOfV116, MakeNoDifferenceBetweenErrorsAndRejections) {
  OldQueue f;
  f.add("p");
  f.fail("p", {});
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  f.clock.advance(2s);
  f.queue->move_all(k_node_add, {});
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(RulesOfV116, RetryEveryPodWhateverRejectedIt) {
  OldQueue f;
  f.fits = false;  // what the hint would say
  f.add("p");
  f.fail("p", rejected_by({k_fit}));
  f.add("q");
  f.fail("q", rejected_by({k_deaf}));
  f.queue->move_all(k_node_taint, {});
  EXPECT_EQ(f.place("p"), Place::backoff);
  EXPECT_EQ(f.place("q"), Place::backoff);
  EXPECT_TRUE(f.asked.empty());
}

TEST(RulesOfV116, DoNotRetryForTheEndOfANode) {
  OldQueue f;
  f.add("p");
  f.fail("p", rejected_by({k_fit}));
  f.queue->move_all({EventResource::node, actions::remove, {}}, {});
  EXPECT_EQ(f.place("p"), Place::unschedulable);
}

model::EventObjects object_of(const char* resource, bool waits_for_first_consumer = false) {
  auto object = std::make_shared<model::Object>();
  object->resource = resource;
  object->waits_for_first_consumer = waits_for_first_consumer;
  return {nullptr, nullptr, nullptr, nullptr, nullptr, std::move(object)};
}

TEST(RulesOfV116, RetryForNothingThatWasNotWatchedThen) {
  const auto watch = static_cast<EventResource>(static_cast<std::uint32_t>(EventResource::first_watch) + 3);
  const struct {
    EventResource resource;
    model::EventActions actions;
    model::EventObjects objects;
    bool retries;
  } cases[] = {
      {watch, actions::add, object_of("core/v1/services"), true},
      {watch, actions::update, object_of("apps/v1/replicasets"), false},
      {watch, actions::update, object_of("apps/v1/statefulsets"), false},
      {EventResource::persistent_volume, actions::update, object_of("core/v1/persistentvolumes"), true},
      {EventResource::persistent_volume_claim, actions::add, object_of("core/v1/persistentvolumeclaims"), true},
      {EventResource::persistent_volume_claim, actions::remove, object_of("core/v1/persistentvolumeclaims"), false},
      {EventResource::csi_node, actions::update, object_of("storage.k8s.io/v1/csinodes"), true},
      {EventResource::csi_driver, actions::add, object_of("storage.k8s.io/v1/csidrivers"), false},
      {EventResource::resource_claim, actions::add, object_of("resource.k8s.io/v1/resourceclaims"), false},
      {EventResource::storage_class, actions::add, object_of("storage.k8s.io/v1/storageclasses", true), true},
      {EventResource::storage_class, actions::add, object_of("storage.k8s.io/v1/storageclasses"), false},
  };
  for (const auto& one : cases) {
    OldQueue f;
    f.add("p");
    f.fail("p", rejected_by({k_deaf}));
    f.queue->move_all({one.resource, one.actions, {}}, one.objects);
    EXPECT_EQ(f.place("p"), one.retries ? Place::backoff : Place::unschedulable) << one.objects.new_object->resource;
  }
}

TEST(RulesOfV116, NameTheEventsThatRetry) {
  const model::EventObjects storage_class = object_of("storage.k8s.io/v1/storageclasses", true);
  for (std::uint32_t number = 1; number < static_cast<std::uint32_t>(EventResource::unschedulable_pod); ++number) {
    const auto resource = static_cast<EventResource>(number);
    for (model::EventActions action = actions::add; action < actions::update_pod_label; action <<= 1) {
      OldQueue f;
      f.add("p");
      f.fail("p", rejected_by({k_deaf}));
      f.queue->move_all({resource, action, {}},
                        resource == EventResource::storage_class ? storage_class : model::EventObjects{});
      const bool is_retried = f.place("p") == Place::backoff;
      bool is_named = false;
      for (const WakingEvent& waking : f.queue->waking_events("default-scheduler", plugins({k_deaf})))
        is_named |= waking.event.resource == resource && (waking.event.actions & action) != 0;
      const bool by_affinity = resource == EventResource::assigned_pod && action != actions::remove;  // which p has not
      EXPECT_EQ(is_named, is_retried || by_affinity) << model::ClusterEvent{resource, action, {}}.name();
    }
  }
}

TEST(RulesOfV116, NameTheChangesOfAWaitingPodThatLetItTryAgain) {
  // Whatever change of a pod has a name is one of what scheduling reads.
  for (model::EventActions action = actions::update_pod_label; action < actions::update; action <<= 1) {
    OldQueue f;
    const PodPtr pod = f.add("p");
    f.fail("p", rejected_by({k_deaf}));
    const ClusterEvent change[] = {{EventResource::unschedulable_pod, action, {}}};
    bool is_named = false;
    for (const WakingEvent& waking : f.queue->waking_events("default-scheduler", plugins({k_deaf})))
      is_named |= waking.event.resource == EventResource::unschedulable_pod && (waking.event.actions & action) != 0;
    EXPECT_TRUE(is_named) << change[0].name();
    f.queue->update(pod, pod, change);
    EXPECT_EQ(f.place("p"), Place::active) << change[0].name();
  }
}

TEST(RulesOfV116, NameTheServicesThatPluginsWatch) {
  OldQueue f;
  const auto events = f.queue->waking_events("default-scheduler", {});
  EXPECT_EQ(events.back().watched, "core/v1/services");
}

TEST(RulesOfV116, TakeAnyChangeOfANodeForAMoveWhileNoPodWaits) {
  const ClusterEvent heartbeat{EventResource::node, 0, {}};
  const auto place_after = [&](bool another_waits) {
    OldQueue f;
    if (another_waits) {
      f.add("other");
      f.fail("other", rejected_by({k_deaf}));
    }
    f.add("p");
    Ticket ticket = f.pop("p");
    f.queue->move_all(heartbeat, {});
    EXPECT_TRUE(f.queue->requeue(std::move(ticket), rejected_by({k_deaf}), nullptr).ok());
    if (another_waits) {
      EXPECT_EQ(f.place("other"), Place::unschedulable);
    }
    return f.place("p");
  };
  EXPECT_EQ(place_after(false), Place::backoff);
  EXPECT_EQ(place_after(true), Place::unschedulable);
}

TEST(RulesOfV116, RetryForANewPodOnlyThoseWhoseAffinityItMayMeet) {
  OldQueue f;
  model::AffinityTerm term;
  term.selector.kind = model::Selector::Kind::match;
  term.selector.requirements = {{7, model::Operator::in, {8}, 0}};
  term.namespaces = {5};
  auto friendly = make_pod("friendly");
  friendly->spec.edit().affinity.required = std::vector<model::AffinityTerm>{term};
  f.add(friendly);
  f.fail("friendly", rejected_by({k_affinity}));
  f.add("other");
  f.fail("other", rejected_by({k_affinity}));

  const auto assigned = make_pod("assigned");
  assigned->ns_symbol = 5;
  const ClusterEvent add{EventResource::assigned_pod, actions::add, {}};
  f.queue->move_all(add, {nullptr, assigned, nullptr, nullptr, nullptr, nullptr});
  EXPECT_EQ(f.place("friendly"), Place::unschedulable) << "without the label";
  const auto labelled = std::make_shared<model::Pod>(*assigned);
  labelled->labels = std::vector<model::Label>{{7, 8}};
  f.queue->move_all(add, {nullptr, labelled, nullptr, nullptr, nullptr, nullptr});
  EXPECT_EQ(f.place("friendly"), Place::backoff);
  EXPECT_EQ(f.place("other"), Place::unschedulable);
  f.queue->move_all(k_assigned_pod_delete, {labelled, nullptr, nullptr, nullptr, nullptr, nullptr});
  EXPECT_EQ(f.place("other"), Place::backoff);
}

TEST(RulesOfV116, TryWhatWaitedForMoreThanAMinute) {
  OldQueue f;
  f.add("p");
  f.fail("p", rejected_by({k_deaf}));
  f.advance(60s);
  EXPECT_EQ(f.place("p"), Place::unschedulable) << "exactly a minute";
  f.advance(30s);
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(RulesOfV116, TryAPodAtOnceThatChangesDuringItsBackOff) {
  OldQueue f;
  const PodPtr pod = f.add("p");
  f.fail_while_moving("p");
  f.queue->update(pod, pod, {});
  EXPECT_EQ(f.place("p"), Place::active) << "whatever changed";
}

TEST(RulesOfV116, LeaveAWaitingPodAloneThatChangesInNothingThatMatters) {
  OldQueue f;
  const PodPtr pod = f.add("p");
  f.fail("p", rejected_by({k_deaf}));
  f.queue->update(pod, pod, {});
  const ClusterEvent status[] = {k_pod_update};
  f.queue->update(pod, pod, status);
  EXPECT_EQ(f.place("p"), Place::unschedulable);
}

TEST(RulesOfV116, ResetTheBackOffOfAWaitingPodThatChanges) {
  OldQueue f;
  const PodPtr pod = f.add("p");
  f.fail("p", rejected_by({k_deaf}));
  const ClusterEvent change[] = {{EventResource::unschedulable_pod, actions::update_pod_toleration, {}}};
  f.queue->update(pod, pod, change);
  EXPECT_EQ(f.place("p"), Place::active);
  f.fail_while_moving("p");
  EXPECT_EQ(f.backs_off_s("p"), 1);
}

TEST(RulesOfV116, ForgetTheBackOffOfAPodThatIsDeleted) {
  OldQueue f;
  const PodPtr pod = f.add("p");
  f.fail_while_moving("p");
  f.advance(1s);
  f.fail_while_moving("p");
  EXPECT_EQ(f.backs_off_s("p"), 2);
  f.queue->remove(*pod);
  f.add("p");
  f.fail_while_moving("p");
  EXPECT_EQ(f.backs_off_s("p"), 1);
}

TEST(RulesOfV116, LetNoPodOutOfABackOffEarly) {
  OldQueue f;
  f.add("p");
  f.fail_while_moving("p");
  EXPECT_EQ(f.pop_name(), "");
}

}  // namespace
}  // namespace berth::queue::testing
