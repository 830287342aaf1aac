// SPDX-License-Identifier: Apache-2.0
#include "binding/group_barrier.hpp"

#include <atomic>
#include <map>
#include <thread>

#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

constexpr std::int64_t k_second = 1'000'000'000;

struct GangFixture : BindingFixture {
  ~GangFixture() { binder->drain(std::chrono::milliseconds(0)); }
  std::shared_ptr<GroupBarrier> barrier(std::uint32_t needed) {
    return std::make_shared<GroupBarrier>(waiting, PermitWait{k_gang, "Gang", 20 * k_second}, needed);
  }
  /// Adds the pod, assumes it on n1 and starts its binding.
  void place_behind(const std::shared_ptr<GroupBarrier>& held_by, const std::string& name) {
    const PodPtr pod = add(name);
    std::optional<queue::Ticket> ticket = queue->pop();
    ASSERT_TRUE(ticket.has_value());
    ASSERT_EQ(ticket->pod()->name, pod->name);
    start(std::move(*ticket), pod, {}, held_by);
  }
  bool reserved(const std::string& name) const { return cache.is_assumed("uid-" + name); }
};

TEST(GroupBarrier, BindsNoMemberBeforeTheLastOneIsReady) {
  GangFixture f;
  const auto gang = f.barrier(3);
  f.place_behind(gang, "a");
  f.place_behind(gang, "b");
  EXPECT_EQ(f.binder->counts().bound, 0u);
  EXPECT_EQ(f.binder->open_bindings().at(0).step, BindStep::group_wait);
  EXPECT_FALSE(gang->is_open());
  f.place_behind(gang, "c");
  EXPECT_EQ(f.binder->counts().bound, 3u);
  EXPECT_TRUE(gang->is_open());
  EXPECT_FALSE(f.timers.next_ns().has_value()) << "no member waits any more";
  f.place_behind(gang, "d");
  EXPECT_EQ(f.binder->counts().bound, 4u) << "who comes later passes";
}

TEST(GroupBarrier, KeepsTheRestWhenOneFailsUntilAnotherComes) {
  GangFixture f;
  const auto gang = f.barrier(2);
  f.pipeline.pre_binders = {{"Volumes", {}, false, {}, false}};
  f.place_behind(gang, "a");
  f.pipeline.pre_binders[0].answer = no("no volume", Code::error);
  f.place_behind(gang, "b");
  f.pipeline.pre_binders[0].answer = {};
  EXPECT_TRUE(f.reserved("a")) << "a keeps its node";
  EXPECT_FALSE(f.reserved("b"));
  EXPECT_EQ(f.binder->counts().bound, 0u);
  f.queue->remove(*f.known["b"]);
  f.place_behind(gang, "c");
  EXPECT_EQ(f.binder->counts().bound, 2u);
}

TEST(GroupBarrier, EndsForAllWhenTheTimeIsOver) {
  GangFixture f;
  const auto gang = f.barrier(3);
  f.place_behind(gang, "a");
  f.clock.advance(5s);
  f.place_behind(gang, "b");
  f.clock.advance(15s);
  f.timers.run_due();
  for (const char* name : {"a", "b"}) {
    EXPECT_FALSE(f.reserved(name)) << name;
    EXPECT_TRUE(f.pending(name).unschedulable_plugins.contains(k_gang)) << name;
  }
  for (const auto& event : f.writer.events)
    EXPECT_EQ(event.note, "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin Gang.");
  EXPECT_EQ(f.writer.events.size(), 2u);
}

TEST(GroupBarrier, RejectsPodsThatComeAfterItsRelease) {
  GangFixture f;
  const auto gang = f.barrier(2);
  f.place_behind(gang, "a");
  gang->release("g: 1 of 2 members fit");
  gang->release("again");
  EXPECT_FALSE(f.reserved("a"));
  f.place_behind(gang, "b");
  EXPECT_FALSE(f.reserved("b"));
  EXPECT_EQ(f.writer.events.back().note, "0/1 nodes are available: 1 g: 1 of 2 members fit.");
  EXPECT_EQ(f.binder->counts().bound, 0u);
}

TEST(GroupBarrier, ThatWasRenewedWaitsForAsManyAsBefore) {
  GangFixture f;
  const auto gang = f.barrier(3);
  f.place_behind(gang, "a");
  gang->release("g: 1 of 3 members fit");
  gang->renew();
  for (const char* name : {"b", "c"}) f.place_behind(gang, name);
  EXPECT_EQ(f.binder->counts().bound, 0u) << "one of the plan is still on its way";
  f.place_behind(gang, "d");
  EXPECT_EQ(f.binder->counts().bound, 3u);
  gang->renew();
  EXPECT_TRUE(gang->is_open());
}

