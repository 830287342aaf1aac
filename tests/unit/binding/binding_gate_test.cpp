// SPDX-License-Identifier: Apache-2.0
// What keeps bindings from going to nodes that are gone, and decisions from running ahead of bindings.
#include <algorithm>
#include <deque>
#include <functional>
#include <thread>

#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

using cluster::WithheldReason;
using queue::Place;

TEST(GatedBinding, GoesToANodeThatIsThere) {
  BindingFixture f;
  f.make_gate();
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Binder", "post_bind", "free"}));
  EXPECT_FALSE(f.gate->node_of("uid-p", "n1")) << "it is over";
}

TEST(GatedBinding, GoesBackAsAFailedAttemptWhenTheNodeIsGone) {
  BindingFixture f;
  f.make_gate();
  f.gate->node_absent("n1", "1");
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"unreserve Second", "unreserve First", "free"})) << "no plugin was asked to bind";
  EXPECT_FALSE(f.assumed());
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.writer.events.at(0).note, "the binding was not sent: node \"n1\" was deleted after the decision");
  EXPECT_EQ(f.writer.patches.at(0).conditions.at(0).reason, "SchedulerError");
  EXPECT_EQ(f.gate->withheld(WithheldReason::node_gone), 1U);
  EXPECT_FALSE(f.gate->node_of("uid-p", "n1"));
  EXPECT_EQ(f.binder->counts().failed, 1U);
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
}

TEST(GatedBinding, IsLookedAtAgainBeforeEachBindPluginAndExtender) {
  BindingFixture f;
  f.make_gate();
  f.pipeline.binders = {{"https://extender.example.com", {}, false, {}, true}, {"Binder", {}, false, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls, Lines{"bind https://extender.example.com"});
  f.gate->node_absent("n1", "1");
  f.gate->node_present("n1", "2");
  f.pipeline.answer("https://extender.example.com", no("", Code::skip));
  EXPECT_EQ(f.pipeline.calls,
            (Lines{"bind https://extender.example.com", "unreserve Second", "unreserve First", "free"}));
  EXPECT_EQ(f.gate->withheld(WithheldReason::node_replaced), 1U);
}

TEST(GatedBinding, WaitsWhileTheWatchOfNodesIsDown) {
  BindingFixture f;
  f.make_gate(false);
  f.place();
  EXPECT_EQ(f.pipeline.calls, Lines());
  EXPECT_EQ(f.binder->open_bindings().at(0).step, BindStep::bind);
  f.clock.advance(9s);
  f.timers.run_due();
  f.gate->watch_in_step(true);
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Binder", "post_bind", "free"}));
}

TEST(GatedBinding, IsLookedAtAgainAfterTheWait) {
  BindingFixture f;
  f.make_gate(false);
  f.place();
  f.gate->node_absent("n1", "1");
  f.gate->watch_in_step(true);
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.gate->withheld(WithheldReason::node_gone), 1U);
}

TEST(GatedBinding, GoesBackWhenTheWatchStaysDown) {
  BindingFixture f;
  f.make_gate(false);
  f.place();
  f.clock.advance(10s);
  f.timers.run_due();
  EXPECT_EQ(f.pipeline.calls, (Lines{"unreserve Second", "unreserve First", "free"}));
  EXPECT_FALSE(f.assumed());
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.gate->withheld(WithheldReason::watch_down), 1U);
}

TEST(GatedBinding, DrainEndsItsWaitAtOnce) {
  BindingFixture f;
  f.make_gate(false);
  f.place();
  EXPECT_TRUE(f.binder->drain(0ms));
  EXPECT_EQ(f.pipeline.calls, (Lines{"unreserve Second", "unreserve First", "free"}));
  EXPECT_EQ(f.gate->withheld(WithheldReason::watch_down), 0U);
}

// How far decisions run ahead.

BinderOptions most(std::size_t in_flight) { return {true, in_flight}; }

TEST(InFlight, BindingsThatAreOpenAreBounded) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
  f.place();
  EXPECT_EQ(f.binder->counts().in_flight, 1U);
  EXPECT_FALSE(f.binder->wait_for_room(0ms));
  EXPECT_EQ(f.binder->counts().room_waits, 1U);
  f.pipeline.answer("Binder");
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
}

TEST(InFlight, AFailureMakesRoomToo) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  f.place();
  f.pipeline.answer("Binder", no("no", Code::error));
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
}

TEST(InFlight, NothingIsBoundedUnlessItIsSaid) {
  BindingFixture f;
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  f.place();
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
  f.pipeline.answer("Binder");
}

TEST(InFlight, PodsThatWaitAtPermitDoNotCount) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  f.place({{k_gang, "Gang", 60'000'000'000}});
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms)) << "or the pod that they wait for would not be tried";
  f.waiting.allow("uid-p", k_gang);
  EXPECT_EQ(f.binder->counts().in_flight, 1U);
  f.pipeline.answer("Binder");
}

