// SPDX-License-Identifier: Apache-2.0
#include "cycle/group_cycle.hpp"

#include "unit/cycle/cycle_fixture.hpp"

namespace berth::cycle::testing {
namespace {

/// Nodes with room for one pod each, and a group of pods.
struct GroupFixture : CycleFixture {
  explicit GroupFixture(int nodes) {
    for (int i = 1; i <= nodes; ++i) add_node("n" + std::to_string(i));
    pods_per_node(1);
    noting("Devices");
  }
  GroupOutcome plan(std::uint32_t members, std::uint32_t needed, PlanLimits limits = {}) {
    GroupRequest request;
    request.key = "default/gang";
    request.needed = needed;
    request.of_group = [](const model::Pod& pod) { return pod.name.starts_with("m"); };
    for (std::uint32_t i = 1; i <= members; ++i) request.members.push_back({pod("m" + std::to_string(i), priority), 0});
    return GroupCycle(*cycle, snapshot, cache.resources(), std::move(limits)).run(request);
  }
  Lines said_of(const GroupOutcome& outcome) {
    Lines lines;
    for (const Outcome& member : outcome.members) lines.push_back(said(*this, member));
    return lines;
  }
  /// No member is anywhere, and no plugin holds anything for one.
  void expect_nothing_left() {
    EXPECT_EQ(cache.counts().assumed_pods, 0u);
    std::size_t reserved = 0, undone = 0;
    for (const std::string& call : calls) ++(call.starts_with("reserve") ? reserved : undone);
    EXPECT_EQ(reserved, undone);
    for (std::size_t i = 1; !snapshot.order().empty() && i <= snapshot.order().size(); ++i)
      EXPECT_TRUE(pods_on("n" + std::to_string(i)).empty()) << "the snapshot is as it was";
  }
  std::int32_t priority = 0;
};

TEST(GroupCycle, PlacesAllMembersEachSeeingThoseBeforeIt) {
  GroupFixture f(3);
  f.start();
  const GroupOutcome outcome = f.plan(3, 3);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::placed);
  EXPECT_EQ(f.said_of(outcome), (Lines{"on n1", "on n2", "on n3"}));
  EXPECT_EQ(f.cache.counts().assumed_pods, 3u);
}

TEST(GroupCycle, GivesEveryNodeBackWhenTooFewMembersFit) {
  GroupFixture f(2);
  f.start();
  const GroupOutcome outcome = f.plan(3, 3);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::short_of);
  EXPECT_EQ(f.said_of(outcome)[2], "0/2 nodes are available: 2 node(s) were full.");
  EXPECT_EQ(f.said_of(outcome)[0],
            "pod group default/gang: 2 of 3 members fit; m3: 0/2 nodes are available: 2 node(s) were full.");
  f.expect_nothing_left();
}

TEST(GroupCycle, CountsImagesAgainOnlyWhereMembersStay) {
  GroupFixture f(0);
  f.cache.add_node(f.with_image("n1", 500));
  f.start();
  f.refresh();
  f.cache.add_node(f.with_image("n2", 500));
  EXPECT_EQ(f.plan(3, 3).kind, GroupOutcome::Kind::short_of);
  f.refresh();
  EXPECT_EQ(f.image_on("n1", "app:1").node_count, 1u) << "m1 was tried there, and is not there";
  const GroupOutcome placed = f.plan(2, 2);
  EXPECT_EQ(placed.kind, GroupOutcome::Kind::placed);
  f.refresh();
  EXPECT_EQ(f.image_on("n1", "app:1").node_count, 2u);
}

TEST(GroupCycle, PlacesThoseThatFitWhenTheyAreEnough) {
  GroupFixture f(2);
  f.start();
  const GroupOutcome outcome = f.plan(3, 2);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::placed);
  EXPECT_EQ(f.said_of(outcome), (Lines{"on n1", "on n2", "0/2 nodes are available: 2 node(s) were full."}));
  EXPECT_EQ(f.cache.counts().assumed_pods, 2u);
}

TEST(GroupCycle, APermitRejectionOfOneGivesTheNodesOfAllBack) {
  GroupFixture f(2);
  int asked = 0;
  f.plugin("Quota").permit = [&](berth_permit_out_v1&, berth_note_v1* note) -> berth_code {
    explain(note, "quota used up");
    return ++asked == 2 ? BERTH_UNSCHEDULABLE : BERTH_OK;
  };
  f.start();
  const GroupOutcome outcome = f.plan(2, 2);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::short_of);
  EXPECT_EQ(f.said_of(outcome)[1], "0/1 nodes are available: 1 quota used up.");
  f.expect_nothing_left();
}

TEST(GroupCycle, AnErrorOfOneMemberIsTheErrorOfAll) {
  GroupFixture f(2);
  int asked = 0;
  f.plugin("Broken").pre_filter = [&](berth_cycle_v1&, berth_prepare_out_v1&, berth_note_v1* note) -> berth_code {
    explain(note, "no idea");
    return ++asked == 2 ? BERTH_ERROR : BERTH_OK;
  };
  f.start();
  const GroupOutcome outcome = f.plan(2, 2);
  EXPECT_EQ(f.said_of(outcome),
            (Lines{"failed to schedule other pod from a pod group: running PreFilter plugin \"Broken\": no idea",
                   "running PreFilter plugin \"Broken\": no idea"}));
  f.expect_nothing_left();
}

