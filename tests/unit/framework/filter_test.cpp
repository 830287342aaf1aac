// SPDX-License-Identifier: Apache-2.0
#include "framework/points/filter.hpp"

#include <stdexcept>

#include "framework/plugin_call.hpp"
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
    EXPECT_EQ(out.reasons, nullptr) << "the quick pass asks for no reasons";
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

TEST(Filters, AreToldOfWritesPastTheEndOfAnAnswerWhereTheyAreChecked) {
  using Damage = void (*)(Out&);
  const std::pair<std::string, Damage> cases[] = {{"pass", [](Out& out) { out.pass[1] = 7; }},
                                                  {"unresolvable", [](Out& out) { out.unresolvable[63] = 7; }},
                                                  {"pending", [](Out& out) { out.pending[1] = 7; }},
                                                  {"reasons", [](Out& out) { out.reasons[64] = 7; }}};
  for (const auto& [what, damage] : cases) {
    FilterFixture f;
    f.host.traps_unasked_fields = true;
    bool is_careful = true;
    f.filter("Careless", [&, damage = damage](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.pass) % 64, 0u);
      out.pass[0] &= ~std::uint64_t{0b0010};
      if (out.reasons != nullptr) out.reasons[1] = 2, out.reasons[63] = 1;
      if (!is_careful) damage(out);
      return BERTH_OK;
    });
    f.explain_all();
    EXPECT_EQ(f.verdicts[0].code, Code::success);
    EXPECT_EQ(f.verdicts[1].code, Code::unschedulable) << "its answer arrives";
    EXPECT_EQ(f.verdicts[1].reason, 2u);
    is_careful = false;
    f.explain_all();
    EXPECT_EQ(f.verdicts[0].code, Code::error);
    EXPECT_EQ(sentences(*f.profile.filter[0], f.verdicts[0].reason),
              std::vector<std::string>{"running \"Careless\" filter plugin: it wrote past the end of " + what +
                                       ", which has 4 rows"});
  }
}

TEST(Filters, SayNotYetOfSingleRows) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    EXPECT_EQ(*out.pending, 0u);
    *out.pass &= ~std::uint64_t{0b0111};
    *out.unresolvable |= 0b0010;
    *out.pending |= 0b1001;  // of the last one, which passes, it means nothing
    return BERTH_OK;
  });
  f.explain_all();
  EXPECT_EQ(f.verdicts[0].code, Code::pending);
  EXPECT_EQ(f.verdicts[1].code, Code::unresolvable);
  EXPECT_EQ(f.verdicts[2].code, Code::unschedulable);
  EXPECT_EQ(f.verdicts[3].code, Code::success);
}

/// They mean something to a later host; one that takes them for nothing would judge otherwise than the plugin.
TEST(Filters, MayNotSetTheReservedFlagsOfTheirAnswer) {
  FilterFixture f;
  f.filter("Odd", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    out.flags = 4;
    return BERTH_OK;
  });
  f.explain_all();
  EXPECT_EQ(f.verdicts[0].code, Code::error);
  EXPECT_EQ(sentences(*f.profile.filter[0], f.verdicts[0].reason),
            std::vector<std::string>{"running \"Odd\" filter plugin: it set the reserved flags of its answer to 0x4"});
}

TEST(Filters, CannotAcceptANodeThatIsNoCandidate) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass = ~std::uint64_t{0};
    return BERTH_OK;
  });
  EXPECT_TRUE(f.run(0b0110));
  EXPECT_EQ(f.alive, 0b0110u);
}

TEST(Filters, StopWhenNoNodeIsLeft) {
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

TEST(Filters, LeaveOutPluginsThatSkipped) {
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
    *out.pending = 0b0101;
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

TEST(ExplainedFilters, AFilterThatFailsIsTheErrorOfNodesThatReachedIt) {
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

TEST(Filters, ARowThatCannotBeJudgedFailsAloneAndIsNotAskedAboutAgain) {
  FilterFixture f;
  const PluginInstance& a = f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    EXPECT_EQ(out.fail_row(out.ctx, 2, key("no answer\nfrom n2")), BERTH_OK);
    EXPECT_EQ(out.fail_row(out.ctx, 1, key("nor from n1")), BERTH_OK);
    EXPECT_EQ(out.fail_row(out.ctx, 2, key("again")), BERTH_OK) << "the first counts";
    EXPECT_EQ(out.fail_row(out.ctx, 3, key("not asked about")), BERTH_BAD_ARGS);
    EXPECT_EQ(out.fail_row(out.ctx, 4000000000u, key("no such row")), BERTH_BAD_ARGS);
    EXPECT_EQ(out.add_detail, nullptr) << "the quick pass asks for no details";
    return BERTH_OK;
  });
  std::uint64_t seen = 0;
  f.filter("B", [&](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    seen = *out.pass;
    return BERTH_OK;
  });
  ASSERT_TRUE(f.run(0b0111));
  EXPECT_EQ(f.alive, 0b0001u);
  EXPECT_EQ(seen, 0b0001u);
  ASSERT_EQ(f.scratch.errors.size(), 2u);
  EXPECT_EQ(f.scratch.errors[0].row, 1u);
  EXPECT_EQ(f.scratch.errors[0].plugin, &a);
  EXPECT_EQ(f.scratch.errors[1].row, 2u);
  EXPECT_EQ(f.scratch.errors[1].text, "running \"A\" filter plugin: no answer\\x0afrom n2");
}

TEST(Filters, TheTextOfARowIsCut) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    const std::string text(100'000, 'x');
    return out.fail_row(out.ctx, 0, {text.data(), text.size()});
  });
  ASSERT_TRUE(f.run());
  ASSERT_EQ(f.scratch.errors.size(), 1u);
  EXPECT_LT(f.scratch.errors[0].text.size(), 1'100u);
}

