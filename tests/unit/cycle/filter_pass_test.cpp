// SPDX-License-Identifier: Apache-2.0
#include "cycle/filter_pass.hpp"

#include "unit/framework/framework_fixture.hpp"

namespace berth::cycle {
namespace {

using framework::Code;
using framework::testing::explain;
using framework::testing::FakePlugin;
using framework::testing::FrameworkFixture;

/// Nodes n0..n4 in slots 0..4 of one zone, so that the list order is by slot.
struct PassFixture : FrameworkFixture {
  PassFixture() {
    for (const char* name : {"n0", "n1", "n2", "n3", "n4"}) add_node(name);
    refresh();
  }
  /// A filter that lets these slots pass, for the reason of that number.
  void lets_pass(const std::string& name, std::uint64_t slots, std::uint64_t breaks_on = 0) {
    FakePlugin& plugin = make_plugin(name);
    plugin.reasons = {name + " says no"};
    plugin.filter = [slots, breaks_on](const berth_cycle_v1&, const berth_node_block_v1& block,
                                       berth_filter_out_v1& out, berth_note_v1* note) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
        if ((breaks_on >> slot & 1) != 0 && (block.candidates[0] >> row & 1) != 0) {
          explain(note, "no idea");
          return BERTH_ERROR;
        }
        if ((slots >> slot & 1) != 0) continue;
        out.pass[0] &= ~(std::uint64_t{1} << row);
        if (out.reasons != nullptr) out.reasons[row] = 1;
      }
      return BERTH_OK;
    };
    add(plugin);
  }
  FilterFindings run(std::int64_t wanted, std::size_t start = 0, std::uint64_t candidates = 0b11111,
                     const Nominated& nominated = {}) {
    FilterFindings found;
    framework::CandidateNodes taking_part;
    taking_part.begin(snapshot);
    taking_part.keep(&candidates);
    pass.run(begin(make_pod("p")), taking_part, nominated, wanted, start, found);
    return found;
  }
  std::string explanation(std::uint64_t candidates = 0b11111, bool of_all_filters = false) {
    Diagnosis diagnosis;
    diagnosis.node_count = 5;
    FilterPass(snapshot, blocks, of_all_filters).diagnose(begin(make_pod("p")), &candidates, {}, diagnosis, nullptr);
    return diagnosis.message();
  }
  framework::NodeBlocks blocks{snapshot};
  FilterPass pass{snapshot, blocks};
};

using Slots = std::vector<cache::Slot>;

TEST(FilterPass, FindsFeasibleNodesInListOrderFromTheStart) {
  PassFixture f;
  f.lets_pass("A", 0b11011);
  const FilterFindings found = f.run(5, 3);
  EXPECT_EQ(found.feasible, (Slots{3, 4, 0, 1}));
  EXPECT_EQ(found.rejected, 1u);
  EXPECT_EQ(found.rejected_nodes, (std::vector<std::uint64_t>{0b00100}));
}

TEST(FilterPass, StopsWhereOneMoreThanWantedFits) {
  PassFixture f;
  f.lets_pass("A", 0b11101);
  const FilterFindings found = f.run(2, 0);
  EXPECT_EQ(found.feasible, (Slots{0, 2}));
  EXPECT_EQ(found.rejected, 1u) << "n1, but not what stands behind n3";
}

TEST(FilterPass, OnlyCandidatesTakePartAndTheStartCountsThose) {
  PassFixture f;
  f.lets_pass("A", 0b11111);
  EXPECT_EQ(f.run(5, 1, 0b10101).feasible, (Slots{2, 4, 0}));
}

TEST(FilterPass, AFilterThatBreaksFailsTheSearchOnlyWhereItIsReached) {
  PassFixture f;
  f.lets_pass("A", 0b11111, 0b01000);
  EXPECT_EQ(f.run(5).error, "running \"A\" filter plugin: no idea");
  const FilterFindings before_it = f.run(2);
  EXPECT_EQ(before_it.error, "");
  EXPECT_EQ(before_it.feasible, (Slots{0, 1}));
}

TEST(FilterPass, ANodeHasToFitWithAndWithoutItsNominatedPods) {
  PassFixture f;
  FakePlugin& room = f.make_plugin("Room");
  room.deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE;
  room.create = [](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
    binder.column(binder.ctx, BERTH_COL_PODS, {"", 0});
    return BERTH_OK;
  };
  room.filter = [](const berth_cycle_v1&, const berth_node_block_v1& block, berth_filter_out_v1& out,
                   berth_note_v1*) -> berth_code {
    for (std::uint32_t row = 0; row < block.rows; ++row)
      if (static_cast<const std::int64_t*>(block.columns[0])[row] != 0) out.pass[0] &= ~(std::uint64_t{1} << row);
    return BERTH_OK;
  };
  f.add(room);
  f.refresh();
  const Nominated nominated{{2, {f.make_pod("nominated")}}};
  EXPECT_EQ(f.run(5, 0, 0b11111, nominated).feasible, (Slots{0, 1, 3, 4}));
}

TEST(FilterPass, ExplainsEachNodeByTheFirstFilterThatRejectsIt) {
  PassFixture f;
  f.lets_pass("A", 0b00111);
  f.lets_pass("B", 0b00000);
  EXPECT_EQ(f.explanation(), "0/5 nodes are available: 2 A says no, 3 B says no.");
}

TEST(FilterPass, ExplainsByEveryFilterWhereThatIsWanted) {
  PassFixture f;
  f.lets_pass("A", 0b00111);
  f.lets_pass("B", 0b00000);
  EXPECT_EQ(f.explanation(0b11111, true), "0/5 nodes are available: 2 A says no, 5 B says no.");
}

TEST(FilterPass, ExplainsANodeWhereAFilterBreaksWithoutItsNeighbours) {
  PassFixture f;
  f.lets_pass("A", 0b00000, 0b01000);
  EXPECT_EQ(f.explanation(), "0/5 nodes are available: 1 running \"A\" filter plugin: no idea, 4 A says no.");
}

}  // namespace
}  // namespace berth::cycle