/// A post-filter plugin that would evict the only pod of the first node that is not reserved by others.
void evicts(CycleFixture& f) {
  f.plugin("Preempts").post_filter = [&f](berth_cycle_v1&, const berth_post_filter_in_v1&,
                                          berth_post_filter_out_v1& out, berth_note_v1*) -> berth_code {
    for (const cache::Slot slot : f.snapshot.order()) {
      const Lines pods = f.pods_on(f.node_name(slot));
      if (pods.size() != 1 || !pods[0].starts_with("victim")) continue;
      out.nominate = BERTH_NOMINATE_SET;
      out.node = slot;
      const std::string uid = "uid-" + pods[0];
      out.add_victim(out.victims_ctx, framework::to_abi(uid));
      return BERTH_OK;
    }
    return BERTH_UNSCHEDULABLE;
  };
}

TEST(GroupCycle, NominatesAllMembersWhenEvictionsMakeRoomForAll) {
  GroupFixture f(2);
  evicts(f);
  for (const char* node : {"n1", "n2"}) f.add_pod(f.make_pod("victim-" + std::string(node), node));
  f.start();
  f.priority = 10;
  const GroupOutcome outcome = f.plan(2, 2);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::evicts);
  Lines nodes, victims;
  for (const Outcome& member : outcome.members) {
    const auto& rejection = std::get<Rejection>(member);
    nodes.emplace_back(f.symbols.text(rejection.nomination.node));
    for (const std::string& uid : rejection.victims) victims.push_back(uid);
  }
  EXPECT_EQ(nodes, (Lines{"n1", "n2"}));
  EXPECT_EQ(victims, (Lines{"uid-victim-n1", "uid-victim-n2"}));
  EXPECT_EQ(f.cache.counts().assumed_pods, 0u);
}

TEST(GroupCycle, EvictsNoPodWhenThatWouldNotMakeRoomForAll) {
  GroupFixture f(2);
  evicts(f);
  f.add_pod(f.make_pod("victim", "n1"));
  f.add_pod(f.make_pod("stays", "n2"));
  f.start();
  f.priority = 10;
  const GroupOutcome outcome = f.plan(2, 2);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::short_of);
  for (const Outcome& member : outcome.members) EXPECT_TRUE(std::get<Rejection>(member).victims.empty());
  EXPECT_EQ(f.cache.counts().assumed_pods, 0u);
}

TEST(GroupCycle, NeverEvictsAPodOfNoLowerPriorityThanTheGroup) {
  GroupFixture f(1);
  evicts(f);
  auto peer = f.make_pod("victim", "n1");
  peer->priority = 10;
  f.add_pod(peer);
  f.start();
  f.priority = 10;
  const GroupOutcome outcome = f.plan(1, 1);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::short_of);
  EXPECT_TRUE(std::get<Rejection>(outcome.members[0]).victims.empty());
}

/// A plugin with a state for each pod, which it counts.
struct States {
  explicit States(FakePlugin& plugin) {
    plugin.pre_filter = [this](berth_cycle_v1& cycle, berth_prepare_out_v1&, berth_note_v1*) -> berth_code {
      cycle.state = this;
      most = std::max(most, ++live);
      return BERTH_OK;
    };
    plugin.state_free = [this](void*) { --live; };
  }
  int live = 0, most = 0;
};

TEST(GroupCycle, KeepsStatesOnlyOfPluginsThatAreCalledOnceThePodHasItsNode) {
  GroupFixture f(3);
  States search(f.plugin("Search"));
  FakePlugin& volumes = f.plugin("Volumes");
  States reserved(volumes);
  volumes.reserve = [](berth_slot, berth_note_v1*) -> berth_code { return BERTH_OK; };
  FakePlugin& network = f.plugin("Network");
  States bound(network);
  network.pre_bind = [](const berth_cycle_v1&, berth_bind_call_v1*, berth_note_v1*) -> berth_code { return BERTH_OK; };
  std::vector<int> at_permit;
  f.plugin("Last").permit = [&](berth_permit_out_v1&, berth_note_v1*) -> berth_code {
    at_permit = {search.live, reserved.live, bound.live};
    return BERTH_OK;
  };
  f.start();
  {
    const GroupOutcome outcome = f.plan(3, 3);
    EXPECT_EQ(outcome.kind, GroupOutcome::Kind::placed);
    EXPECT_EQ(search.most, 1) << "freed before the next member's is made";
    EXPECT_EQ(at_permit, (std::vector<int>{0, 3, 3}));
  }
  EXPECT_EQ(reserved.live, 0);
  EXPECT_EQ(bound.live, 0);
}

