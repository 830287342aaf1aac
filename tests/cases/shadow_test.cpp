// SPDX-License-Identifier: Apache-2.0
// What a shadow says of bindings that another scheduler makes, change by change and on a clock that is moved by hand.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <optional>
#include <stdexcept>

#include "app/shadow/shadow.hpp"
#include "app/simulate/simulation.hpp"
#include "binding/executor.hpp"
#include "binding/timers.hpp"
#include "cases/put_json.hpp"
#include "cluster/accepting_writer.hpp"
#include "config/resolve.hpp"
#include "ingest/ingest.hpp"
#include "text/parse.hpp"

namespace berth::cases {
namespace {

using namespace std::chrono_literals;
using app::Shadow;
using app::ShadowReport;
using app::ShadowResult;

struct Wish {
  std::string uid = {};  // empty: of the name
  std::string node = {};
  int priority = 0;
  std::string nominated = {};
  std::string app = {};           // a label
  std::string near = {};          // preferred: a node with a pod of that label
  bool is_unschedulable = false;  // as its condition says
};

class ShadowTest : public testing::Test {
 protected:
  ShadowTest() {
    config::RawConfiguration raw = config::load_defaults();
    plugins_ = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
    text::Diagnostics problems;
    configuration_ = config::resolve(raw, plugins_.catalog(), config::AbsentPlugins::embedded(), problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000;
    simulation_ = app::Simulation::make(symbols_, configuration_, plugins_, options).value();
    ingest_.emplace(scheduler().intake());
    shadow_.emplace(*ingest_, scheduler(), configuration_, clock());
    cluster::ClusterSink& sink = *shadow_;
    sink.node_added(node("a", 4));
    sink.node_added(node("b", 4));
    sink.synced();
  }
  scheduler::Scheduler& scheduler() { return simulation_->scheduler(); }
  ManualClock& clock() { return simulation_->clock(); }

  decode::Decoded decoded(const std::string& json) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "generated", problems);
    auto out = decode::ObjectDecoder(symbols_, watched_by(*simulation_))
                   .decode(documents.at(0), documents.at(0).root(), problems);
    EXPECT_TRUE(problems.empty() && out) << problems.render() << json;
    return *out;
  }
  model::NodePtr node(const std::string& name, int cpu) {
    return std::get<model::NodePtr>(decoded(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{"host":"{0}"}}}},"status":{{"allocatable":{{"cpu":"{1}","memory":"8Gi","pods":"10"}}}}}})",
        name, cpu)));
  }
  model::PodPtr pod(const std::string& name, int cpu, const Wish& wish = {}) {
    const std::string affinity =
        wish.near.empty()
            ? "{}"
            : fmt::format(
                  R"({{"podAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":100,"podAffinityTerm":)"
                  R"({{"topologyKey":"host","labelSelector":{{"matchLabels":{{"app":"{}"}}}}}}}}]}}}})",
                  wish.near);
    return std::get<model::PodPtr>(decoded(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"default","uid":"{1}","resourceVersion":"{2}","labels":{{"app":"{7}"}}}},)"
        R"("spec":{{"schedulerName":"default-scheduler","nodeName":"{3}","priority":{4},"affinity":{8},"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{5}"}}}}}}]}},)"
        R"("status":{{"nominatedNodeName":"{6}","conditions":[{9}]}}}})",
        name, wish.uid.empty() ? "uid-" + name : wish.uid, ++version_, wish.node, wish.priority, cpu, wish.nominated,
        wish.app, affinity,
        wish.is_unschedulable ? R"({"type":"PodScheduled","status":"False","reason":"Unschedulable"})" : "")));
  }
  /// The scheduler in charge binds a pod that was pending.
  void binds(const std::string& name, int cpu, const std::string& to, Wish wish = {}) {
    const model::PodPtr pending = pod(name, cpu, wish);
    shadow_->pod_added(pending);
    wish.node = to;
    shadow_->pod_updated(pending, pod(name, cpu, wish));
  }
  /// What became of the pod's difference, now that nothing more comes.
  app::ShadowDifference settled(const std::string& pod_name) {
    shadow_->finish(1'000'000'000);
    for (const app::ShadowDifference& each : shadow_->report().differences)
      if (each.pod == "default/" + pod_name) return each;
    ADD_FAILURE() << "no difference of " << pod_name;
    return {};
  }
  bool is_placed(const std::string& uid) { return scheduler().intake().cache.find_pod(uid).has_value(); }

  SymbolTable symbols_;
  config::Configuration configuration_;
  app::PluginLibrary plugins_;
  std::unique_ptr<app::Simulation> simulation_;
  std::optional<ingest::Ingest> ingest_;
  std::optional<Shadow> shadow_;
  int version_ = 0;
};

