// SPDX-License-Identifier: Apache-2.0
#include "binding/binder.hpp"

#include "binding/thread_pool.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

using queue::Place;

std::uint64_t result(const BindingFixture& f, AttemptResult kind) {
  return f.attempts.count("default-scheduler", kind);
}

TEST(Binder, BindsAPlacedPodAndTellsSo) {
  BindingFixture f;
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Binder", "post_bind", "free"}));
  EXPECT_EQ(f.writer.lines, (Lines{"bind p to n1",
                                   "event p Normal Scheduled/Binding \"Successfully assigned default/p to n1\" by "
                                   "default-scheduler"}));
  EXPECT_TRUE(f.assumed()) << "until the watch delivers the bound pod";
  EXPECT_TRUE(f.queue->pending_pods().empty());
  EXPECT_EQ(result(f, AttemptResult::scheduled), 1U);
  EXPECT_EQ(f.binder->counts().bound, 1U);
  EXPECT_EQ(f.binder->counts().open, 0U);
}

TEST(Binder, HandsTheAssumptionOverWhereItMayExpire) {
  for (const bool confirmed : {false, true}) {
    BindingFixture f;
    std::vector<cache::Assumption> kept;
    f.make_binder({}, [&](cache::Assumption assumption) { kept.push_back(std::move(assumption)); });
    const PodPtr pod = f.place();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_TRUE(f.assumed());
    if (confirmed) {
      auto bound = std::make_shared<model::Pod>(*pod);
      bound->node_name = f.symbols.find("n1");
      EXPECT_TRUE(f.cache.add_pod(bound).ok());
    }
    kept.clear();  // time is over
    EXPECT_EQ(f.cache.find_pod(pod->uid).has_value(), confirmed);
  }
}

TEST(Binder, CountsPodsThatOnlyAFlushOfTheQueueBroughtBack) {
  BindingFixture f;
  const PodPtr pod = f.add("p");
  std::optional<queue::Ticket> ticket = f.queue->pop();
  model::PluginSet waiting_for_help;
  waiting_for_help.insert(k_waiting_for_help);
  ASSERT_TRUE(f.queue->requeue(std::move(*ticket), {waiting_for_help, {}}, nullptr).ok());
  f.clock.advance(std::chrono::minutes(6));
  f.queue->flush();
  f.start(pod);
  EXPECT_EQ(f.attempts.scheduled_after_flush(), 1U);
  f.start(f.add("q"));
  EXPECT_EQ(f.attempts.scheduled_after_flush(), 1U);
  EXPECT_EQ(result(f, AttemptResult::scheduled), 2U);
}

// Pre-bind.

TEST(Binder, AnnouncesANodeBeforeASlowBinding) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"Volumes", {}, false, {}, false}, {"Idle", no("", Code::skip), false, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls,
            (Lines{"check Volumes", "check Idle", "pre_bind Volumes", "bind Binder", "post_bind", "free"}));
  EXPECT_EQ(f.writer.lines.at(0), "status p nominated=n1");
}

TEST(Binder, AnnouncesNothingWhenEverybodySkipsOrTheNodeIsKnown) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"Idle", no("", Code::skip), false, {}, false}};
  f.place();
  EXPECT_EQ(f.writer.lines.at(0), "bind p to n1");

  BindingFixture g;
  g.pipeline.pre_binders = {{"Volumes", {}, false, {}, false}};
  auto pod = std::make_shared<model::Pod>(*g.add("p"));
  pod->nominated_node = g.symbols.find("n1");
  g.start(pod);
  EXPECT_EQ(g.writer.lines.at(0), "bind p to n1");
}

TEST(Binder, AsksNoPluginBeforehandWithoutAnnouncements) {
  BindingFixture f;
  f.make_binder({false});
  f.pipeline.pre_binders = {{"Idle", no("", Code::skip), true, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"pre_bind Idle", "bind Binder", "post_bind", "free"}));
  EXPECT_EQ(f.writer.lines.at(0), "bind p to n1");
}

struct CheckFailure {
  const char* name;
  Verdict verdict;
  const char* message;
};
class PreBindCheckFailure : public ::testing::TestWithParam<CheckFailure> {};

TEST_P(PreBindCheckFailure, EndsTheAttemptAsAnError) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"Volumes", GetParam().verdict, false, {}, false}, {"Other", {}, false, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"check Volumes", "unreserve Second", "unreserve First", "free"}));
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.writer.events.at(0).note, GetParam().message);
  EXPECT_EQ(f.writer.patches.at(0).conditions.at(0).reason, "SchedulerError");
}

