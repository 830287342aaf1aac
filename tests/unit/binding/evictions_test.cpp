// SPDX-License-Identifier: Apache-2.0
#include "binding/evictions.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <new>
#include <set>

#include "cluster/accepting_writer.hpp"

namespace berth::binding {
namespace {

model::PodPtr pod(const std::string& name, bool deleting = false) {
  auto pod = std::make_shared<model::Pod>();
  pod->ns = "default";
  pod->name = name;
  pod->uid = "uid-" + name;
  pod->deleting = deleting;
  return pod;
}

/// Writes wait until the test lets them end.
class SlowWriter final : public cluster::AcceptingWriter {
 public:
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    open.push_back({patch.nominated_node ? "unnominate " + pod.name
                                         : "mark " + pod.name + " " + patch.conditions.front().reason + ": " +
                                               patch.conditions.front().message,
                    std::move(done)});
  }
  void evict(const cluster::PodRef& pod, Done done) override {
    if (has_no_memory) throw std::bad_alloc();
    open.push_back({"evict " + pod.name, std::move(done)});
  }
  void record_event(const cluster::EventRecord& e, Done) override {
    events.push_back(e.regarding.name + ": " + e.reason + "/" + e.action + " " + e.note + " for " + e.related->name);
  }

  struct Open {
    std::string what;
    Done done;
  };
  std::vector<std::string> waiting() const {
    std::vector<std::string> list;
    for (const Open& write : open) list.push_back(write.what);
    return list;
  }
  void end_next(Status status = Unit{}) {
    ASSERT_FALSE(open.empty());
    const Open write = std::move(open.front());
    open.pop_front();
    write.done(std::move(status));
  }
  std::deque<Open> open;
  std::vector<std::string> events;
  bool has_no_memory = false;
};

struct Activations final : framework::ActivationPort {
  void activate(std::string_view uid) override { uids.emplace_back(uid); }
  void activate_class(std::uint64_t) override {}
  std::vector<std::string> uids;
};

class EvictionsTest : public ::testing::Test {
 protected:
  SlowWriter writer;
  Activations activations;
  InlineExecutor executor;
  std::set<std::string> binding;                 // uids whose binding can still be stopped
  std::map<std::string, model::PodPtr> cluster;  // by name
  std::vector<std::string> ended;
  EvictionsUnderWay under_way{[this](const model::Pod& p) {
    const auto at = cluster.find(p.name);
    return at == cluster.end() ? nullptr : at->second;
  }};
  Evictions evictions{{executor, writer, activations, under_way,
                       [this](std::string_view uid, model::PluginIndex, const std::string&) {
                         return binding.erase(std::string(uid)) != 0;
                       },
                       [this](const EvictionOrder& order, bool failed) {
                         ended.push_back(order.preemptor->name + (failed ? " failed" : " succeeded"));
                       }}};

  void start(std::vector<model::PodPtr> victims, std::vector<model::PodPtr> outranked = {}) {
    for (const model::PodPtr& victim : victims) cluster[victim->name] = victim;
    evictions.start(
        {pod("urgent"), "default-scheduler", "DefaultPreemption", 3, "n1", std::move(victims), std::move(outranked)});
  }
  bool urgent_waits() { return under_way.evicting("uid-urgent"); }
};

using Writes = std::vector<std::string>;
const std::string k_why = " PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod";

TEST_F(EvictionsTest, EvictTheLastVictimWhenAllOthersAreGone) {
  start({pod("a"), pod("b"), pod("c")});
  EXPECT_EQ(writer.waiting(), (Writes{"mark a" + k_why, "mark b" + k_why}));
  writer.end_next();
  writer.end_next();
  EXPECT_EQ(writer.waiting(), (Writes{"evict a", "evict b"}));
  writer.end_next();
  EXPECT_EQ(writer.waiting(), (Writes{"evict b"}));
  writer.end_next();
  EXPECT_EQ(writer.waiting(), (Writes{"mark c" + k_why}));
  EXPECT_TRUE(urgent_waits());
  writer.end_next();
  EXPECT_TRUE(ended.empty());
  writer.end_next();
  EXPECT_EQ(ended, (Writes{"urgent succeeded"}));
  EXPECT_TRUE(writer.open.empty());
  EXPECT_FALSE(urgent_waits());
  EXPECT_TRUE(activations.uids.empty()) << "the deletions wake it";
  EXPECT_EQ(writer.events, (Writes{"a: Preempted/Preempting Preempted by pod uid-urgent on node n1 for urgent",
                                   "b: Preempted/Preempting Preempted by pod uid-urgent on node n1 for urgent",
                                   "c: Preempted/Preempting Preempted by pod uid-urgent on node n1 for urgent"}));
}

/// Ends each write at once; evictions of the pods in `refused` fail.
class PromptWriter final : public cluster::AcceptingWriter {
 public:
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    writes.push_back((patch.nominated_node ? "unnominate " : "mark ") + pod.name);
    done(Unit{});
  }
  void evict(const cluster::PodRef& pod, Done done) override {
    writes.push_back("evict " + pod.name);
    if (!hangs) done(refused.contains(pod.name) ? Status(Error{"no " + pod.name}) : Status(Unit{}));
  }
  void record_event(const cluster::EventRecord&, Done) override {}
  std::vector<std::string> writes;
  std::set<std::string> refused;
  bool hangs = false;
};