TEST_F(ShadowTest, OneOfTwoEqualNodesIsTheSameOrATie) {
  binds("p", 1, "a");
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.count(ShadowResult::same) + report.count(ShadowResult::tie), 1U);
  EXPECT_TRUE(is_placed("uid-p"));
}

TEST_F(ShadowTest, APodThatReplacesAnotherOfItsNameWasNotSeenBefore) {
  const model::PodPtr pending = pod("p", 1, {.uid = "first"});
  shadow_->pod_added(pending);
  shadow_->pod_updated(pending, pod("p", 1, {.uid = "second", .node = "a"}));
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.compared(), 0U) << "what it was before it was bound is not known";
  EXPECT_EQ(report.not_seen_before, 1U);
  EXPECT_TRUE(is_placed("second")) << "the change is passed on";
}

TEST_F(ShadowTest, ADifferenceIsJudgedWhenWhatCameFiveSecondsLaterIsKnown) {
  binds("first", 2, "a");
  clock().advance(10s);    // long ago for what follows
  binds("worse", 1, "a");  // b is empty
  EXPECT_EQ(shadow_->report().waiting, 1U);
  clock().advance(5s - 1ns);
  shadow_->node_updated(node("b", 4), node("b", 4));  // any change settles what is due
  EXPECT_EQ(shadow_->report().waiting, 1U) << "not yet";
  EXPECT_TRUE(shadow_->report().differences.empty());
  clock().advance(1ns);
  shadow_->node_updated(node("b", 4), node("b", 4));
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.waiting, 0U);
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].pod, "default/worse");
  EXPECT_EQ(report.differences[0].node_here, "b");
  EXPECT_EQ(report.differences[0].result, ShadowResult::unexplained);
  EXPECT_GT(report.score_lost, 0U);
}

TEST_F(ShadowTest, APodThatWentElsewhereWithinFiveSecondsMakesItARace) {
  binds("first", 2, "a");
  clock().advance(10s);
  binds("worse", 1, "a");
  clock().advance(1s);
  binds("next", 3, "b");  // had it been there already, a had been the best
  clock().advance(4s);
  shadow_->node_updated(node("b", 4), node("b", 4));
  ASSERT_EQ(shadow_->report().differences.size(), 1U);
  EXPECT_EQ(shadow_->report().differences[0].result, ShadowResult::race);
  EXPECT_TRUE(is_placed("uid-first") && is_placed("uid-worse") && is_placed("uid-next")) << "all is as it was";
}

TEST_F(ShadowTest, AMomentBetweenTwoBindingsMakesItARace) {
  binds("old", 1, "a");
  clock().advance(10s);
  binds("one", 1, "a", {.app = "x"});
  clock().advance(100ms);
  // Before it a is the best, with a pod of x. After it both nodes have one, and b has more room; with neither as well.
  binds("other", 1, "b", {.app = "x"});
  clock().advance(100ms);
  binds("worse", 1, "a", {.near = "x"});
  const app::ShadowDifference difference = settled("worse");
  EXPECT_EQ(difference.result, ShadowResult::race);
  EXPECT_EQ(difference.why, "the best as it was 0.2 s before");
  EXPECT_TRUE(is_placed("uid-one") && is_placed("uid-other") && is_placed("uid-worse")) << "all is as it was";
}

TEST_F(ShadowTest, APodOfTheBetterNodeThatIsBoundLaterMayHaveBeenThere) {
  cluster::ClusterSink& sink = *shadow_;
  sink.node_added(node("c", 4));
  binds("old", 1, "a");
  binds("older", 2, "b");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("worse", 1, "a", {.near = "x"});  // c is empty
  clock().advance(100ms);
  binds("between", 1, "b", {.app = "x"});  // with it b had been the best
  clock().advance(200ms);
  binds("late", 3, "c");
  const app::ShadowDifference difference = settled("worse");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_TRUE(is_placed("uid-worse") && is_placed("uid-between") && is_placed("uid-late")) << "all is as it was";
}