TEST(Filters, ABudgetIsADeadlineAndItsEnd) {
  FilterFixture f;
  std::vector<std::uint64_t> deadlines;
  const PluginInstance& a = f.filter("A", [&](const berth_cycle_v1& cycle, Out&, berth_note_v1*) -> berth_code {
    deadlines.push_back(cycle.deadline_ns - static_cast<std::uint64_t>(f.clock.monotonic_ns()));
    f.clock.advance(std::chrono::milliseconds(40));
    return BERTH_OK;
  });
  EXPECT_EQ(a.filter_budget_ns(), 0);
  FakePlugin& b = f.plugins.back();
  b.filter_budget_ns = 100'000'000;
  f.profile.instances.clear();
  f.profile.filter.clear();
  f.add(b);
  CycleContext& context = f.begin(f.make_pod("p"));
  const auto ask = [&] {
    f.alive = 0b1111;
    return run_filters(context, f.blocks, f.blocks.contiguous(0, 4), f.filters(), &f.alive, f.scratch, f.failure);
  };
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  f.clock.advance(std::chrono::seconds(10));
  EXPECT_TRUE(ask()) << "only what the filter takes counts";
  EXPECT_EQ(deadlines, (std::vector<std::uint64_t>{100'000'000, 60'000'000, 20'000'000}));
  EXPECT_FALSE(ask());
  EXPECT_EQ(f.failure.text, "running \"A\" filter plugin: the 100 ms that it may take for an attempt are used up");
  EXPECT_EQ(deadlines.size(), 3u);
  context.end();
  context.begin(f.make_pod("q"), 1, 2, &f.snapshot);
  EXPECT_TRUE(ask()) << "an attempt has a budget of its own";
}

TEST(Filters, WithoutABudgetThereIsNoDeadline) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1& cycle, Out&, berth_note_v1*) -> berth_code {
    EXPECT_EQ(cycle.deadline_ns, 0u);
    return BERTH_OK;
  });
  EXPECT_TRUE(f.run());
}

TEST(ExplainedFilters, SayMoreAboutARowOnlyWhenAsked) {
  FilterFixture f;
  const PluginInstance& a = f.filter("A", [](const berth_cycle_v1& cycle, Out& out, berth_note_v1*) -> berth_code {
    *out.pass &= ~std::uint64_t{0b0010};
    EXPECT_EQ((cycle.flags & BERTH_CYCLE_WANT_DETAILS) != 0, out.add_detail != nullptr);
    if (out.add_detail == nullptr) return BERTH_OK;
    EXPECT_EQ(out.add_detail(out.ctx, 1, key("in use"), 7), BERTH_OK);
    for (int i = 0; i < 100; ++i) out.add_detail(out.ctx, 1, key("more"), 1);
    EXPECT_EQ(out.add_detail(out.ctx, 9, key("no such row"), 1), BERTH_BAD_ARGS);
    return BERTH_OK;
  });
  f.explain_all();
  std::vector<NodeDetail> details;
  f.alive = 0b1111;
  explain_filters(f.begin(f.make_pod("p")), f.blocks, f.blocks.contiguous(0, 4), f.filters(), &f.alive, f.scratch,
                  f.verdicts, &details);
  ASSERT_EQ(details.size(), 64u) << "of a row so many are kept";
  EXPECT_EQ(details[0].slot, 1u);
  EXPECT_EQ(details[0].plugin, &a);
  EXPECT_EQ(details[0].text, "in use");
  EXPECT_EQ(details[0].count, 7u);
}

TEST(ExplainedFilters, ARowThatCannotBeJudgedHasAnErrorOfItsOwn) {
  FilterFixture f;
  f.filter("A", [](const berth_cycle_v1&, Out& out, berth_note_v1*) -> berth_code {
    *out.pass &= ~std::uint64_t{0b0001};
    return out.fail_row(out.ctx, 2, key("broken"));
  });
  f.explain_all();
  EXPECT_EQ(f.verdicts[0].code, Code::unschedulable);
  EXPECT_EQ(f.verdicts[1].code, Code::success);
  EXPECT_EQ(f.verdicts[2].code, Code::error);
  EXPECT_EQ(f.reasons.texts(f.verdicts[2].reason)[0], "running \"A\" filter plugin: broken");
  EXPECT_EQ(f.alive, 0b1010u);
}

}  // namespace
}  // namespace berth::framework::testing
