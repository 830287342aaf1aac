// SPDX-License-Identifier: Apache-2.0
#include "binding/duration_text.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

using queue::Place;

constexpr std::int64_t k_second_ns = 1'000'000'000;
const PermitWait k_gang_waits{k_gang, "Gang", 300 * k_second_ns};
const PermitWait k_quota_waits{k_quota, "Quota", 10 * k_second_ns};

TEST(PermitWait, HoldsThePodUntilEveryPluginAllows) {
  BindingFixture f;
  f.place({k_gang_waits, k_quota_waits});
  EXPECT_TRUE(f.waiting.waiting("uid-p"));
  EXPECT_EQ(f.writer.lines, Lines{"status p nominated=n1"}) << "a waiting pod is announced";
  EXPECT_TRUE(f.waiting.allow("uid-p", k_gang));
  EXPECT_EQ(f.binder->open_bindings().at(0).step, BindStep::permit_wait);
  EXPECT_TRUE(f.waiting.allow("uid-p", 99)) << "a stranger's word changes nothing";
  EXPECT_EQ(f.binder->counts().bound, 0U);
  EXPECT_TRUE(f.waiting.allow("uid-p", k_quota));
  EXPECT_EQ(f.binder->counts().bound, 1U);
  EXPECT_FALSE(f.waiting.allow("uid-p", k_gang)) << "no waiting pod any more";
  EXPECT_FALSE(f.timers.next_ns().has_value()) << "timers are gone";
}

TEST(PermitWait, ARejectionIsAVerdictOfThatPlugin) {
  BindingFixture f;
  f.place({k_gang_waits, k_quota_waits});
  EXPECT_TRUE(f.waiting.reject("uid-p", k_gang, "the gang is incomplete"));
  EXPECT_FALSE(f.waiting.reject("uid-p", k_quota, "too late"));
  EXPECT_EQ(f.pipeline.calls, (Lines{"unreserve Second", "unreserve First", "free"}));
  EXPECT_EQ(f.writer.events.at(0).note, "0/1 nodes are available: 1 the gang is incomplete.");
  EXPECT_EQ(f.writer.patches.at(1).conditions.at(0).reason, "Unschedulable");
  EXPECT_TRUE(f.pending("p").unschedulable_plugins.contains(k_gang));
  EXPECT_EQ(f.pending("p").place, Place::unschedulable) << "its own leaving does not wake it";
  EXPECT_FALSE(f.assumed());
}

TEST(PermitWait, TheEarliestTimerDecides) {
  BindingFixture f;
  f.place({k_gang_waits, k_quota_waits});
  EXPECT_EQ(f.timers.next_ns(), 10 * k_second_ns);
  f.clock.advance(10s);
  f.timers.run_due();
  EXPECT_EQ(f.writer.events.at(0).note,
            "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Quota.");
  EXPECT_TRUE(f.pending("p").unschedulable_plugins.contains(k_quota));
  EXPECT_FALSE(f.timers.next_ns().has_value());
}

TEST(PermitWait, PrintsTimeoutsAsGoDoes) {
  BindingFixture f;
  f.place({k_gang_waits});
  f.clock.advance(5min);
  f.timers.run_due();
  EXPECT_EQ(f.writer.events.at(0).note,
            "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin Gang.");
}

TEST(PermitWait, IsAtMostFifteenMinutes) {
  BindingFixture f;
  f.place({{k_gang, "Gang", 3600 * k_second_ns}});
  EXPECT_EQ(f.timers.next_ns(), 900 * k_second_ns);
  f.waiting.allow("uid-p", k_gang);
}

TEST(PermitWait, AnAllowedPluginsTimerNoLongerCounts) {
  BindingFixture f;
  f.place({k_gang_waits, k_quota_waits});
  f.waiting.allow("uid-p", k_quota);
  f.clock.advance(60s);
  EXPECT_EQ(f.timers.run_due(), 0U);
  EXPECT_TRUE(f.waiting.waiting("uid-p"));
  f.waiting.allow("uid-p", k_gang);
  EXPECT_EQ(f.binder->counts().bound, 1U);
}

TEST(PermitWait, PreemptionEndsTheAttemptAsAnError) {
  BindingFixture f;
  f.place({k_gang_waits});
  EXPECT_TRUE(f.binder->preempt("uid-p", k_quota, "preempted by Quota"));
  EXPECT_EQ(f.writer.events.at(0).note, "waiting on permit for pod: preempted by Quota");
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.writer.patches.at(1).conditions.at(0).reason, "SchedulerError");
}