TEST_F(ShadowTest, APodThatIsNominatedLaterDoesNotHideARace) {
  cluster::ClusterSink& sink = *shadow_;
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("p", 1, "a");  // b is empty
  clock().advance(100ms);
  binds("late", 4, "b");
  const model::PodPtr urgent = pod("urgent", 4, {.priority = 100, .nominated = "a"});
  simulation_->cluster().put_pod(urgent);
  sink.pod_added(urgent);
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
}

TEST_F(ShadowTest, ABurstThatIsBoundInAnotherOrderMakesItARace) {
  cluster::ClusterSink& sink = *shadow_;
  for (int i = 0; i < 40; ++i) sink.node_added(node(fmt::format("e-{}", i), 8));
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("p", 1, "a", {.near = "x"});  // the others are empty
  clock().advance(100ms);
  binds("on-b", 3, "b");
  for (int i = 0; i < 40; ++i) {  // at no moment are all of the first here, and none of the second
    clock().advance(10ms);
    binds(fmt::format("first-{}", i), 6, fmt::format("e-{}", i));
    clock().advance(10ms);
    binds(fmt::format("second-{}", i), 1, fmt::format("e-{}", i), {.app = "x"});
  }
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
}

TEST_F(ShadowTest, ABetterNodeToWhichAnotherWasNominatedMakesItARace) {
  cluster::ClusterSink& sink = *shadow_;
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  const model::PodPtr urgent = pod("urgent", 4, {.priority = 100});
  const model::PodPtr nominated = pod("urgent", 4, {.priority = 100, .nominated = "b"});
  sink.pod_added(urgent);
  clock().advance(2s);
  binds("p", 1, "a");  // b is empty, and kept for the urgent one, of which the cluster is told later
  binds("q", 2, "a");
  clock().advance(100ms);
  sink.pod_updated(urgent, nominated);
  clock().advance(100ms);
  sink.pod_deleted(nominated);
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
}

TEST_F(ShadowTest, PodsOfItsLabelsElsewhereInItsDomainMakeItARace) {
  shadow_->node_added(std::get<model::NodePtr>(
      decoded(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"next-to-a","labels":{"host":"a"}},)"
              R"("status":{"allocatable":{"cpu":"1","memory":"8Gi","pods":"10"}}})")));
  binds("old", 1, "a");
  binds("full", 1, "next-to-a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("p", 1, "a", {.app = "x", .near = "x"});  // b is empty
  clock().advance(100ms);
  binds("on-b", 0, "b", {.app = "x"});
  clock().advance(100ms);
  binds("next-to", 0, "next-to-a",
        {.app = "x"});  // with it a has a pod that p wants near it; once b has one too, b is better
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_NE(difference.why.find("other pods of its labels"), std::string::npos) << difference.why;
}

TEST_F(ShadowTest, APodThatWasBeforeItInTheQueueAndIsBoundLaterMayHaveBeenThere) {
  cluster::ClusterSink& sink = *shadow_;
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  const model::PodPtr first = pod("first", 3), p = pod("p", 1);
  sink.pod_added(first);
  sink.pod_added(p);
  sink.pod_updated(p, pod("p", 1, {.node = "a"}));  // b is empty
  clock().advance(100ms);
  sink.pod_updated(first, pod("first", 3, {.node = "b"}));
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race);
  EXPECT_EQ(difference.why, "the best with the pods that were before it in the queue");
}

TEST_F(ShadowTest, AnOlderPodThatIsBoundSecondsLaterWasDecidedBefore) {
  cluster::ClusterSink& sink = *shadow_;
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  const model::PodPtr first = pod("first", 3), p = pod("p", 1);
  sink.pod_added(first);
  sink.pod_added(p);
  sink.pod_updated(p, pod("p", 1, {.node = "a"}));  // b is empty
  clock().advance(4s);
  sink.pod_updated(first, pod("first", 3, {.node = "b"}));
  EXPECT_EQ(settled("p").why, "the best with the pods that were before it in the queue");
}

