// SPDX-License-Identifier: Apache-2.0
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

std::shared_ptr<model::Pod> gated_pod(const std::string& name) {
  auto pod = make_pod(name);
  pod->spec.edit().gates = {"example.com/wait"};
  return pod;
}

TEST(Gates, KeepAPodInThePool) {
  QueueFixture f;
  f.add(gated_pod("p"));
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  EXPECT_EQ(f.find("p").gate, k_gates);
  EXPECT_EQ(f.find("p").gate_message, "waiting for scheduling gates: [example.com/wait]");
  EXPECT_EQ(f.queue->sizes().gated, 1U);
  EXPECT_EQ(f.queue->sizes().unschedulable, 0U);
  EXPECT_EQ(f.incoming("UnschedulablePodAdd").unschedulable, 1U);
  EXPECT_EQ(f.incoming("UnschedulablePodAdd").active, 0U);
  EXPECT_EQ(f.waiting_for(k_gates), 1);
  EXPECT_EQ(f.find("p").first_attempt_ns, 0);
  EXPECT_FALSE(f.queue->pop().has_value());
}

TEST(Gates, OpenByThePodsOwnUpdate) {
  QueueFixture f;
  const PodPtr pod = f.add(gated_pod("p"));
  auto open = make_pod("p");
  const ClusterEvent events[] = {k_gates_gone};
  f.queue->update(pod, open, events);
  EXPECT_EQ(f.policy.last_first, k_gates) << "the gate that held the pod is asked first";
  EXPECT_EQ(f.place("p"), Place::active);
  EXPECT_EQ(f.incoming("UnschedulablePodUpdatePodSchedulingGatesEliminated").active, 1U);
}

TEST(Gates, StayClosedAfterFiveMinutes) {
  QueueFixture f;
  f.add(gated_pod("p"));
  EXPECT_FALSE(f.queue->next_wakeup_ns().has_value());
  f.clock.advance(10min);
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  EXPECT_TRUE(f.find("p").gated());
}

TEST(Gates, IgnoreEventsTheirPluginDidNotAskFor) {
  QueueFixture f;
  f.policy.closed_for.insert("p");
  f.add("p");
  const int runs = f.policy.gate_runs;
  f.queue->move_all(k_node_add, {});
  EXPECT_EQ(f.policy.gate_runs, runs) << "left alone, not asked again";
  f.policy.closed_for.clear();
  f.queue->move_all(k_claim_add, {});
  EXPECT_EQ(f.place("p"), Place::active);
}

TEST(Gates, AreAskedWhenAPodEntersBackoffAndNotWhenItLeaves) {
  QueueFixture f;
  f.add("p");
  f.fail("p", {});
  const int runs = f.policy.gate_runs;
  EXPECT_EQ(runs, 2);
  f.policy.closed_for.insert("p");
  f.clock.advance(3s);
  f.queue->flush();
  EXPECT_EQ(f.place("p"), Place::active);
  EXPECT_EQ(f.policy.gate_runs, runs);
}

TEST(Gates, MayCloseOnTheWayIntoBackoff) {
  QueueFixture f;
  f.add("p");
  f.policy.closed_for.insert("p");
  f.fail("p", {});
  EXPECT_EQ(f.place("p"), Place::unschedulable);
  EXPECT_TRUE(f.find("p").gated());
  EXPECT_EQ(f.incoming("ScheduleAttemptFailure").unschedulable, 1U);
  EXPECT_EQ(f.waiting_for(k_claims), 1);
}

TEST(Gates, HoldAnActivatedPod) {
  QueueFixture f;
  const PodPtr pod = f.add(gated_pod("p"));
  f.queue->activate(std::vector<PodPtr>{pod});
  EXPECT_EQ(f.place("p"), Place::unschedulable);
}

TEST(Gates, ARejectionForgetsTheGateOfTheAttemptBefore) {
  QueueFixture f;
  const PodPtr pod = f.add(gated_pod("p"));
  auto open = make_pod("p");
  const ClusterEvent events[] = {k_gates_gone};
  f.queue->update(pod, open, events);
  EXPECT_TRUE(f.find("p").unschedulable_plugins.contains(k_gates)) << "kept until the attempt is judged";
  f.fail("p", rejected_by({k_fit}));
  EXPECT_EQ(f.find("p").unschedulable_plugins, plugins({k_fit}));
  EXPECT_FALSE(f.find("p").gated());
}

TEST(Activate, TakesPodsOutOfBackoffAndPool) {
  QueueFixture f;
  const PodPtr a = f.add("a"), b = f.add("b");
  f.fail("a", {});
  f.fail("b", rejected_by({k_fit}));
  const PodPtr stranger = make_pod("stranger");
  const int runs = f.policy.gate_runs;
  f.queue->activate(std::vector<PodPtr>{a, b, stranger});
  EXPECT_EQ(f.place("a"), Place::active);
  EXPECT_EQ(f.place("b"), Place::active);
  EXPECT_EQ(f.policy.gate_runs, runs + 1) << "what leaves the back-off is not asked again";
  EXPECT_EQ(f.incoming("ForceActivate").active, 2U);
}

TEST(Activate, FindsPodsByUidAndByClass) {
  QueueFixture f;
  for (const char* name : {"a", "b", "c", "d"}) {
    auto pod = make_pod(name);
    pod->spec.edit().group = name[0] < 'c' ? "first" : "second";
    f.add(pod);
    f.fail(name, rejected_by({k_deaf}));
  }
  f.queue->activate_uids(std::vector<std::string>{"uid-b", "uid-stranger"});
  EXPECT_EQ(f.place("a"), Place::unschedulable);
  EXPECT_EQ(f.place("b"), Place::active);
  f.queue->activate_class(f.find("c").pod_class);
  EXPECT_EQ(f.place("a"), Place::unschedulable);
  EXPECT_EQ(f.place("c"), Place::active);
  EXPECT_EQ(f.place("d"), Place::active);
}

}  // namespace
}  // namespace berth::queue::testing
