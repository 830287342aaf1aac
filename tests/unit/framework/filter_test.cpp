// SPDX-License-Identifier: Apache-2.0
#include "framework/points/filter.hpp"

#include <stdexcept>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

using Out = berth_filter_out_v1;

/// Four nodes n0..n3 in slots 0..3, and filters that say what the test wants.
struct FilterFixture : FrameworkFixture {
  FilterFixture() {
    for (const char* name : {"n0", "n1", "n2", "n3"}) add_node(name);
    refresh();
  }
  using Judge = std::function<berth_code(const berth_cycle_v1&, Out&, berth_note_v1*)>;
  const PluginInstance& filter(const std::string& name, Judge judge) {
    FakePlugin& plugin = make_plugin(name);
    plugin.reasons = {"first reason", "second reason"};
    plugin.filter = [judge = std::move(judge)](const berth_cycle_v1& cycle, const berth_node_block_v1&, Out& out,
                                               berth_note_v1* note) { return judge(cycle, out, note); };
    return add(plugin);
  }
  bool run(std::uint64_t candidates = 0b1111) {
    alive = candidates;
    return run_filters(begin(make_pod("p")), blocks, blocks.contiguous(0, 4), filters(), &alive, scratch, failure);
  }
  void explain_all() {
    alive = 0b1111;
    explain_filters(begin(make_pod("p")), blocks, blocks.contiguous(0, 4), filters(), &alive, scratch, verdicts);
  }
  NodeBlocks blocks{snapshot};
  FilterScratch scratch;
  FilterFailure failure;
  std::uint64_t alive = 0;
  std::array<NodeVerdict, 4> verdicts;
};

TEST(Filters, NarrowOneAfterTheOther) {
  FilterFixture f;
  std::uint64_t seen = 0;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    EXPECT_EQ(out.reasons, nullptr) << "nobody wants reasons in the quick pass";
    *out.pass &= ~std::uint64_t{0b0010};
    return BERTH_OK;
  });
  f.filter("B", [&](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    seen = *out.pass;
    *out.pass &= 0b0111;
    return BERTH_OK;
  });
  EXPECT_TRUE(f.run());
  EXPECT_EQ(seen, 0b1101u);
  EXPECT_EQ(f.alive, 0b0101u);
}

TEST(Filters, CannotBringANodeBack) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass = ~std::uint64_t{0};
    return BERTH_OK;
  });
  EXPECT_TRUE(f.run(0b0110));
  EXPECT_EQ(f.alive, 0b0110u);
}

TEST(Filters, StopWhenNobodyIsLeft) {
  FilterFixture f;
  bool asked = false;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass = 0;
    return BERTH_OK;
  });
  f.filter("B", [&](const berth_cycle_v1&, Out&, berth_note_v1*) -> berth_code {
    asked = true;
    return BERTH_OK;
  });
  EXPECT_TRUE(f.run());
  EXPECT_FALSE(asked);
}

TEST(Filters, LeaveOutWhoSkipped) {
  FilterFixture f;
  const PluginInstance& a = f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass = 0;
    return BERTH_OK;
  });
  CycleContext& context = f.begin(f.make_pod("p"));
  context.mark_skip_filter(a);
  f.alive = 0b1111;
  EXPECT_TRUE(run_filters(context, f.blocks, f.blocks.contiguous(0, 4), f.filters(), &f.alive, f.scratch, f.failure));
  EXPECT_EQ(f.alive, 0b1111u);
}

TEST(Filters, AnExceptionNamesThePlugin) {
  FilterFixture f;
  const PluginInstance& a = f.filter("example.com/A", [](const berth_cycle_v1&, Out&, berth_note_v1*) -> berth_code {
    throw std::runtime_error("no luck");
  });
  EXPECT_FALSE(f.run());
  EXPECT_EQ(f.failure.plugin, &a);
  EXPECT_EQ(f.failure.text, "running \"example.com/A\" filter plugin: no luck");
}

TEST(Filters, ACodeThatAFilterMustNotReturnIsAFailure) {
  FilterFixture f;
  f.filter("X", [](const berth_cycle_v1&, Out&, berth_note_v1*) -> berth_code { return BERTH_WAIT; });
  EXPECT_FALSE(f.run());
  EXPECT_EQ(f.failure.text,
            "running \"X\" filter plugin: plugin X returned Wait (4) from filter, which is not valid there");
}

TEST(ExplainedFilters, GiveEachNodeTheFirstObjection) {
  FilterFixture f;
  const PluginInstance& a = f.filter("A", [](const berth_cycle_v1& cycle, Out& out, berth_note_v1*) -> berth_code {
    EXPECT_NE(cycle.flags & BERTH_CYCLE_WANT_REASONS, 0u);
    *out.pass &= ~std::uint64_t{0b0011};
    *out.unresolvable = 0b0010;
    out.reasons[0] = 1;
    out.reasons[1] = 2;
    return BERTH_OK;
  });
  const PluginInstance& b = f.filter("B", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass &= ~std::uint64_t{0b0101};
    out.reasons[0] = 1;  // not its to judge any more
    out.flags = BERTH_FILTER_PENDING;
    return BERTH_OK;
  });
  f.explain_all();
  EXPECT_EQ(f.alive, 0b1000u);
  EXPECT_EQ(f.verdicts[0].code, Code::unschedulable);
  EXPECT_EQ(f.verdicts[0].plugin, &a);
  EXPECT_EQ(f.verdicts[0].reason, 1u);
  EXPECT_EQ(f.verdicts[1].code, Code::unresolvable);
  EXPECT_EQ(f.verdicts[1].reason, 2u);
  EXPECT_EQ(f.verdicts[2].code, Code::pending);
  EXPECT_EQ(f.verdicts[2].plugin, &b);
  EXPECT_EQ(f.verdicts[2].reason, 0u);
  EXPECT_EQ(f.verdicts[3].code, Code::success);
}

TEST(ExplainedFilters, ABrokenOneFailsTheNodesThatReachedIt) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass &= ~std::uint64_t{0b0001};
    return BERTH_OK;
  });
  const PluginInstance& b = f.filter("B", [](const berth_cycle_v1&, Out&, berth_note_v1* note) -> berth_code {
    explain(note, "broken");
    return BERTH_ERROR;
  });
  f.explain_all();
  EXPECT_EQ(f.verdicts[0].code, Code::unschedulable);
  for (const int row : {1, 2, 3}) {
    EXPECT_EQ(f.verdicts[row].code, Code::error) << row;
    EXPECT_EQ(f.verdicts[row].plugin, &b) << row;
    ASSERT_EQ(f.reasons.texts(f.verdicts[row].reason).size(), 1u);
    EXPECT_EQ(f.reasons.texts(f.verdicts[row].reason)[0], "running \"B\" filter plugin: broken");
  }
  EXPECT_EQ(f.alive, 0u);
}

}  // namespace
}  // namespace berth::framework::testing