TEST_F(ShadowTest, APodThatWasTriedInVainGoesToTheBackOfTheQueue) {
  cluster::ClusterSink& sink = *shadow_;
  sink.node_added(node("c", 4));
  binds("old", 1, "a");
  binds("older", 1, "c");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  const model::PodPtr tried = pod("tried", 1);
  sink.pod_added(tried);
  const model::PodPtr first = pod("first", 3), p = pod("p", 1);
  sink.pod_added(first);
  sink.pod_added(p);
  const model::PodPtr failed = pod("tried", 1, {.is_unschedulable = true});
  sink.pod_updated(tried, failed);  // from here on it is behind p
  sink.pod_updated(failed, pod("tried", 1, {.node = "a"}));
  sink.pod_updated(p, pod("p", 1, {.node = "a"}));  // b is empty; a was as good as c without the one that was tried
  clock().advance(100ms);
  sink.pod_updated(first, pod("first", 3, {.node = "b"}));
  EXPECT_EQ(settled("p").why, "the best with the pods that were before it in the queue");
}

TEST_F(ShadowTest, PodsThatWantOthersNearThemMakeItARace) {
  cluster::ClusterSink& sink = *shadow_;
  sink.node_added(std::get<model::NodePtr>(
      decoded(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"next-to-a","labels":{"host":"a"}},)"
              R"("status":{"allocatable":{"cpu":"1","memory":"8Gi","pods":"10"}}})")));
  binds("old", 1, "a");
  binds("full", 1, "next-to-a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("p", 1, "a", {.app = "x"});  // b is empty
  clock().advance(100ms);
  binds("on-b", 0, "b", {.app = "y", .near = "x"});
  clock().advance(100ms);
  binds("next-to", 0, "next-to-a", {.app = "y", .near = "x"});  // with it a has a pod that wants p near it
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_NE(difference.why.find("other pods that have affinity"), std::string::npos) << difference.why;
}

TEST_F(ShadowTest, TwoPodsThatGiveANodeTheSamePointsAsOneMakeItARace) {
  shadow_->node_added(std::get<model::NodePtr>(
      decoded(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"next-to-b","labels":{"host":"b"}},)"
              R"("status":{"allocatable":{"cpu":"1","memory":"8Gi","pods":"10"}}})")));
  binds("old", 1, "a");
  binds("full", 1, "next-to-b");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("wants-1", 0, "next-to-b", {.app = "y", .near = "x"});  // with either of them b has all points of affinity
  binds("on-b", 2, "b");                                        // without it b is emptier than a
  binds("wants-2", 0, "next-to-b", {.app = "y", .near = "x"});
  clock().advance(100ms);
  binds("p", 1, "a", {.app = "x"});  // decided before both, and after the one on b
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_NE(difference.why.find("other pods that have affinity"), std::string::npos) << difference.why;
}

TEST_F(ShadowTest, ManyPodsOfAnotherDomainThatWereNotSeenYetMakeItARace) {
  for (const char* const host : {"a", "b"})
    shadow_->node_added(std::get<model::NodePtr>(decoded(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"next-to-{0}","labels":{{"host":"{0}"}}}},)"
        R"("status":{{"allocatable":{{"cpu":"1","memory":"8Gi","pods":"40"}}}}}})",
        host))));
  binds("old", 1, "a");
  binds("full-a", 1, "next-to-a", {.app = "x"});
  binds("full-b", 1, "next-to-b", {.app = "x"});
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  for (int i = 0; i < 12; ++i) {        // p wants any of them near it: more are on host b, and no single one decides it
    if (i == 6) binds("on-b", 2, "b");  // without it b is emptier than a
    binds(fmt::format("x-{}", i), 0, "next-to-b", {.app = "x"});
    clock().advance(10ms);
  }
  binds("p", 1, "a", {.near = "x"});
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_EQ(difference.why,
            "the best with other pods in and outside its domain of host of the 0.25 s before and after");
}

