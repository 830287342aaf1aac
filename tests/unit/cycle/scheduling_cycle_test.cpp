// SPDX-License-Identifier: Apache-2.0
#include "cycle/scheduling_cycle.hpp"

#include "unit/cycle/cycle_fixture.hpp"

namespace berth::cycle::testing {
namespace {

struct TwoNodes : CycleFixture {
  TwoNodes() {
    add_node("n1");
    add_node("n2");
  }
  /// Only the node of that name fits.
  FakePlugin& only(const std::string& node) {
    FakePlugin& filter = plugin("Only");
    filter.reasons = {"node(s) were not " + node};
    filter.filter = filter_by(*this, [node](const std::string& name) { return name == node; });
    return filter;
  }
  /// Prefers the node of that name.
  FakePlugin& prefers(const std::string& node) {
    FakePlugin& scorer = plugin("Prefers");
    scorer.score = [this, node](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
        raw[row] = snapshot.row(slot).node && node_name(slot) == node ? 10 : 0;
      }
      return BERTH_OK;
    };
    return scorer;
  }
};

TEST(SchedulingCycle, PlacesThePodOnTheBestNodeAndAssumesIt) {
  TwoNodes f;
  f.prefers("n2");
  f.noting("Devices");
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(said(f, outcome), "on n2");
  EXPECT_TRUE(f.cache.is_assumed("uid-p"));
  EXPECT_EQ(f.calls, (Lines{"reserve Devices on n2"}));
  EXPECT_EQ(std::get<Placement>(outcome).evaluated_nodes, 2u);
  EXPECT_EQ(std::get<Placement>(outcome).feasible_nodes, 2u);
  EXPECT_EQ(std::get<Placement>(outcome).total, 10);
}

TEST(SchedulingCycle, SaysWhichPluginRejectedEveryNode) {
  TwoNodes f;
  f.only("n3");
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  const auto& rejection = std::get<Rejection>(outcome);
  EXPECT_EQ(rejection.code, Code::unschedulable);
  EXPECT_EQ(rejection.message, "0/2 nodes are available: 2 node(s) were not n3.");
  EXPECT_TRUE(rejection.rejectors.unschedulable.contains(f.index_of("Only")));
  EXPECT_FALSE(f.cache.is_assumed("uid-p"));
}

TEST(SchedulingCycle, RejectsThePodInAClusterWithoutNodes) {
  CycleFixture f;
  f.plugin("Idle").permit = [](berth_permit_out_v1&, berth_note_v1*) -> berth_code { return BERTH_OK; };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(said(f, outcome), "no nodes available to schedule pods");
  EXPECT_TRUE(std::get<Rejection>(outcome).has_no_nodes);
}

TEST(SchedulingCycle, FailsForASchedulerNameWithoutAProfile) {
  TwoNodes f;
  f.only("n1");
  f.start();
  auto stranger = f.make_pod("p");
  stranger->scheduler_name = "another";
  const Outcome outcome = f.attempt(stranger);
  EXPECT_EQ(std::get<Rejection>(outcome).code, Code::error);
  EXPECT_EQ(said(f, outcome), "profile not found for scheduler name \"another\"");
}

TEST(SchedulingCycle, AFilterThatBreaksEndsTheAttemptAsAnError) {
  TwoNodes f;
  f.plugin("Broken").filter = [](const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&,
                                 berth_note_v1* note) -> berth_code {
    explain(note, "no idea");
    return BERTH_ERROR;
  };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(std::get<Rejection>(outcome).code, Code::error);
  EXPECT_EQ(said(f, outcome), "running \"Broken\" filter plugin: no idea");
}

TEST(SchedulingCycle, AReserveRejectionGivesEverythingBack) {
  TwoNodes f;
  f.only("n1");
  f.noting("First");
  FakePlugin& second = f.noting("Second");
  second.reserve = [](berth_slot, berth_note_v1* note) -> berth_code {
    explain(note, "no device left");
    return BERTH_UNSCHEDULABLE;
  };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(said(f, outcome), "0/1 nodes are available: 1 no device left.");
  EXPECT_EQ(f.calls, (Lines{"reserve First on n1", "unreserve Second on n1", "unreserve First on n1"}));
  EXPECT_FALSE(f.cache.is_assumed("uid-p"));
}

TEST(SchedulingCycle, APermitRejectionGivesEverythingBack) {
  TwoNodes f;
  f.only("n1");
  f.noting("Devices");
  f.plugin("Quota").permit = [](berth_permit_out_v1&, berth_note_v1* note) -> berth_code {
    explain(note, "quota used up");
    return BERTH_UNSCHEDULABLE;
  };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(said(f, outcome), "0/1 nodes are available: 1 quota used up.");
  EXPECT_EQ(f.calls, (Lines{"reserve Devices on n1", "unreserve Devices on n1"}));
  EXPECT_FALSE(f.cache.is_assumed("uid-p"));
}

TEST(SchedulingCycle, TriesTheNominatedNodeBeforeBetterOnes) {
  TwoNodes f;
  f.prefers("n2");
  f.start();
  auto pod = std::make_shared<model::Pod>(*f.pod("p"));
  pod->nominated_node = f.symbols.intern("n1");
  EXPECT_EQ(said(f, f.attempt(pod)), "on n1");
  EXPECT_EQ(said(f, f.attempt(f.pod("q"))), "on n2");
}

TEST(SchedulingCycle, KeepsRoomForMoreImportantPodsThatAreNominated) {
  TwoNodes f;
  f.pods_per_node(1);
  f.start();
  f.nominated.list.push_back({f.symbols.intern("n1"), f.pod("important", 10)});
  EXPECT_EQ(said(f, f.attempt(f.pod("p"))), "on n2");
  // A more important pod than that one takes the room.
  f.add_pod(f.make_pod("other", "n2"));
  EXPECT_EQ(said(f, f.attempt(f.pod("more-important", 20))), "on n1");
}

TEST(SchedulingCycle, APostFilterPluginNominatesANodeAndNamesItsVictims) {
  TwoNodes f;
  f.only("n3");
  f.plugin("Preempts").post_filter = [](berth_cycle_v1&, const berth_post_filter_in_v1& in,
                                        berth_post_filter_out_v1& out, berth_note_v1* note) -> berth_code {
    EXPECT_EQ(in.unschedulable[0], 0b11u);
    out.nominate = BERTH_NOMINATE_SET;
    out.node = 1;
    out.add_victim(out.victims_ctx, framework::testing::key("uid-victim"));
    explain(note, "one pod goes");
    return BERTH_OK;
  };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  const auto& rejection = std::get<Rejection>(outcome);
  EXPECT_EQ(said(f, outcome), "0/2 nodes are available: 2 node(s) were not n3. one pod goes");
  EXPECT_EQ(rejection.victims, (Lines{"uid-victim"}));
  EXPECT_EQ(rejection.evictor, "Preempts");
  EXPECT_EQ(f.symbols.text(rejection.nomination.node), "n2");
}

TEST(SchedulingCycle, APostFilterPluginThatRejectsThePodNominatesNodesOnlyToo) {
  TwoNodes f;
  f.only("n3");
  f.plugin("Preempts").post_filter = [](berth_cycle_v1&, const berth_post_filter_in_v1&, berth_post_filter_out_v1& out,
                                        berth_note_v1*) -> berth_code {
    out.nominate = BERTH_NOMINATE_SET;
    out.node = 1u << 20;
    return BERTH_UNSCHEDULABLE;
  };
  f.start();
  const Outcome outcome = f.attempt(f.pod("p"));
  EXPECT_EQ(said(f, outcome),
            "0/2 nodes are available: 2 node(s) were not n3. plugin Preempts nominated slot 1048576, which is no node");
  EXPECT_EQ(std::get<Rejection>(outcome).nomination.mode, model::Nomination::Mode::keep);
}

TEST(SchedulingCycle, JudgesPodsOfOneClassOnce) {
  TwoNodes f;
  int judged = 0;
  FakePlugin& filter = f.plugin("Counts");
  filter.filter = [&](const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&,
                      berth_note_v1*) -> berth_code {
    ++judged;
    return BERTH_OK;
  };
  f.prefers("n1");
  f.start();
  const Outcome first = f.attempt(f.pod("p"), 7);
  EXPECT_EQ(said(f, first), "on n1");
  const int before = judged;
  const Outcome second = f.attempt(f.pod("q"), 7);
  EXPECT_EQ(said(f, second), "on n1");
  EXPECT_LE(judged, before + 1) << "only the node that changed is judged again";
  EXPECT_EQ(f.cycle->reuse_counts().evaluated, 0u);
  EXPECT_EQ(f.cycle->reuse_counts().reused, 2u);
}

TEST(SchedulingCycle, ExplainsEveryNodeAndChangesNothing) {
  TwoNodes f;
  f.only("n1");
  f.prefers("n1");
  f.noting("Devices");
  f.start();
  const Explanation explanation = f.cycle->explain(f.pod("p"));
  ASSERT_EQ(explanation.nodes.size(), 2u);
  EXPECT_EQ(explanation.nodes[0].code, Code::success);
  EXPECT_EQ(explanation.nodes[1].plugin, "Only");
  EXPECT_EQ(explanation.nodes[1].reasons, (Lines{"node(s) were not n1"}));
  EXPECT_TRUE(f.calls.empty());
  EXPECT_FALSE(f.cache.is_assumed("uid-p"));
}

}  // namespace
}  // namespace berth::cycle::testing