INSTANTIATE_TEST_SUITE_P(
    Codes, PreBindCheckFailure,
    ::testing::Values(CheckFailure{"error", no("no volume", Code::error),
                                   "running PreBindPreFlight \"Volumes\": no volume"},
                      CheckFailure{"rejection", no("no volume"),
                                   "PreBindPreFlight Volumes returned \"Unschedulable\", which is unsupported. It is "
                                   "supposed to return Success, Skip, or Error status"}),
    [](const auto& row) { return row.param.name; });

TEST(Binder, RunsParallelNeighboursTogetherAndOthersAlone) {
  BindingFixture f;
  // a and c are one group: a skipped parallel plugin does not part them. d runs alone. A skipped plugin that is not
  // parallel (e) still parts f and g.
  f.pipeline.pre_binders = {{"a", {}, true, {}, true}, {"b", no("", Code::skip), true, {}, true},
                            {"c", {}, true, {}, true}, {"d", {}, false, {}, true},
                            {"f", {}, true, {}, true}, {"e", no("", Code::skip), false, {}, true},
                            {"g", {}, true, {}, true}};
  f.place();
  const auto begun = [&] {
    std::string names;
    for (const std::string& call : f.pipeline.calls)
      if (call.rfind("pre_bind ", 0) == 0) names += call.substr(9);
    return names;
  };
  EXPECT_EQ(begun(), "ac");
  f.pipeline.answer("c");
  EXPECT_EQ(begun(), "ac");
  f.pipeline.answer("a");
  EXPECT_EQ(begun(), "acd");
  f.pipeline.answer("d");
  EXPECT_EQ(begun(), "acdf");
  f.pipeline.answer("f");
  EXPECT_EQ(begun(), "acdfg");
  EXPECT_EQ(f.binder->open_bindings().at(0).step, BindStep::pre_bind);
  f.pipeline.answer("g");
  EXPECT_EQ(f.binder->counts().bound, 1U);
}

TEST(Binder, TheFirstFailureOfAGroupCountsAndItsNeighboursAreCancelled) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, true, {}, true}, {"b", {}, true, {}, true}};
  f.place();
  EXPECT_FALSE(f.pipeline.open.at("a").cancelled());
  f.pipeline.answer("b", no("broken", Code::error));
  EXPECT_TRUE(f.pipeline.open.at("a").cancelled());
  EXPECT_EQ(f.binder->counts().open, 1U) << "until the neighbour has ended too";
  f.pipeline.answer("a", no("cancelled", Code::error));
  EXPECT_EQ(f.writer.events.at(0).note, "running PreBind plugin \"b\": broken");
  EXPECT_EQ(f.binder->counts().failed, 1U);
}

TEST(Binder, APluginThatFailsAtOnceKeepsItsNeighbourFromStarting) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, true, no("broken", Code::error), false}, {"b", {}, true, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls,
            (Lines{"check a", "check b", "pre_bind a", "unreserve Second", "unreserve First", "free"}));
}

TEST(Binder, ReportsASecondAnswerAndIgnoresIt) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, false, {}, true}};
  f.place();
  f.pipeline.answer("a");
  f.pipeline.answer("a", no("changed my mind", Code::error));
  EXPECT_EQ(f.binder->counts().bound, 1U);
  EXPECT_EQ(f.binder->counts().failed, 0U);
}

TEST(Binder, ASecondAnswerLongAfterTheBindingIsHarmless) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, false, {}, true}};
  f.pipeline.binders[0].async = true;
  f.place();
  f.pipeline.answer("a");
  f.pipeline.answer("Binder");
  ASSERT_EQ(f.binder->counts().bound, 1U);
  EXPECT_TRUE(f.pipeline.open.at("Binder").cancelled()) << "nothing waits for it";
  for (const char* plugin : {"a", "Binder"}) f.pipeline.answer(plugin, no("changed my mind", Code::error));
  // The calls of another pod are not taken for those.
  const PodPtr next = f.add("q");
  f.pipeline.open.clear();
  f.start(next);
  EXPECT_FALSE(f.pipeline.open.at("a").cancelled());
  f.pipeline.answer("a");
  f.pipeline.answer("Binder");
  EXPECT_EQ(f.binder->counts().bound, 2U);
  EXPECT_EQ(f.binder->counts().failed, 0U);
}

TEST(Binder, APreBindRejectionKeepsItsReasonButBacksOffAsAnError) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, false, no("not yet"), false}};
  f.place();
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.writer.events.at(0).note, "not yet");
  const cluster::PodStatusPatch& patch = f.writer.patches.back();
  EXPECT_EQ(patch.conditions.at(0).reason, "Unschedulable");
  EXPECT_EQ(result(f, AttemptResult::unschedulable), 1U);
}