TEST_F(ShadowTest, AnEndThatWasNotSeenYetMakesItARace) {
  cluster::ClusterSink& sink = *shadow_;
  for (int i = 0; i < 40; ++i) sink.node_added(node(fmt::format("e-{}", i), 8));
  binds("ended", 1, "a", {.app = "x"});
  binds("ended-before", 1, "e-0", {.app = "x"});  // with it, e-0 is the best
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  sink.pod_deleted(pod("ended-before", 1, {.node = "e-0", .app = "x"}));
  clock().advance(10ms);
  sink.pod_deleted(pod("ended", 1, {.node = "a", .app = "x"}));
  for (int i = 0; i < 40; ++i) {  // nearer to the binding than what explains it
    clock().advance(1ms);
    binds(fmt::format("before-{}", i), 1, fmt::format("e-{}", i));
  }
  binds("p", 1, "a", {.near = "x"});
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race);
  EXPECT_EQ(difference.why, "the best with the pods that ended in the 0.0 s before");
}

/// Each look at it takes longer than a difference may.
class SlowClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const noexcept override { return looks_++ * Shadow::k_explaining_ns; }
  std::int64_t wall_ns() const noexcept override { return monotonic_ns(); }

 private:
  mutable std::int64_t looks_ = 0;
};

/// As another, but that each look at it may take time.
class DelayedClock final : public Clock {
 public:
  explicit DelayedClock(const Clock& clock) : clock_(clock) {}
  std::int64_t monotonic_ns() const noexcept override {
    if (quick_looks > 0)
      --quick_looks;
    else
      delay_ns_ += look_ns;
    return clock_.monotonic_ns() + delay_ns_;
  }
  std::int64_t wall_ns() const noexcept override { return clock_.wall_ns(); }

  std::int64_t look_ns = 0;
  mutable int quick_looks = 0;  // that come before

 private:
  const Clock& clock_;
  mutable std::int64_t delay_ns_ = 0;
};

TEST_F(ShadowTest, TheTimeInWhichACauseIsSearchedDoesNotPartChanges) {
  DelayedClock delayed(clock());
  shadow_.emplace(*ingest_, scheduler(), configuration_, delayed);
  cluster::ClusterSink& sink = *shadow_;
  sink.synced();
  sink.node_added(node("small", 1));
  binds("old", 1, "a");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  binds("large", 8, "small");
  clock().advance(5s - 1ns);
  const model::PodPtr first = pod("first", 3), p = pod("p", 1);
  sink.pod_added(first);
  sink.pod_added(p);
  sink.pod_updated(p, pod("p", 1, {.node = "a"}));
  clock().advance(1ns);
  delayed.look_ns = 40'000'000;  // the search for a cause of the first difference takes half a second at least
  shadow_->node_updated(node("b", 4), node("b", 4));
  delayed.look_ns = 0;
  clock().advance(600ms);
  sink.pod_updated(first, pod("first", 3, {.node = "b"}));
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.why, "the best with the pods that were before it in the queue");
  shadow_.emplace(*ingest_, scheduler(), configuration_, clock());  // before its clock goes
}

TEST_F(ShadowTest, ADifferenceThatTakesTooLongStaysUnexplained) {
  const SlowClock slow;
  shadow_.emplace(*ingest_, scheduler(), configuration_, slow);
  shadow_->synced();
  binds("first", 2, "a");
  binds("worse", 1, "a");
  shadow_->finish(8 * Shadow::k_explaining_ns);
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.count(ShadowResult::race), 0U) << "without the first, a had been as good as b";
  ASSERT_EQ(report.count(ShadowResult::unexplained), 1U);
  EXPECT_EQ(report.cut_short, 1U);
  EXPECT_EQ(report.waiting, 0U);
  EXPECT_NE(report.differences.back().why.find("(the search for a cause was cut short)"), std::string::npos)
      << report.differences.back().why;
  EXPECT_NE(shadow_text(report).find("1 of these for want of time"), std::string::npos);
  shadow_.emplace(*ingest_, scheduler(), configuration_, clock());  // before the slow clock goes
}