TEST(GroupBarrier, DoesNotCountAMemberThatWasDeleted) {
  GangFixture f;
  const auto gang = f.barrier(3);
  f.place_behind(gang, "a");
  f.place_behind(gang, "b");
  f.known.erase("b");
  EXPECT_TRUE(f.waiting.reject_removed("uid-b"));
  EXPECT_TRUE(f.reserved("a"));
  f.place_behind(gang, "c");
  EXPECT_EQ(f.binder->counts().bound, 0u);
  f.place_behind(gang, "d");
  EXPECT_EQ(f.binder->counts().bound, 3u);
}

struct BareGang {
  ManualClock clock{1'000'000'000'000};
  Timers timers{clock};
  WaitingPods waiting{timers};
  GroupBarrier gang{waiting, PermitWait{k_gang, "Gang", 20 * k_second}, 3};
  std::map<std::string, PermitDecision::Kind> decided;

  GroupBarrier::Pass arrive(const std::string& uid) {
    auto pod = std::make_shared<model::Pod>();
    pod->uid = uid;
    return gang.arrive(pod, 1);
  }
  void await(const std::string& uid) {
    waiting.when_decided(uid, [this, uid](const PermitDecision& decision) { decided[uid] = decision.kind; });
  }
};

TEST(GroupBarrier, DoesNotCountADeletedMemberWhoseBindingCycleHasNotEnded) {
  BareGang f;
  f.arrive("a");
  f.await("a");
  f.clock.advance(5s);
  f.arrive("b");
  f.await("b");
  f.waiting.reject_removed("b");
  EXPECT_EQ(f.arrive("c"), GroupBarrier::Pass::parked) << "b is gone, and left() was not called";
  f.clock.advance(15s);
  f.timers.run_due();
  ASSERT_EQ(f.decided["a"], PermitDecision::Kind::rejected) << "its time is over";
  EXPECT_EQ(f.arrive("d"), GroupBarrier::Pass::parked) << "only c and d wait";
  EXPECT_EQ(f.arrive("e"), GroupBarrier::Pass::go);
}

TEST(GroupBarrier, DoesNotCountADecisionThatWasNotCollected) {
  BareGang f;
  f.arrive("a");
  f.arrive("b");
  f.waiting.preempt("b", k_quota, "preempted");
  EXPECT_EQ(f.arrive("c"), GroupBarrier::Pass::parked);
  f.await("b");
  EXPECT_EQ(f.decided["b"], PermitDecision::Kind::preempted);
}

TEST(GroupBarrier, OpensForAllMembersOrNoneWhileAMemberIsDeleted) {
  constexpr int k_rounds = 500;
  for (int round = 0; round < k_rounds; ++round) {
    BareGang f;
    for (const char* uid : {"a", "b"}) {
      f.arrive(uid);
      f.await(uid);
    }
    std::thread deletes([&] { f.waiting.reject_removed("b"); });
    const GroupBarrier::Pass pass = f.arrive("c");
    deletes.join();
    const bool opened = pass == GroupBarrier::Pass::go;
    ASSERT_EQ(f.decided["b"], opened ? PermitDecision::Kind::allowed : PermitDecision::Kind::rejected) << round;
    ASSERT_EQ(f.decided.count("a"), opened ? 1u : 0u) << round;
  }
}

TEST(GroupBarrier, LetsAVictimGoAlone) {
  GangFixture f;
  const auto gang = f.barrier(3);
  f.place_behind(gang, "a");
  f.place_behind(gang, "b");
  EXPECT_TRUE(f.binder->preempt("uid-a", k_quota, "preempted"));
  EXPECT_FALSE(f.reserved("a"));
  EXPECT_TRUE(f.reserved("b"));
}

TEST(GroupBarrier, LetsAllThroughInAnyOrderOfArrival) {
  constexpr int k_threads = 8, k_rounds = 200;
  for (int round = 0; round < k_rounds; ++round) {
    ManualClock clock{1'000'000'000'000};
    Timers timers{clock};
    WaitingPods waiting{timers};
    GroupBarrier gang(waiting, PermitWait{k_gang, "Gang", 20 * k_second}, k_threads);
    std::atomic<int> passed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < k_threads; ++i)
      threads.emplace_back([&, i] {
        auto pod = std::make_shared<model::Pod>();
        pod->uid = "uid-" + std::to_string(i);
        if (gang.arrive(pod, 1) == GroupBarrier::Pass::go) {
          ++passed;
          return;
        }
        waiting.when_decided(pod->uid.text(), [&](const PermitDecision& decision) {
          passed += decision.kind == PermitDecision::Kind::allowed ? 1 : 0;
        });
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(passed, k_threads) << "round " << round;
    ASSERT_EQ(waiting.size(), 0u);
  }
}

TEST(GroupBarrier, DoesNotKeepTheProcessFromEnding) {
  GangFixture f;
  const auto gang = f.barrier(2);
  f.place_behind(gang, "a");
  EXPECT_TRUE(f.binder->drain(std::chrono::milliseconds(0)));
  EXPECT_FALSE(f.reserved("a"));
}

}  // namespace
}  // namespace berth::binding::testing
