// SPDX-License-Identifier: Apache-2.0
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

constexpr Symbol k_node_a = 11, k_node_b = 12;

std::shared_ptr<model::Pod> nominated_pod(const std::string& name, Symbol node) {
  auto pod = make_pod(name, 5);
  pod->nominated_node = node;
  return pod;
}

TEST(Nominations, ComeFromThePodsStatusWhenItIsAdded) {
  QueueFixture f;
  EXPECT_FALSE(f.queue->has_nominations());
  const PodPtr pod = f.add(nominated_pod("p", k_node_a));
  ASSERT_TRUE(f.queue->has_nominations());
  const std::vector<model::NominatedPod> all = f.queue->nominations();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].node, k_node_a);
  EXPECT_EQ(all[0].pod, pod);
}

TEST(Nominations, OfAPodInFlightAreStubs) {
  QueueFixture f;
  f.add(nominated_pod("p", k_node_a));
  Ticket ticket = f.pop("p");
  const std::vector<model::NominatedPod> all = f.queue->nominations();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pod->uid, "uid-p");
  EXPECT_EQ(all[0].pod->priority, 0);
  f.queue->done(std::move(ticket));
}

TEST(Nominations, AreRefusedForPodsThatAreGoneOrBound) {
  QueueFixture f;
  const PodPtr gone = nominated_pod("gone", k_node_a);
  f.queue->add(gone);
  auto bound = nominated_pod("bound", k_node_a);
  bound->node_name = k_node_b;
  f.cluster["bound"] = bound;
  f.queue->nominate(bound, model::Nomination::to(k_node_a));
  EXPECT_FALSE(f.queue->has_nominations());
}

TEST(Nominations, AreRefusedForAPodWhoseNameAnotherHas) {
  QueueFixture f;
  const PodPtr gone = f.add("p");
  f.queue->remove(*gone);
  auto another = make_pod("p", 3);
  another->uid = "uid-of-another";
  f.cluster["p"] = another;
  f.queue->nominate(gone, model::Nomination::to(k_node_a));
  EXPECT_FALSE(f.queue->has_nominations());
}

TEST(Nominations, AreKeptOverwrittenAndCleared) {
  QueueFixture f;
  const PodPtr pod = f.add(nominated_pod("p", k_node_a));
  f.queue->nominate(pod, model::Nomination::to(k_node_b));
  EXPECT_EQ(f.queue->nominations().at(0).node, k_node_b);
  f.queue->nominate(pod, model::Nomination{});
  EXPECT_EQ(f.queue->nominations().at(0).node, k_node_a) << "what the status says";
  f.queue->nominate(pod, model::Nomination::clear());
  EXPECT_FALSE(f.queue->has_nominations());
}

TEST(Nominations, InMemorySurviveAnUpdateThatSaysNothing) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  f.queue->nominate(pod, model::Nomination::to(k_node_a));
  auto changed = make_pod("p", 3);
  f.queue->update(pod, changed, {});
  EXPECT_EQ(f.queue->nominations().at(0).node, k_node_a);
  auto moved = nominated_pod("p", k_node_b);
  f.queue->update(changed, moved, {});
  EXPECT_EQ(f.queue->nominations().at(0).node, k_node_b);
}

TEST(Nominations, ClearedInMemoryStayClearedThroughAnUpdate) {
  QueueFixture f;
  const PodPtr pod = f.add("p");
  f.queue->nominate(pod, model::Nomination::clear());
  f.queue->update(pod, make_pod("p", 3), {});
  EXPECT_FALSE(f.queue->has_nominations());
}

TEST(Nominations, OfOneNodeStandInOrderOfTheLastChange) {
  QueueFixture f;
  const PodPtr a = f.add(nominated_pod("a", k_node_a));
  f.add(nominated_pod("b", k_node_a));
  f.queue->update(a, nominated_pod("a", k_node_a), {});
  const std::vector<model::NominatedPod> all = f.queue->nominations();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].pod->name, "b");
  EXPECT_EQ(all[1].pod->name, "a");
}

TEST(Nominations, EndWithThePod) {
  QueueFixture f;
  const PodPtr a = f.add(nominated_pod("a", k_node_a)), b = f.add(nominated_pod("b", k_node_a));
  f.queue->remove(*a);
  f.queue->remove_nomination(*b);
  EXPECT_FALSE(f.queue->has_nominations());
}

}  // namespace
}  // namespace berth::queue::testing