TEST(InFlight, MembersThatWaitForTheirGroupDoNotCount) {
  BindingFixture f;
  f.make_binder(most(1));
  f.barrier = std::make_shared<GroupBarrier>(f.waiting, PermitWait{k_gang, "Gang", 60'000'000'000}, 2);
  f.place();
  EXPECT_EQ(f.binder->open_bindings().at(0).step, BindStep::group_wait);
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
  f.start(f.add("q"));
  EXPECT_EQ(f.binder->counts().bound, 2U);
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
}

/// Runs one step of a binding when told to.
class StepByStep final : public Executor {
 public:
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  bool step() {
    if (tasks_.empty()) return false;
    const std::function<void()> next = std::move(tasks_.front());
    tasks_.pop_front();
    next();
    return true;
  }

 private:
  std::deque<std::function<void()>> tasks_;
};

/// Three members of a group that needs so many of them, just placed.
struct GroupInFlight : ::testing::Test {
  void place(std::uint32_t needed, std::size_t in_flight_max) {
    f.binder.emplace(
        most(in_flight_max),
        BinderParts{steps, f.waiting, *f.failures, *f.queue, f.writer, f.symbols, f.attempts, {}, nullptr});
    f.barrier = std::make_shared<GroupBarrier>(f.waiting, PermitWait{k_gang, "Gang", 60'000'000'000}, needed);
    for (const char* name : {"a", "b", "c"}) f.start(f.add(name));
  }
  ~GroupInFlight() override {
    f.waiting.reject_all("the test is over");
    while (steps.step()) {
    }
  }
  StepByStep steps;
  BindingFixture f;
};

TEST_F(GroupInFlight, CountsAsAWholeFromItsDecisionToItsLastBinding) {
  place(3, 2);
  // Some of its members wait for the others now and then, and do not count: that makes no room.
  std::size_t least = 3;
  for (int i = 0; f.binder->counts().bound < 1 && i < 100; ++i) {
    EXPECT_FALSE(f.binder->wait_for_room(0ms)) << "after " << i << " steps";
    least = std::min(least, f.binder->counts().in_flight);
    ASSERT_TRUE(steps.step());
  }
  EXPECT_LT(least, 2U) << "or this test shows nothing";
  EXPECT_EQ(f.binder->counts().in_flight, 2U);
  while (steps.step()) {
  }
  EXPECT_EQ(f.binder->counts().bound, 3U);
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
}

TEST_F(GroupInFlight, AnotherGroupIsAdmittedWhenASingleBindingHasRoom) {
  place(3, 4);
  while (f.binder->counts().bound < 1) ASSERT_TRUE(steps.step());
  EXPECT_EQ(f.binder->counts().in_flight, 2U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms)) << "another group may follow: fewer than four are on their way";
}

TEST_F(GroupInFlight, DoesNotCountWhileAMemberIsMissing) {
  place(4, 2);
  EXPECT_FALSE(f.binder->wait_for_room(0ms));
  while (steps.step()) {
  }
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms)) << "or the member that is missing would not be tried";
}

TEST_F(GroupInFlight, DoesNotCountWhenAMemberFails) {
  f.pipeline.pre_binders = {{"Volumes", no("no volume", Code::error), false, {}, false}};
  place(3, 2);
  while (steps.step()) {
  }
  EXPECT_EQ(f.binder->counts().failed, 3U);
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
}

TEST(InFlight, PodsInAPreBindPluginDoNotCount) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.pre_binders = {{"Volumes", {}, false, {}, true}};
  f.place();
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
  f.pipeline.answer("Volumes");
  EXPECT_EQ(f.binder->counts().in_flight, 0U);
  EXPECT_EQ(f.binder->counts().bound, 1U);
}

TEST(InFlight, WhatWaitsAtTheGateCounts) {
  BindingFixture f;
  f.make_gate(false, most(1));
  f.place();
  EXPECT_FALSE(f.binder->wait_for_room(0ms));
  f.gate->watch_in_step(true);
  EXPECT_TRUE(f.binder->wait_for_room(0ms));
}

/// Waits for room on a thread of its own until what `then` does ends that.
bool came_after(BindingFixture& f, const std::function<void()>& then) {
  bool came = false;
  std::thread loop([&] { came = f.binder->wait_for_room(60s); });
  while (f.binder->counts().room_waits == 0) std::this_thread::yield();
  then();
  loop.join();
  return came;
}

TEST(InFlight, TheLoopGoesOnAsSoonAsThereIsRoom) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  f.place();
  EXPECT_TRUE(came_after(f, [&] { f.pipeline.answer("Binder"); }));
}

TEST(InFlight, TheLoopDoesNotWaitAfterTheEnd) {
  BindingFixture f;
  f.make_binder(most(1));
  f.pipeline.binders = {{"Binder", {}, false, {}, true}};
  f.place();
  EXPECT_FALSE(came_after(f, [&] { f.binder->stop_waiting(); }));
  EXPECT_FALSE(f.binder->wait_for_room(60s));
  f.pipeline.answer("Binder");
}

}  // namespace
}  // namespace berth::binding::testing