class EvictionsInTheCycle : public ::testing::Test {
 protected:
  PromptWriter writer;
  Activations activations;
  InlineExecutor executor;
  EvictionsUnderWay under_way{[](const model::Pod&) { return nullptr; }};
  Evictions evictions{{executor, writer, activations, under_way,
                       [](std::string_view, model::PluginIndex, const std::string&) { return false; }}};
  Status carry_out(std::vector<model::PodPtr> victims, std::vector<model::PodPtr> outranked = {}) {
    return evictions.carry_out(
        {pod("urgent"), "default-scheduler", "DefaultPreemption", 3, "n1", std::move(victims), std::move(outranked)},
        std::chrono::milliseconds(20));
  }
};

TEST_F(EvictionsInTheCycle, EvictAllVictimsThenEndNominations) {
  EXPECT_TRUE(carry_out({pod("a"), pod("gone", true), pod("b")}, {pod("meek")}).ok());
  EXPECT_EQ(writer.writes, (Writes{"mark a", "evict a", "mark b", "evict b", "unnominate meek"}));
  EXPECT_FALSE(under_way.evicting("uid-urgent"));
  EXPECT_TRUE(carry_out({pod("gone", true)}, {pod("meek")}).ok());
  EXPECT_EQ(writer.writes.size(), 6U) << "nothing to evict, and the nomination ends all the same";
}

TEST_F(EvictionsInTheCycle, FailWithTheFirstVictimThatStays) {
  writer.refused = {"a"};
  const Status failed = carry_out({pod("a"), pod("b")}, {pod("meek")});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no a");
  EXPECT_EQ(writer.writes, (Writes{"mark a", "evict a", "mark b", "evict b"}));
  EXPECT_TRUE(activations.uids.empty());
}

TEST_F(EvictionsInTheCycle, EndWhenAWriteDoesNot) {
  writer.hangs = true;
  const Status failed = carry_out({pod("a")});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "evictions on node n1 took longer than 20 ms");
}

TEST_F(EvictionsTest, EndWaitingWhenTheLastVictimIsSeenLeaving) {
  start({pod("a")});
  EXPECT_TRUE(urgent_waits());
  cluster["a"] = pod("a", true);
  EXPECT_FALSE(urgent_waits()) << "terminating";
  cluster.erase("a");
  EXPECT_FALSE(urgent_waits()) << "gone";
}

// The end waits for what is under way: what ended with an exception is not.
TEST_F(EvictionsTest, EndAfterAnException) {
  writer.has_no_memory = true;
  start({pod("a")});
  EXPECT_THROW(writer.end_next(), std::bad_alloc) << "the answer to the condition of the victim";
}

TEST_F(EvictionsTest, ClearNominationsOfOutrankedPodsFirst) {
  start({pod("a")}, {pod("hopeful")});
  EXPECT_EQ(writer.waiting(), (Writes{"unnominate hopeful"}));
  writer.end_next(Error{"no", ErrorCode::not_found});
  EXPECT_EQ(writer.waiting(), (Writes{"mark a" + k_why})) << "a pod that is gone needs no promise";
}

TEST_F(EvictionsTest, TryThePodAgainWhenAWriteFails) {
  start({pod("a"), pod("b")});
  writer.end_next(Error{"no", ErrorCode::internal_error});
  EXPECT_TRUE(writer.open.empty()) << "the last victim stays";
  EXPECT_EQ(ended, (Writes{"urgent failed"}));
  EXPECT_FALSE(urgent_waits());
  EXPECT_EQ(activations.uids, (Writes{"uid-urgent"}));
  EXPECT_TRUE(writer.events.empty());
}

TEST_F(EvictionsTest, KeepSilentAboutVictimsThatAreGone) {
  start({pod("a")});
  writer.end_next(Error{"no", ErrorCode::not_found});
  EXPECT_FALSE(urgent_waits());
  EXPECT_TRUE(writer.events.empty());
  EXPECT_TRUE(activations.uids.empty());
}

TEST_F(EvictionsTest, StopABindingInsteadOfWriting) {
  binding.insert("uid-a");
  start({pod("a")});
  EXPECT_TRUE(writer.open.empty());
  EXPECT_FALSE(urgent_waits());
  EXPECT_EQ(writer.events, (Writes{"a: Preempted/Preempting Preempted by pod uid-urgent on node n1 (in kube-scheduler "
                                   "memory). for urgent"}));
}

TEST_F(EvictionsTest, LeaveTerminatingVictimsAlone) {
  start({pod("a", true)}, {pod("hopeful")});
  EXPECT_TRUE(writer.open.empty());
  EXPECT_FALSE(urgent_waits());
}

TEST_F(EvictionsTest, CountTwoPreemptionsOfOnePod) {
  start({pod("a")});
  start({pod("b")});
  writer.end_next();
  writer.end_next();
  writer.end_next();
  EXPECT_TRUE(urgent_waits());
  writer.end_next();
  EXPECT_FALSE(urgent_waits());
}

}  // namespace
}  // namespace berth::binding
