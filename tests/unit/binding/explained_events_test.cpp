// SPDX-License-Identifier: Apache-2.0
// Events that say what would make a pod fit: when, how often, and what else may happen meanwhile.
#include "binding/explained_events.hpp"

#include <stdexcept>
#include <thread>

#include "base/utf8.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

constexpr std::int64_t k_s = 1'000'000'000, k_after_ns = 300 * k_s;
const std::string k_message = "0/3 nodes are available: 3 Insufficient cpu.";

struct Explained {
  PodPtr add(const std::string& name) {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "default";
    pod->name = name;
    pod->uid = "uid-" + name;
    return known[name] = pod;
  }
  /// What the event of a pod says that has waited for so long.
  std::string event(const PodPtr& pod, std::int64_t waited_ns) {
    const ExplainedEvents::Note note = events.note(pod, k_message, waited_ns);
    EXPECT_EQ(note.is_explained, note.text != k_message);
    return note.text;
  }
  void pass(std::int64_t ns) { clock.advance(std::chrono::nanoseconds(ns)); }

  ManualClock clock{0};
  std::map<std::string, PodPtr> known;
  std::string line = "It would fit with 2 instead of 4 cpu (1 node).";
  std::int64_t takes_ns = 0;
  std::vector<std::string> searched;  // names
  std::function<void()> while_searching = [] {};
  bool went_on = true;
  ExplainedEvents events{k_after_ns,
                         [this](const PodPtr& pod, const GoesOn& goes_on) {
                           searched.push_back(pod->name);
                           while_searching();
                           pass(takes_ns);
                           went_on = goes_on();
                           return line;
                         },
                         [this](const model::Pod& pod) -> PodPtr {
                           const auto it = known.find(pod.name);
                           return it == known.end() ? nullptr : it->second;
                         },
                         clock};
};

TEST(ExplainedEvents, AnEventOfAPodThatWaitsNotLongStaysAsItIs) {
  Explained e;
  const PodPtr pod = e.add("p");
  EXPECT_EQ(e.event(pod, 0), k_message);
  EXPECT_FALSE(e.events.search_next()) << "not before it has waited for long";
  e.pass(k_after_ns - 1);
  EXPECT_FALSE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns - 1), k_message);
  EXPECT_TRUE(e.searched.empty());
}

TEST(ExplainedEvents, TheFirstEventAfterASearchSaysWhatWouldMakeThePodFit) {
  Explained e;
  const PodPtr pod = e.add("p");
  e.event(pod, 0);
  e.pass(k_after_ns);
  EXPECT_TRUE(e.events.search_next());
  EXPECT_FALSE(e.events.search_next()) << "once";
  EXPECT_EQ(e.event(pod, k_after_ns + 1), k_message + '\n' + e.line);
  EXPECT_EQ(e.events.counts().found, 1U);
}

TEST(ExplainedEvents, AnEventWaitsForNoSearch) {
  Explained e;
  const PodPtr pod = e.add("p");
  EXPECT_EQ(e.event(pod, 2 * k_after_ns), k_message) << "there was no time for a search";
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, 2 * k_after_ns), k_message + '\n' + e.line) << "the line comes with the next one";
}

TEST(ExplainedEvents, WhatWasFoundIsLookedForAgainAndNotSaidWhenItIsOld) {
  Explained e;
  const PodPtr pod = e.add("p");
  e.event(pod, k_after_ns);
  e.events.search_next();
  e.pass(ExplainedEvents::k_fresh_ns - 1);
  e.event(pod, k_after_ns);
  EXPECT_FALSE(e.events.search_next()) << "it is fresh";
  e.pass(1);
  EXPECT_NE(e.event(pod, k_after_ns), k_message);
  EXPECT_EQ(e.searched.size(), 1U);
  e.line = "It fits on 1 node as it is.";
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns), k_message + '\n' + e.line);
  e.pass(ExplainedEvents::k_stale_ns);
  EXPECT_EQ(e.event(pod, k_after_ns), k_message) << "that was long ago";
}