TEST(Binder, APodThatIsNeededElsewhereIsCalledOffDuringPreBindOnly) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, false, {}, true}};
  f.pipeline.binders[0].async = true;
  f.place();
  EXPECT_TRUE(f.binder->preempt("uid-p", k_quota, "preempted by Quota"));
  EXPECT_TRUE(f.pipeline.open.at("a").cancelled());
  f.pipeline.answer("a");
  EXPECT_EQ(f.writer.events.at(0).note, "preempted by Quota");
  EXPECT_FALSE(f.assumed());

  BindingFixture g;
  g.pipeline.binders[0].async = true;
  g.place();
  EXPECT_FALSE(g.binder->preempt("uid-p", k_quota, "preempted by Quota"));
  g.pipeline.answer("Binder");
  EXPECT_EQ(g.binder->counts().bound, 1U);
}

// Bind.

TEST(Binder, ASkippingBinderHandsThePodOn) {
  BindingFixture f;
  f.pipeline.binders = {{"Picky", {}, false, no("", Code::skip), false}, {"Binder", {}, false, {}, false}};
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Picky", "bind Binder", "post_bind", "free"}));
}

TEST(Binder, APodThatEveryBinderSkipsIsRetriedWithoutAnEvent) {
  BindingFixture f;
  f.pipeline.binders = {{"Picky", {}, false, no("", Code::skip), false}};
  f.place();
  EXPECT_TRUE(f.writer.lines.empty());
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Picky", "unreserve Second", "unreserve First", "free"}));
}

TEST(Binder, AFailedBindComesBackWithBackoffAndFreesTheNode) {
  BindingFixture f;
  f.writer.refuse = "bind";
  f.place();
  EXPECT_EQ(f.pipeline.calls, (Lines{"bind Binder", "unreserve Second", "unreserve First", "free"}));
  EXPECT_FALSE(f.assumed());
  EXPECT_EQ(f.cache.counts().assumed_pods, 0U);
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(
      f.writer.lines,
      (Lines{
          "bind p to n1",
          "event p Warning FailedScheduling/Scheduling \"running Bind plugin \"Binder\": the API server refuses\" by "
          "default-scheduler",
          "status p PodScheduled=False/SchedulerError \"running Bind plugin \"Binder\": the API server refuses\""}));
  EXPECT_EQ(result(f, AttemptResult::error), 1U);
}

TEST(Binder, BindsAtMostOncePerPlacement) {
  BindingFixture f;
  f.pipeline.pre_binders = {{"a", {}, false, {}, true}};
  f.place();
  f.pipeline.answer("a");
  f.pipeline.answer("a");
  EXPECT_EQ(std::count(f.writer.lines.begin(), f.writer.lines.end(), "bind p to n1"), 1);
}

TEST(Binder, AFailureIsADeletionForPodsThatWait) {
  for (const bool rejected : {false, true}) {
    BindingFixture f;
    f.pipeline.pre_binders = {{"a", {}, false, no("no", rejected ? Code::unschedulable : Code::error), false}};
    // Another pod waits for room: rejected by the plugin whose hint looks at the freed node.
    f.add("waits");
    queue::Rejectors by_gang;
    by_gang.unschedulable.insert(k_gang);
    ASSERT_TRUE(f.queue->requeue(std::move(*f.queue->pop()), by_gang, nullptr).ok());
    EXPECT_EQ(f.pending("waits").place, Place::unschedulable);
    f.place();
    EXPECT_EQ(f.pending("waits").place, Place::backoff);
    EXPECT_EQ(f.freed_on, "n1");
  }
}

TEST(Binder, DrainEndsWaitsAndWaitsForOpenCalls) {
  BindingFixture f;
  f.place({{k_gang, "Gang", 60'000'000'000}});
  EXPECT_TRUE(f.binder->drain(1000ms));
  EXPECT_EQ(f.binder->counts().open, 0U);

  BindingFixture g;
  g.pipeline.pre_binders = {{"a", {}, false, {}, true}};
  g.place();
  EXPECT_FALSE(g.binder->drain(0ms));
  EXPECT_TRUE(g.pipeline.open.at("a").cancelled());
  g.pipeline.answer("a", no("cancelled", Code::error));
  EXPECT_TRUE(g.binder->drain(0ms));
}

TEST(Binder, StepsOfOnePodRunInOrderOnManyThreads) {
  BindingFixture f;
  ThreadPool pool(3);
  f.binder.emplace(BinderOptions{},
                   BinderParts{pool, f.waiting, *f.failures, *f.queue, f.writer, f.symbols, f.attempts});
  f.pipeline.pre_binders = {{"a", {}, false, {}, false}, {"b", {}, false, {}, false}};
  f.place();
  ASSERT_TRUE(f.binder->drain(10s));
  const Lines want{"check a", "check b", "pre_bind a", "pre_bind b", "bind Binder", "post_bind", "free"};
  EXPECT_EQ(f.pipeline.calls, want);
}

}  // namespace
}  // namespace berth::binding::testing
