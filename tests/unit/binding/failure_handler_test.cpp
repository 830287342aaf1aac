// SPDX-License-Identifier: Apache-2.0
#include "binding/failure_handler.hpp"

#include "observe/log.hpp"
#include "unit/binding/binding_fixture.hpp"

namespace berth::binding::testing {
namespace {

using model::Nomination;
using queue::Place;

Failure no_node_fits(const std::string& message) {
  Failure failure;
  failure.code = Code::unschedulable;
  failure.message = message;
  failure.rejectors.unschedulable.insert(k_waiting_for_help);
  failure.nomination = Nomination{};
  return failure;
}

queue::Ticket pop(BindingFixture& f) { return std::move(*f.queue->pop()); }

TEST(FailureHandler, RequeuesNominatesTellsAndPatches) {
  BindingFixture f;
  const PodPtr pod = f.add("p");
  Failure failure = no_node_fits("0/3 nodes are available: 3 Insufficient cpu.");
  failure.nomination = Nomination::to(f.symbols.find("n1"));
  f.failures->handle(pop(f), failure, "default-scheduler");
  EXPECT_EQ(f.pending("p").place, Place::unschedulable);
  EXPECT_EQ(f.queue->nominations().at(0).node, f.symbols.find("n1"));
  EXPECT_EQ(
      f.writer.lines,
      (Lines{
          "event p Warning FailedScheduling/Scheduling \"0/3 nodes are available: 3 Insufficient cpu.\" by "
          "default-scheduler",
          "status p PodScheduled=False/Unschedulable \"0/3 nodes are available: 3 Insufficient cpu.\" nominated=n1"}));
  EXPECT_EQ(f.writer.patches.at(0).observed_generation, 7);
}

TEST(FailureHandler, TheLogTellsAClusterWithoutNodesFromOneWhereThePodFitsNowhere) {
  const auto logged = [](bool has_no_nodes) {
    BindingFixture f;
    f.add("p");
    Failure failure = no_node_fits("no nodes available to schedule pods");
    failure.has_no_nodes = has_no_nodes;
    observe::log_up_to(2);
    ::testing::internal::CaptureStderr();
    f.failures->handle(pop(f), failure, "default-scheduler");
    std::string out = ::testing::internal::GetCapturedStderr();
    observe::log_up_to(0);
    return out;
  };
  EXPECT_NE(logged(true).find("\"Unable to schedule pod; no nodes are registered to the cluster; waiting\""),
            std::string::npos);
  EXPECT_NE(logged(false).find("\"Unable to schedule pod; no fit; waiting\""), std::string::npos);
}

TEST(FailureHandler, ThePodIsQueuedAndNominatedBeforeTheApiServerIsTold) {
  BindingFixture f;
  f.add("p");
  Failure failure = no_node_fits("no");
  failure.nomination = Nomination::to(f.symbols.find("n1"));
  bool queued = false, nominated = false;
  f.writer.on_event = [&] {
    queued = f.pending("p").place == Place::unschedulable;
    nominated = f.queue->has_nominations();
  };
  f.failures->handle(pop(f), failure, "default-scheduler");
  EXPECT_TRUE(queued);
  EXPECT_TRUE(nominated);
}

TEST(FailureHandler, WritesNothingTwice) {
  BindingFixture f;
  f.add("p");
  const Failure failure = no_node_fits("no");
  auto told = std::make_shared<model::Pod>(*f.known["p"]);
  told->conditions = {{"PodScheduled", "False", "Unschedulable", "no"}};
  f.known["p"] = told;
  f.failures->handle(pop(f), failure, "default-scheduler");
  EXPECT_EQ(f.writer.events.size(), 1U) << "events repeat";
  EXPECT_TRUE(f.writer.patches.empty());
}

TEST(FailureHandler, ClearsANominationOnlyWhereThereIsOne) {
  for (const bool nominated : {false, true}) {
    BindingFixture f;
    f.add("p");
    auto known = std::make_shared<model::Pod>(*f.known["p"]);
    if (nominated) known->nominated_node = f.symbols.find("n1");
    f.known["p"] = known;
    Failure failure = no_node_fits("no");
    failure.nomination = Nomination::clear();
    f.failures->handle(pop(f), failure, "default-scheduler");
    ASSERT_EQ(f.writer.patches.size(), 1U);
    EXPECT_EQ(f.writer.patches[0].nominated_node.has_value(), nominated);
    if (nominated) {
      EXPECT_EQ(*f.writer.patches[0].nominated_node, "");
    }
  }
}

TEST(FailureHandler, ClearsANominationThatIsOnItsWayToTheCluster) {
  for (const bool announced : {false, true}) {
    BindingFixture f;
    const PodPtr pod = f.add("p");
    // Before: by a preemption whose patch still waits; or by the binding cycle that fails now.
    if (!announced) f.queue->nominate(pod, Nomination::to(f.symbols.find("n1")));
    Failure failure = no_node_fits("no");
    failure.nomination = Nomination::clear();
    failure.announced = announced;
    f.failures->handle(pop(f), failure, "default-scheduler");
    ASSERT_EQ(f.writer.patches.size(), 1U);
    EXPECT_EQ(f.writer.patches[0].nominated_node, std::optional<std::string>("")) << announced;
  }
}

TEST(FailureHandler, WritesANominationAgainWhenItsClearingIsStillUnderWay) {
  BindingFixture f;
  const PodPtr pod = f.add("p");
  auto known = std::make_shared<model::Pod>(*pod);
  known->nominated_node = f.symbols.find("n1");
  f.known["p"] = known;
  // An attempt cleared it, and the cluster does not show that yet.
  f.queue->nominate(known, Nomination::clear());
  Failure failure = no_node_fits("no");
  failure.nomination = Nomination::to(f.symbols.find("n1"));
  f.failures->handle(pop(f), failure, "default-scheduler");
  ASSERT_EQ(f.writer.patches.size(), 1U);
  EXPECT_EQ(f.writer.patches[0].nominated_node, std::optional<std::string>("n1"));
}

TEST(FailureHandler, NominationsAreUrgentAndReasonsAreNot) {
  for (const bool nominates : {false, true}) {
    BindingFixture f;
    f.add("p");
    Failure failure = no_node_fits("no");
    if (nominates) failure.nomination = Nomination::to(f.symbols.find("n1"));
    f.failures->handle(pop(f), failure, "default-scheduler");
    ASSERT_EQ(f.writer.patches.size(), 1U);
    EXPECT_EQ(f.writer.patches[0].urgent, nominates);
  }
}

TEST(FailureHandler, RepeatsAConditionWhileAnotherPatchIsUnderWay) {
  BindingFixture f;
  f.add("p");
  auto told = std::make_shared<model::Pod>(*f.known["p"]);
  told->conditions = {{"PodScheduled", "False", "Unschedulable", "no"}};
  f.known["p"] = told;
  f.writer.is_patching = true;
  f.failures->handle(pop(f), no_node_fits("no"), "default-scheduler");
  EXPECT_EQ(f.writer.patches.size(), 1U);
}

TEST(FailureHandler, TakesTheNewestVersionBackIntoTheQueue) {
  BindingFixture f;
  f.add("p");
  queue::Ticket ticket = pop(f);
  auto newer = std::make_shared<model::Pod>(*f.known["p"]);
  newer->priority = 9;
  f.known["p"] = newer;
  f.failures->handle(std::move(ticket), no_node_fits("no"), "default-scheduler");
  EXPECT_EQ(f.pending("p").pod, newer);
}

TEST(FailureHandler, APodThatIsGoneOrBoundIsNotQueuedButToldOf) {
  for (const bool bound : {false, true}) {
    BindingFixture f;
    f.add("p");
    queue::Ticket ticket = pop(f);
    auto now = std::make_shared<model::Pod>(*f.known["p"]);
    now->node_name = f.symbols.find("n1");
    if (bound)
      f.known["p"] = now;
    else
      f.known.clear();
    Failure failure = no_node_fits("no");
    failure.nomination = Nomination::to(f.symbols.find("n1"));
    f.failures->handle(std::move(ticket), failure, "default-scheduler");
    EXPECT_TRUE(f.queue->pending_pods().empty());
    EXPECT_FALSE(f.queue->has_nominations());
    EXPECT_EQ(f.writer.events.size(), 1U);
    EXPECT_EQ(f.writer.patches.size(), 1U);
  }
}

TEST(FailureHandler, APodOfAnotherUidIsLeftAlone) {
  BindingFixture f;
  f.add("p");
  queue::Ticket ticket = pop(f);
  auto recreated = std::make_shared<model::Pod>(*f.known["p"]);
  recreated->uid = "uid-again";
  f.known["p"] = recreated;
  f.failures->handle(std::move(ticket), no_node_fits("no"), "default-scheduler");
  EXPECT_TRUE(f.queue->pending_pods().empty());
  EXPECT_TRUE(f.writer.lines.empty());
}

TEST(FailureHandler, AnErrorGoesToTheErrorBackoff) {
  BindingFixture f;
  f.add("p");
  Failure failure;
  failure.message = "the snapshot is broken";
  f.failures->handle(pop(f), failure, "default-scheduler");
  EXPECT_EQ(f.pending("p").place, Place::error_backoff);
  EXPECT_EQ(f.writer.patches.at(0).conditions.at(0).reason, "SchedulerError");
}

TEST(FailureHandler, CutsTheNoteAndNotTheCondition) {
  BindingFixture f;
  f.add("p");
  const std::string message(2000, 'x');
  f.failures->handle(pop(f), no_node_fits(message), "default-scheduler");
  EXPECT_EQ(f.writer.events.at(0).note, std::string(1020, 'x') + " ...");
  EXPECT_EQ(f.writer.patches.at(0).conditions.at(0).message, message);
}

TEST(FailureHandler, LeavesShortNotesAlone) {
  EXPECT_EQ(event_note(std::string(1024, 'x')).size(), 1024U);
  EXPECT_EQ(event_note(std::string(1025, 'x')), std::string(1020, 'x') + " ...");
}

TEST(FailureHandler, SurvivesARefusedPatch) {
  BindingFixture f;
  f.add("p");
  f.writer.refuse = "status";
  f.failures->handle(pop(f), no_node_fits("no"), "default-scheduler");
  EXPECT_EQ(f.pending("p").place, Place::unschedulable);
}

TEST(FailureHandler, ADeletingPodHasAnEventAndLeavesTheQueue) {
  BindingFixture f;
  f.add("p");
  f.failures->skip_deleting(pop(f), "default-scheduler");
  EXPECT_EQ(f.writer.lines,
            (Lines{"event p Warning FailedScheduling/Scheduling \"skip schedule deleting pod: default/p\" by "
                   "default-scheduler"}));
  EXPECT_TRUE(f.queue->pending_pods().empty());
}

TEST(OneNodeMessage, CountsAndSortsReasons) {
  EXPECT_EQ(one_node_message({Code::unschedulable, k_gang, {"b", "a"}}), "0/1 nodes are available: 1 a, 1 b.");
  EXPECT_EQ(one_node_message({Code::unschedulable, k_gang, {}}), "0/1 nodes are available:");
}

}  // namespace
}  // namespace berth::binding::testing