/// A difference with a search that was cut short, while much comes.
class CutShortTest : public ShadowTest {
 protected:
  CutShortTest() {
    shadow_.emplace(*ingest_, scheduler(), configuration_, delayed_);
    shadow_->synced();
    binds("old", 1, "a");
    clock().advance(10s);
    shadow_->finish(1'000'000'000);
    binds("p", 1, "a");  // b is empty
    clock().advance(100ms);
    binds("late", 3, "b");
    clock().advance(4500ms);
    for (std::size_t i = 0; i < Shadow::k_quiet_changes_max; ++i) comes_and_goes();
    clock().advance(500ms);
    delayed_.quick_looks = 6;  // until the search
    delayed_.look_ns = Shadow::k_explaining_ns;
    touch();
    delayed_.look_ns = 0;
    EXPECT_EQ(shadow_->report().waiting, 1U);
    EXPECT_EQ(shadow_->report().compared(), 2U) << "old and late";
  }
  ~CutShortTest() override { shadow_.emplace(*ingest_, scheduler(), configuration_, clock()); }
  /// Something is seen that changes nothing.
  void touch() { shadow_->node_updated(node_, node_); }
  void comes_and_goes() {
    shadow_->pod_added(passing_);
    shadow_->pod_deleted(passing_);
  }

  DelayedClock delayed_{clock()};
  const model::NodePtr node_ = node("b", 4);
  const model::PodPtr passing_ = pod("passing", 0, {.node = "b"});
};

TEST_F(CutShortTest, IsSearchedFurtherWhenItIsQuiet) {
  touch();
  EXPECT_EQ(shadow_->report().waiting, 1U) << "not while much comes";
  clock().advance(60s);
  touch();
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.waiting, 0U);
  EXPECT_EQ(report.count(ShadowResult::race), 1U);
  EXPECT_EQ(report.cut_short, 0U);
  EXPECT_TRUE(is_placed("uid-p") && is_placed("uid-late")) << "all is as it was";
}

TEST_F(CutShortTest, IsSearchedFurtherAtTheEndWithThePodsOfItsTime) {
  clock().advance(200ms);
  comes_and_goes();
  shadow_->pod_deleted(pod("late", 3, {.node = "b"}));
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::race) << difference.why;
  EXPECT_EQ(shadow_->report().waiting, 0U);
  EXPECT_TRUE(is_placed("uid-p") && !is_placed("uid-late")) << "all is as it was";
}

TEST_F(CutShortTest, StaysUnexplainedWhenANodeHasChangedMeanwhile) {
  clock().advance(200ms);
  shadow_->node_added(node("c", 4));
  const app::ShadowDifference difference = settled("p");
  EXPECT_EQ(difference.result, ShadowResult::unexplained);
  EXPECT_NE(difference.why.find("(the search for a cause was cut short)"), std::string::npos) << difference.why;
}

TEST_F(CutShortTest, IsGivenUpWhenTooManyChangesCameSince) {
  for (std::size_t i = 0; i < Shadow::k_kept_changes_max / 2 + 1; ++i) comes_and_goes();
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.waiting, 0U);
  EXPECT_EQ(report.cut_short, 1U);
}

