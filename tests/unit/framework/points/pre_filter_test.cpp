// SPDX-License-Identifier: Apache-2.0
#include "framework/points/pre_filter.hpp"

#include "base/bitmap.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework {
namespace {

using testing::FakePlugin;
using testing::FrameworkFixture;
using Slots = std::vector<cache::Slot>;

/// 130 nodes in slots 0 to 129.
struct PreFilterFixture : FrameworkFixture {
  PreFilterFixture() {
    for (int i = 0; i < 130; ++i) add_node(fmt::format("n{}", i));
    refresh();
  }
  using Answer = std::function<berth_code(berth_cycle_v1&, berth_prepare_out_v1&)>;
  void add_pre_filter(const std::string& name, Answer answer) {
    FakePlugin& plugin = make_plugin(name);
    plugin.pre_filter = [answer = std::move(answer)](berth_cycle_v1& cycle, berth_prepare_out_v1& out, berth_note_v1*) {
      return answer(cycle, out);
    };
    add(plugin);
    profile.pre_filter.push_back(profile.instances.back().get());
  }
  /// The nodes that are left for the next pod.
  Slots left() {
    candidates.begin(snapshot);
    result = run_pre_filter(begin(make_pod("p")), candidates, memory);
    Slots slots;
    bitmap::for_each(candidates.bits(), candidates.word_count(),
                     [&](std::size_t slot) { slots.push_back(static_cast<cache::Slot>(slot)); });
    EXPECT_EQ(slots.size(), candidates.count());
    return slots;
  }
  static void keep(berth_prepare_out_v1& out, const Slots& slots) {
    std::vector<std::uint64_t> kept(out.word_count);
    for (const cache::Slot slot : slots) bitmap::set(kept.data(), slot);
    out.narrowed = 1;
    for (std::size_t w = 0; w < kept.size(); ++w) out.candidates[w] &= kept[w];
  }
  static Slots range(cache::Slot first, cache::Slot end) {
    Slots slots(end - first);
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = first + static_cast<cache::Slot>(i);
    return slots;
  }

