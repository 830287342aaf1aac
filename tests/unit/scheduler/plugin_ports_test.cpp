// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_ports.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/embedded/embedded_cluster.hpp"

namespace berth::app {
namespace {

/// Answers as it was told, and keeps what it was asked for.
class AnsweringWriter final : public cluster::ClusterWriter {
 public:
  void bind(const cluster::PodRef&, std::string_view, Done done) override { answer("bind", done); }
  void patch_pod_status(const cluster::PodRef&, const cluster::PodStatusPatch&, Done done) override {
    answer("mark", done);
  }
  void patch_pod_metadata(const cluster::PodRef&, const cluster::PodMetadataPatch&, Done done) override {
    answer("label", done);
  }
  void evict(const cluster::PodRef&, Done done) override { answer("evict", done); }
  void patch_object(const cluster::ObjectRef&, std::string_view, Done done) override { answer("patch", done); }
  void record_event(const cluster::EventRecord&, Done done) override { answer("event", done); }

  std::map<std::string, ErrorCode> refusals;  // by what is asked for
  std::vector<std::string> asked;

 private:
  void answer(const std::string& what, const Done& done) {
    asked.push_back(what);
    const auto refusal = refusals.find(what);
    done(refusal == refusals.end() ? Status(Unit{}) : Status(Error{"no", refusal->second}));
  }
};

/// What came of an eviction: "" or the code of its failure, and what was written for it.
struct Evicted {
  std::string failure;
  std::vector<std::string> writes;
  friend bool operator==(const Evicted&, const Evicted&) = default;
};
void PrintTo(const Evicted& evicted, std::ostream* out) {
  *out << '"' << evicted.failure << "\" after " << testing::PrintToString(evicted.writes);
}

Evicted evict(std::map<std::string, ErrorCode> refusals) {
  AnsweringWriter writer;
  writer.refusals = std::move(refusals);
  std::vector<Status> answers;
  scheduler::PluginWrites(writer).evict({"default", "p", "uid-p"}, "because", "second-scheduler",
                                        [&](Status status) { answers.push_back(std::move(status)); });
  EXPECT_EQ(answers.size(), 1U) << "one answer";
  return {answers.empty() || answers.front().ok() ? "" : std::string(error_name(answers.front().error().code)),
          std::move(writer.asked)};
}

TEST(PluginWrites, AnEvictionMarksThePodFirstAndHasAnEvent) {
  EXPECT_EQ(evict({}), (Evicted{"", {"mark", "evict", "event"}}));
}

TEST(PluginWrites, AnEvictionOfAPodThatIsGoneSucceedsAndAsksForNothingMore) {
  EXPECT_EQ(evict({{"mark", ErrorCode::not_found}}), (Evicted{"", {"mark"}}));
  EXPECT_EQ(evict({{"evict", ErrorCode::not_found}}), (Evicted{"", {"mark", "evict"}}));
}

TEST(PluginWrites, AnEvictionEndsWithTheFirstRefusal) {
  EXPECT_EQ(evict({{"mark", ErrorCode::forbidden}}), (Evicted{"forbidden", {"mark"}}));
  EXPECT_EQ(evict({{"evict", ErrorCode::conflict}}), (Evicted{"conflict", {"mark", "evict"}}));
}

TEST(PluginWrites, ThatAreNoPatchesAreNotTaken) {
  AnsweringWriter writer;
  scheduler::PluginWrites writes(writer);
  bool answered = false;
  const auto done = [&](const Status&) { answered = true; };
  for (const char* const patch : {"", "[]", "5", "{", "no"}) {
    EXPECT_FALSE(writes.patch_status({"default", "p", "u"}, patch, done).ok()) << patch;
    EXPECT_FALSE(writes.patch_metadata({"default", "p", "u"}, patch, done).ok()) << patch;
    EXPECT_FALSE(writes.patch_object("core/v1/persistentvolumes", "", "v", patch, done).ok()) << patch;
  }
  EXPECT_FALSE(writes.patch_metadata({"default", "p", "u"}, R"({"metadata":{"uid":"x"}})", done).ok());
  EXPECT_FALSE(writes.patch_metadata({"default", "p", "u"}, R"({"spec":{}})", done).ok());
  EXPECT_FALSE(answered);
  EXPECT_TRUE(writer.asked.empty());
  EXPECT_TRUE(writes.patch_metadata({"default", "p", "u"}, R"({"metadata":{"labels":{"a":"b"}}})", done).ok());
  EXPECT_TRUE(answered);
}

/// Keeps what is posted until a thread is free.
struct BusyExecutor final : binding::Executor {
  void post(std::function<void()> task) override { waiting.push_back(std::move(task)); }
  void run_all() {
    for (const auto& task : std::exchange(waiting, {})) task();
  }
  std::vector<std::function<void()>> waiting;
};

TEST(PluginTasks, ATaskThatIsSlowerThanItsPeriodWaitsOnce) {
  ManualClock clock;
  binding::Timers timers(clock);
  BusyExecutor executor;
  scheduler::PluginTasks tasks(executor, timers);
  bool is_wanted = true;
  int turns = 0;
  tasks.every(
      10, [&] { return is_wanted; }, [&] { ++turns; });
  const auto pass = [&](int periods) {
    for (int i = 0; i < periods; ++i) {
      clock.advance(std::chrono::milliseconds(10));
      timers.run_due();
    }
  };
  pass(1000);
  EXPECT_EQ(executor.waiting.size(), 1U) << "no thread was free for it";
  executor.run_all();
  EXPECT_EQ(turns, 1) << "what it was late for is left out";
  for (int i = 0; i < 3; ++i) {
    pass(1);
    executor.run_all();
  }
  EXPECT_EQ(turns, 4) << "as often as its period says while it keeps up";
  is_wanted = false;
  pass(2);
  EXPECT_TRUE(executor.waiting.empty());
  EXPECT_FALSE(timers.next_ns().has_value()) << "the timer ends with the task";
}

TEST(PluginEvents, AreReportedByTheSchedulerOfTheProfile) {
  SymbolTable symbols;
  ManualClock clock;
  cluster::EmbeddedCluster cluster(symbols, clock);
  scheduler::PluginEvents events(cluster);
  events.record({true, "Pod", "shop", "web", "u", "Odd", "Looking", "note", "second-scheduler"});
  const auto writes = cluster.writes();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].event.controller, "second-scheduler");
  EXPECT_EQ(writes[0].event.reason, "Odd");
}

}  // namespace
}  // namespace berth::app