TEST_F(ShadowTest, WhatIsExplainedMakesRoomForWhatIsNot) {
  for (std::size_t i = 0; i < ShadowReport::k_differences_max; ++i) {
    binds("race", 1, "unknown");  // a node that is not known here yet
    shadow_->finish(1'000'000'000);
    shadow_->pod_deleted(pod("race", 1, {.node = "unknown"}));
  }
  binds("large", 8, "a");
  shadow_->finish(1'000'000'000);
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.count(ShadowResult::race), ShadowReport::k_differences_max);
  EXPECT_EQ(report.differences_left_out, 1U);
  ASSERT_EQ(report.differences.size(), ShadowReport::k_differences_max);
  EXPECT_EQ(report.differences.back().pod, "default/large");
}

TEST_F(ShadowTest, AMomentBetweenTheEndsOfTwoPodsMakesItARace) {
  binds("old", 1, "a");
  binds("one", 1, "a", {.app = "x"});
  binds("other", 1, "b", {.app = "x"});
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  shadow_->pod_deleted(pod("other", 1, {.node = "b", .app = "x"}));
  clock().advance(100ms);
  shadow_->pod_deleted(pod("one", 1, {.node = "a", .app = "x"}));
  clock().advance(100ms);
  binds("worse", 1, "a", {.near = "x"});
  const app::ShadowDifference difference = settled("worse");
  EXPECT_EQ(difference.result, ShadowResult::race);
  EXPECT_EQ(difference.why, "the best as it was 0.2 s before");
  EXPECT_TRUE(!is_placed("uid-one") && !is_placed("uid-other") && is_placed("uid-worse")) << "all is as it was";
}

TEST_F(ShadowTest, ANodeThatIsKeptForANominatedPodIsNotBetter) {
  cluster::ClusterSink& sink = *shadow_;
  sink.node_added(node("c", 4));
  binds("first", 2, "a");
  binds("second", 2, "c");
  clock().advance(10s);
  shadow_->finish(1'000'000'000);
  const std::uint64_t before = shadow_->report().compared();
  // b is empty, and taken. The queue looks up whether such a pod is still there.
  const model::PodPtr urgent = pod("urgent", 4, {.priority = 100, .nominated = "b"});
  simulation_->cluster().put_pod(urgent);
  sink.pod_added(urgent);
  // Of a and c, which are alike, one is chosen here: the other is a tie.
  binds("p", 1, "a");
  sink.pod_deleted(pod("p", 1, {.node = "a"}));
  binds("q", 1, "c");
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.compared(), before + 2) << "and none of them waits";
  EXPECT_EQ(report.waiting, 0U);
}

TEST_F(ShadowTest, APodThatFitsNowhereHereIsADifferenceWithItsReason) {
  binds("large", 8, "a");
  EXPECT_EQ(shadow_->report().waiting, 1U);
  shadow_->finish(1'000'000'000);
  const ShadowReport report = shadow_->report();
  EXPECT_EQ(report.count(ShadowResult::tie), 0U);
  EXPECT_EQ(report.count(ShadowResult::rejected), 1U);
  EXPECT_EQ(report.without_node, 1U);
  ASSERT_EQ(report.differences.size(), 1U);
  EXPECT_EQ(report.differences[0].node_here, "");
  EXPECT_EQ(report.differences[0].why, "NodeResourcesFit: Insufficient cpu");
}

/// Nominations that cannot always be had.
class FailingNominations final : public queue::Nominations {
 public:
  bool has_nominations() const override {
    if (fail) throw std::runtime_error("no memory for nominations");
    return false;
  }
  std::vector<model::NominatedPod> nominations() const override { return {}; }
  void remove_nomination(const model::Pod&) override {}

  bool fail = false;
};

TEST_F(ShadowTest, AComparisonThatThrowsIsCountedAndTheRunGoesOn) {
  FailingNominations nominations;
  cluster::AcceptingWriter writer;
  binding::InlineExecutor executor;
  binding::Timers timers(clock());
  scheduler::SchedulerParts parts{
      symbols_, configuration_, plugins_.sources(), writer, [](const model::Pod&) { return model::PodPtr(); }, executor,
      timers,   clock()};
  parts.nominations = &nominations;
  const auto failing = scheduler::Scheduler::make(std::move(parts)).value();
  ingest::Ingest ingest(failing->intake());
  shadow_.emplace(ingest, *failing, configuration_, clock());
  shadow_->node_added(node("a", 4));
  shadow_->synced();

  nominations.fail = true;
  binds("unlucky", 1, "a");
  EXPECT_EQ(shadow_->report().failed, 1U);
  EXPECT_EQ(shadow_->report().compared() + shadow_->report().waiting, 0U);
  EXPECT_TRUE(failing->intake().cache.find_pod("uid-unlucky").has_value()) << "the change is passed on";
  EXPECT_NE(shadow_json(shadow_->report()).find("\"failed\":1"), std::string::npos);
  EXPECT_NE(shadow_text(shadow_->report()).find("1 comparison failed"), std::string::npos);

  nominations.fail = false;
  binds("next", 1, "a");
  EXPECT_EQ(shadow_->report().count(ShadowResult::same), 1U);
  EXPECT_EQ(shadow_->report().failed, 1U);
  EXPECT_TRUE(failing->intake().cache.find_pod("uid-next").has_value());
  shadow_.emplace(*ingest_, scheduler(), configuration_, clock());  // before what it stood on goes
}

}  // namespace
}  // namespace berth::cases