  CandidateNodes candidates;
  CandidateMemory memory;
  PreFilterResult result;
};

TEST(PreFilter, ShowsTheBitmapOfTheSnapshotItselfWhileNoPluginNarrows) {
  PreFilterFixture f;
  f.add_pre_filter("A", [](berth_cycle_v1&, berth_prepare_out_v1&) { return BERTH_OK; });
  EXPECT_EQ(f.left(), PreFilterFixture::range(0, 130));
  EXPECT_TRUE(f.candidates.all());
  EXPECT_EQ(f.candidates.bits(), f.snapshot.nodes());
  EXPECT_FALSE(f.result.narrowed);
}

TEST(PreFilter, FewNodesThatAreLeftAreAList) {
  PreFilterFixture f;
  f.add_pre_filter("A", [](berth_cycle_v1&, berth_prepare_out_v1& out) {
    PreFilterFixture::keep(out, {129, 3});
    return BERTH_OK;
  });
  EXPECT_EQ(f.left(), (Slots{3, 129}));
  EXPECT_EQ(Slots(f.candidates.few().begin(), f.candidates.few().end()), (Slots{3, 129}));
  EXPECT_TRUE(f.result.narrowed);
}

TEST(PreFilter, WhatSeveralPluginsNameIsWhatAllOfThemName) {
  PreFilterFixture f;
  f.add_pre_filter("A", [](berth_cycle_v1&, berth_prepare_out_v1& out) {
    PreFilterFixture::keep(out, PreFilterFixture::range(10, 120));
    return BERTH_OK;
  });
  f.add_pre_filter("B", [](berth_cycle_v1&, berth_prepare_out_v1& out) {
    PreFilterFixture::keep(out, PreFilterFixture::range(100, 130));
    return BERTH_OK;
  });
  EXPECT_EQ(f.left(), PreFilterFixture::range(100, 120));
  EXPECT_EQ(f.left(), PreFilterFixture::range(100, 120)) << "the next pod";
}

TEST(PreFilter, APluginThatChangesCandidatesWithoutSayingSoTakesNoNodeFromAnyPlugin) {
  PreFilterFixture f;
  int pods = 0;
  f.add_pre_filter("Careless", [&](berth_cycle_v1&, berth_prepare_out_v1& out) {
    ++pods;
    if (pods < 3) {
      std::fill_n(out.candidates, out.word_count, 0);
    } else {
      PreFilterFixture::keep(out, {5, 6});
    }
    return BERTH_OK;
  });
  f.add_pre_filter("Careful", [&](berth_cycle_v1&, berth_prepare_out_v1& out) {
    if (pods == 2) PreFilterFixture::keep(out, {6, 7});
    return BERTH_OK;
  });
  EXPECT_EQ(f.left().size(), 130u);
  EXPECT_EQ(f.left(), (Slots{6, 7})) << "another plugin of the same attempt";
  EXPECT_EQ(f.left(), (Slots{5, 6})) << "the plugin itself, for a later pod";
  EXPECT_EQ(f.snapshot.nodes()[0], ~std::uint64_t{0}) << "the cluster";
}

TEST(PreFilter, APluginThatIsAskedAgainBeginsWithoutAState) {
  PreFilterFixture f;
  int made = 0, freed = 0, pods = 0;
  FakePlugin& plugin = f.make_plugin("A");
  plugin.state_free = [&](void*) { ++freed; };
  plugin.pre_filter = [&](berth_cycle_v1& cycle, berth_prepare_out_v1& out, berth_note_v1*) -> berth_code {
    EXPECT_EQ(cycle.state, nullptr);
    cycle.state = &made;
    ++made;
    if (pods == 1) PreFilterFixture::keep(out, {1});
    return BERTH_OK;
  };
  f.add(plugin);
  f.profile.pre_filter.push_back(f.profile.instances.back().get());
  f.left();
  pods = 1;
  EXPECT_EQ(f.left(), (Slots{1}));
  EXPECT_EQ(f.left(), (Slots{1}));
  f.context.reset();
  EXPECT_EQ(made, 4) << "twice where it has narrowed for the first time";
  EXPECT_EQ(freed, made);
}

TEST(PreFilter, ANodeThatComesIsAmongTheCandidates) {
  PreFilterFixture f;
  Slots seen;
  f.add_pre_filter("A", [&](berth_cycle_v1&, berth_prepare_out_v1& out) {
    seen.push_back(static_cast<cache::Slot>(bitmap::count(out.candidates, out.word_count)));
    return BERTH_OK;
  });
  f.left();
  f.add_node("another");
  f.refresh();
  EXPECT_EQ(f.left().size(), 131u);
  f.remove_node("n0");
  f.refresh();
  EXPECT_EQ(f.left().size(), 130u);
  EXPECT_EQ(seen, (Slots{130, 131, 130}));
}

TEST(PreFilter, OnePluginThatNamesNoNodeLeavesNoneAndTwoThatExcludeEachOtherRejectThePod) {
  PreFilterFixture f;
  f.add_pre_filter("A", [](berth_cycle_v1&, berth_prepare_out_v1& out) {
    PreFilterFixture::keep(out, {1});
    return BERTH_OK;
  });
  bool excludes = false;
  f.add_pre_filter("B", [&](berth_cycle_v1&, berth_prepare_out_v1& out) {
    if (excludes) PreFilterFixture::keep(out, {2});
    return BERTH_OK;
  });
  EXPECT_EQ(f.left(), (Slots{1}));
  excludes = true;
  EXPECT_EQ(f.left(), Slots{});
  EXPECT_EQ(f.result.verdict.message(), "node(s) didn't satisfy plugin(s) [A B] simultaneously");
}

TEST(CandidateNodes, NodesThatAreLeftOutOneByOneLeaveTheOthers) {
  PreFilterFixture f;
  CandidateNodes candidates;
  for (int round = 0; round < 2; ++round) {
    candidates.begin(f.snapshot);
    EXPECT_EQ(candidates.count(), 130u);
    candidates.leave_out(7);
    candidates.leave_out(7);
    EXPECT_EQ(candidates.count(), 129u);
    EXPECT_FALSE(candidates.contains(7));
    EXPECT_TRUE(candidates.contains(8));
    EXPECT_TRUE(bitmap::test(f.snapshot.nodes(), 7));
    const std::uint64_t kept[] = {0b11'1000'0000, 0, 0};
    EXPECT_EQ(candidates.keep(kept), 2u);
    candidates.leave_out(9);
    EXPECT_EQ(Slots(candidates.few().begin(), candidates.few().end()), (Slots{8}));
    EXPECT_EQ(candidates.bits()[0], 1u << 8);
  }
}

}  // namespace
}  // namespace berth::framework