/// What the views of other pods take that one member was shown while a node was looked for, once it has one.
std::size_t bytes_of_views(bool reserve_reads_shapes) {
  GroupFixture f(1);
  f.plugin("Looks").pre_filter = [](berth_cycle_v1& cycle, berth_prepare_out_v1&, berth_note_v1*) -> berth_code {
    framework::context_of(&cycle).snapshot_arena().allocate(1'000'000, 8);
    return BERTH_OK;
  };
  if (reserve_reads_shapes) {
    FakePlugin& counts = f.plugin("Counts");
    counts.services = {"berth.pod_index/1"};
    counts.reserve = [](berth_slot, berth_note_v1*) -> berth_code { return BERTH_OK; };
  }
  SchedulingCycle& cycle = f.start();
  GangAttempt gang;
  gang.member = [](const model::Pod&) { return false; };
  cycle.begin_gang_attempt();
  const Attempt tried = cycle.reserve(f.pod("m1"), 0, gang);
  return tried.placement ? tried.placement->reservation.context().snapshot_arena().bytes() : 1;
}

TEST(GroupCycle, KeepsNoViewsOfOtherPodsForAMemberThatHasItsNode) { EXPECT_EQ(bytes_of_views(false), 0u); }

TEST(GroupCycle, AShapeIsValidUntilAReservePluginThatLooksAtShapesHasBeenCalled) {
  EXPECT_GE(bytes_of_views(true), 1'000'000u);
}

TEST(GroupCycle, EndsAtTheLimitAndGivesEveryNodeBack) {
  GroupFixture f(5);
  f.start();
  PlanLimits limits;
  limits.clock = &f.clock;
  limits.limit_ns = 30'000'000'000;
  int turns = 0;
  limits.comes_to = [&](const model::PodPtr&) {
    ++turns;
    f.clock.advance(std::chrono::seconds(10));
  };
  const GroupOutcome outcome = f.plan(5, 4, limits);
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::overdue);
  EXPECT_EQ(f.said_of(outcome),
            Lines(5, "pod group default/gang: there was no plan after 30 s: 3 of 4 members had a node"));
  EXPECT_EQ(turns, 3 + 3) << "three members got a node, and gave it back";
  f.expect_nothing_left();
}

TEST(GroupCycle, TheLimitIsOneForAllOrders) {
  GroupFixture f(2);
  f.start();
  PlanLimits limits;
  limits.clock = &f.clock;
  limits.limit_ns = 4'000'000'000;
  limits.comes_to = [&](const model::PodPtr&) { f.clock.advance(std::chrono::seconds(1)); };
  EXPECT_EQ(f.plan(3, 3, limits).kind, GroupOutcome::Kind::overdue) << "2 of 3 fit, and then evictions are looked for";
  f.expect_nothing_left();
}

TEST(GroupCycle, EachMemberIsAnnouncedWhenItsTurnComes) {
  GroupFixture f(2);
  FakePlugin& last = f.plugin("Last");
  last.permit = [&](berth_permit_out_v1&, berth_note_v1*) -> berth_code {
    f.calls.push_back("permit");
    return BERTH_OK;
  };
  f.start();
  PlanLimits limits;
  limits.comes_to = [&](const model::PodPtr& member) { f.calls.push_back(member->name); };
  EXPECT_EQ(f.plan(2, 2, limits).kind, GroupOutcome::Kind::placed);
  const Lines expected = {"m1", "reserve Devices on n1", "m2", "reserve Devices on n2", "m1", "permit", "m2", "permit"};
  EXPECT_EQ(Lines(f.calls.begin(), f.calls.begin() + 8), expected);
}

TEST(GroupCycle, IsGivenUpBetweenTwoMembers) {
  GroupFixture f(3);
  f.start();
  PlanLimits limits;
  int turns = 0;
  limits.comes_to = [&](const model::PodPtr&) { ++turns; };
  limits.given_up = [&] { return turns == 2; };
  EXPECT_EQ(f.plan(3, 3, limits).kind, GroupOutcome::Kind::given_up);
  EXPECT_EQ(turns, 2 + 2);
  f.expect_nothing_left();
}

TEST(GroupCycle, AfterTheLimitMembersBeyondThoseThatAreNeededWaitForAnotherTime) {
  GroupFixture f(2);
  int searches = 0;
  f.plugin("Evicts").post_filter = [&](berth_cycle_v1&, const berth_post_filter_in_v1&, berth_post_filter_out_v1&,
                                       berth_note_v1*) -> berth_code {
    ++searches;
    return BERTH_UNSCHEDULABLE;
  };
  f.start();
  PlanLimits limits;
  limits.clock = &f.clock;
  limits.limit_ns = 10'000'000'000;
  limits.comes_to = [&](const model::PodPtr&) { f.clock.advance(std::chrono::seconds(1)); };
  const GroupOutcome outcome = f.plan(9, 2, limits);  // nine turns, two for permit: no time is left
  EXPECT_EQ(outcome.kind, GroupOutcome::Kind::placed);
  EXPECT_EQ(searches, 0);
  const Lines said = f.said_of(outcome);
  EXPECT_EQ(Lines(said.begin(), said.begin() + 3),
            (Lines{"on n1", "on n2", "0/2 nodes are available: 2 node(s) were full."}));
}

}  // namespace
}  // namespace berth::cycle::testing