TEST(ExplainedEvents, ASearchThatThrowsIsCountedAndTheNextOneIsMade) {
  Explained e;
  const PodPtr pod = e.add("p");
  e.event(pod, k_after_ns);
  e.while_searching = [] { throw std::runtime_error("no"); };
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns), k_message);
  e.while_searching = [] { throw 1; };
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns), k_message);
  EXPECT_EQ(e.events.counts().failed, 2U);
  e.while_searching = [] {};
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns), k_message + '\n' + e.line);
}

TEST(ExplainedEvents, ASearchThatFindsNothingLeavesTheEventAsItIs) {
  Explained e;
  const PodPtr pod = e.add("p");
  e.line.clear();
  e.event(pod, k_after_ns);
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.event(pod, k_after_ns), k_message);
  EXPECT_EQ(e.events.counts().nothing, 1U);
}

TEST(ExplainedEvents, ASearchEndsInTimeAndRestsNineTimesAsLong) {
  Explained e;
  for (const char* name : {"a", "b", "c"}) e.event(e.add(name), k_after_ns);
  e.takes_ns = k_s;
  EXPECT_TRUE(e.events.search_next());
  EXPECT_TRUE(e.went_on);
  EXPECT_FALSE(e.events.search_next());
  e.pass(ExplainedEvents::k_rest_factor * k_s - 1);
  EXPECT_FALSE(e.events.search_next());
  e.pass(1);
  e.takes_ns = ExplainedEvents::k_search_ns;
  EXPECT_TRUE(e.events.search_next());
  EXPECT_FALSE(e.went_on) << "its time is up";
  e.takes_ns = 3600 * k_s;
  e.pass(ExplainedEvents::k_rest_factor * ExplainedEvents::k_search_ns);
  EXPECT_TRUE(e.events.search_next());
  e.event(e.known["a"], k_after_ns);
  e.pass(ExplainedEvents::k_rest_ns_max);
  EXPECT_TRUE(e.events.search_next()) << "a rest ends";
  EXPECT_DOUBLE_EQ(e.events.counts().seconds, 1 + 2 + 3600 + 3600);
}

TEST(ExplainedEvents, APodThatIsBoundOrGoneIsDropped) {
  for (const bool during : {false, true}) {
    for (const int how : {0, 1, 2, 3}) {
      Explained e;
      const PodPtr pod = e.add("p");
      const auto end = [&] {
        auto now = std::make_shared<model::Pod>(*pod);
        if (how == 1) now->node_name = 7;
        if (how == 2) now->uid = "another";
        if (how == 3) now->deleting = true;
        if (how == 0)
          e.known.clear();
        else
          e.known["p"] = now;
      };
      e.event(pod, k_after_ns);
      if (during)
        e.while_searching = end;
      else
        end();
      EXPECT_TRUE(e.events.search_next());
      EXPECT_EQ(e.searched.size(), during ? 1U : 0U);
      EXPECT_EQ(e.events.counts().gone, 1U);
      EXPECT_EQ(e.events.counts().pods, 0U);
    }
  }
}

TEST(ExplainedEvents, PodsBeyondTheLimitAreDroppedUntilEarlierPodsAreGone) {
  Explained e;
  e.pass(10 * k_s);
  for (std::size_t i = 0; i < ExplainedEvents::k_pods_max; ++i) e.event(e.add(std::to_string(i)), 0);
  const PodPtr last = e.add("last");
  e.event(last, k_after_ns);
  EXPECT_EQ(e.events.counts().dropped, 1U);
  EXPECT_EQ(e.events.counts().pods, ExplainedEvents::k_pods_max);
  e.known.erase("5");
  EXPECT_TRUE(e.events.search_next()) << "looks who is still there";
  EXPECT_EQ(e.events.counts().pods, ExplainedEvents::k_pods_max - 1);
  e.event(last, k_after_ns);
  EXPECT_TRUE(e.events.search_next());
  EXPECT_EQ(e.searched, std::vector<std::string>{"last"});
  // A line that was found makes room for who has none.
  e.event(e.add("another"), 0);
  EXPECT_EQ(e.event(last, k_after_ns), k_message);
  EXPECT_EQ(e.events.counts().pods, ExplainedEvents::k_pods_max);
}