TEST(PermitWait, ADeletedPodIsRejectedFromOutside) {
  BindingFixture f;
  f.place({k_gang_waits});
  f.known.clear();
  EXPECT_TRUE(f.waiting.reject_removed("uid-p"));
  EXPECT_EQ(f.writer.events.at(0).note, "0/1 nodes are available: 1 removed.");
  EXPECT_TRUE(f.queue->pending_pods().empty());
  EXPECT_FALSE(f.assumed());
}

TEST(PermitWait, ADecisionMayComeBeforeTheWaitBegins) {
  ManualClock clock;
  Timers timers(clock);
  WaitingPods waiting(timers);
  auto pod = std::make_shared<model::Pod>();
  pod->uid = "u";
  waiting.park(pod, 1, {k_gang_waits});
  EXPECT_TRUE(waiting.allow("u", k_gang));
  EXPECT_TRUE(waiting.waiting("u"));
  EXPECT_FALSE(waiting.reject("u", k_gang, "second thoughts"));
  int calls = 0;
  waiting.when_decided("u", [&](const PermitDecision& decision) {
    ++calls;
    EXPECT_EQ(decision.kind, PermitDecision::Kind::allowed);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(waiting.waiting("u"));
}

TEST(PermitWait, VisitsUntilTheVisitorHasEnough) {
  ManualClock clock;
  Timers timers(clock);
  WaitingPods waiting(timers);
  for (const char* uid : {"a", "b", "c"}) {
    auto pod = std::make_shared<model::Pod>();
    pod->uid = uid;
    waiting.park(pod, 1, {k_gang_waits});
  }
  int visits = 0;
  waiting.each([&](const model::Pod& pod, Symbol) {
    waiting.allow(pod.uid.text(), k_gang);  // deciding from within is fine
    return ++visits < 2;
  });
  EXPECT_EQ(visits, 2);
  EXPECT_EQ(waiting.size(), 3U);
}

TEST(PermitWait, EventsMissedWhileWaitingCountThoseAfterItDoNot) {
  // While it waits for permission, a pod still hears of events; a failure after that does not ask them.
  BindingFixture f;
  f.place({k_gang_waits});
  f.queue->move_all({model::EventResource::assigned_pod, model::actions::remove, {}},
                    {std::make_shared<model::Pod>(), nullptr, nullptr, nullptr, nullptr, nullptr});
  f.waiting.reject("uid-p", k_gang, "no");
  EXPECT_EQ(f.pending("p").place, Place::backoff);

  BindingFixture g;
  g.pipeline.binders[0].async = true;
  g.place({k_gang_waits});
  g.waiting.allow("uid-p", k_gang);
  EXPECT_EQ(g.queue->sizes().in_flight, 0U);
  g.pipeline.answer("Binder");
}

TEST(DurationText, PrintsDurationsAsGoDoes) {
  struct Case {
    std::int64_t ns;
    const char* text;
  };
  const Case cases[] = {{0, "0s"},
                        {1, "1ns"},
                        {1'500, "1.5µs"},
                        {2'000'000, "2ms"},
                        {1'000'000'000, "1s"},
                        {1'500'000'000, "1.5s"},
                        {60 * k_second_ns, "1m0s"},
                        {300 * k_second_ns, "5m0s"},
                        {3'600 * k_second_ns, "1h0m0s"},
                        {3'723 * k_second_ns + 4'000'000, "1h2m3.004s"},
                        {-90 * k_second_ns, "-1m30s"}};
  for (const Case& c : cases) EXPECT_EQ(duration_text(c.ns), c.text);
}

TEST(Timers, RunInOrderOfTimeThenOfStart) {
  ManualClock clock;
  Timers timers(clock);
  std::string order;
  timers.start(20, [&] { order += "c"; });
  timers.start(10, [&] {
    order += "a";
    timers.start(0, [&] { order += "!"; });
  });
  timers.start(10, [&] { order += "b"; });
  const Timers::Id gone = timers.start(5, [&] { order += "x"; });
  timers.cancel(gone);
  EXPECT_EQ(timers.run_due(), 0U);
  clock.advance(20ns);
  EXPECT_EQ(timers.run_due(), 4U);
  EXPECT_EQ(order, "abc!");
}

}  // namespace
}  // namespace berth::binding::testing