TEST(ExplainedEvents, ANoteHas1024BytesAndEndsWithACharacter) {
  Explained e;
  const PodPtr pod = e.add("p");
  e.line.clear();
  for (int i = 0; i < 600; ++i) e.line += "ü";
  e.event(pod, k_after_ns);
  e.events.search_next();
  const std::string full(1024, 'm');
  EXPECT_EQ(e.events.note(pod, full, k_after_ns).text, full) << "no room";
  EXPECT_EQ(e.events.note(pod, std::string(1000, 'm'), k_after_ns).text, std::string(1000, 'm')) << "hardly any";
  for (std::size_t size : {400U, 700U, 701U, 702U, 703U}) {
    const ExplainedEvents::Note note = e.events.note(pod, std::string(size, 'm'), k_after_ns);
    EXPECT_TRUE(note.is_explained);
    EXPECT_LE(note.text.size(), 1024U);
    EXPECT_EQ(find_invalid_utf8(note.text), std::string::npos);
    EXPECT_NE(note.text.find("ü ... ("), std::string::npos);
  }
}

TEST(ExplainedEvents, TheEndStopsASearchAndItsThread) {
  Explained e;
  e.event(e.add("p"), k_after_ns);
  e.while_searching = [&] { e.events.stop(); };
  std::thread thread([&] { e.events.run(); });
  thread.join();
  EXPECT_EQ(e.searched.size(), 1U);
  EXPECT_FALSE(e.went_on);
  Explained idle;
  std::thread waiting([&] { idle.events.run(); });
  idle.events.stop();
  waiting.join();
}

// Through the handler of failures: as many events as without, and none explained where that is off.
TEST(ExplainedEvents, ExplanationsAddNoEvents) {
  for (const bool on : {false, true}) {
    BindingFixture f;
    std::size_t searches = 0;
    ExplainedEvents explained(
        60 * k_s,
        [&](const PodPtr&, const GoesOn&) {
          ++searches;
          return std::string("It would fit with less.");
        },
        [&](const model::Pod& p) { return f.lookup(p); }, f.clock);
    FailureHandler failures(
        *f.queue, [&](const model::Pod& p) { return f.lookup(p); }, f.writer, f.symbols, f.attempts,
        on ? &explained : nullptr);
    f.add("p");
    for (int attempt = 0; attempt < 4; ++attempt) {
      Failure failure;
      failure.code = Code::unschedulable;
      failure.message = "no";
      failure.rejectors.unschedulable.insert(k_waiting_for_help);
      failures.handle(std::move(*f.queue->pop()), failure, "default-scheduler");
      f.clock.advance(400s);
      while (explained.search_next()) {
      }
      f.queue->flush();
    }
    ASSERT_EQ(f.writer.events.size(), 4U);
    EXPECT_EQ(f.writer.events[0].note, "no");
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_EQ(f.writer.events[i].note, on ? "no\nIt would fit with less." : "no") << i;
      EXPECT_EQ(f.writer.events[i].is_explained, on);
    }
    EXPECT_EQ(searches, on ? 2U : 0U) << "what was found a moment ago is not looked for again";
    for (const cluster::PodStatusPatch& patch : f.writer.patches)
      for (const auto& condition : patch.conditions)
        EXPECT_EQ(condition.message, "no") << "conditions stay as they are";
  }
}

TEST(ExplainedEvents, AnErrorIsNotExplained) {
  BindingFixture f;
  ExplainedEvents explained(
      60 * k_s, [&](const PodPtr&, const GoesOn&) { return std::string("fits"); },
      [&](const model::Pod& p) { return f.lookup(p); }, f.clock);
  FailureHandler failures(
      *f.queue, [&](const model::Pod& p) { return f.lookup(p); }, f.writer, f.symbols, f.attempts, &explained);
  f.add("p");
  Failure failure;
  failure.code = Code::error;
  failure.message = "no answer";
  failures.handle(std::move(*f.queue->pop()), failure, "default-scheduler");
  f.clock.advance(400s);
  EXPECT_FALSE(explained.search_next());
  EXPECT_EQ(explained.counts().pods, 0U);
}

}  // namespace
}  // namespace berth::binding::testing
