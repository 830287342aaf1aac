// SPDX-License-Identifier: Apache-2.0
// Plugins whose answers depend on something that they do not declare.
#include "cycle/reuse/reuse_check.hpp"

#include "unit/cycle/cycle_fixture.hpp"

namespace berth::cycle::testing {
namespace {

constexpr std::uint64_t k_class = 7;

/// So many nodes that one which changes is judged by itself.
struct TwelveNodes : CycleFixture {
  TwelveNodes() {
    for (int i = 1; i <= 12; ++i) add_node("n" + std::to_string(i));
  }
  /// A filter that rejects the node which `closed` names, and declares that it looks at the node alone.
  FakePlugin& secretive_filter(const std::string& name) {
    FakePlugin& filter = plugin(name);
    filter.reasons = {"node(s) were closed"};
    filter.filter = filter_by(*this, [this](const std::string& node) { return node != closed; });
    return filter;
  }
  FakePlugin& open_filter(const std::string& name) {
    FakePlugin& filter = plugin(name);
    filter.filter = filter_by(*this, [](const std::string&) { return true; });
    return filter;
  }
  /// Gives the node that `preferred` names 10 points.
  FakePlugin& secretive_scorer(const std::string& name) {
    FakePlugin& scorer = plugin(name);
    scorer.score = [this](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
        raw[row] = snapshot.row(slot).node && node_name(slot) == preferred ? 10 : 0;
      }
      return BERTH_OK;
    };
    return scorer;
  }
  FakePlugin& flat_scorer(const std::string& name) {
    FakePlugin& scorer = plugin(name);
    scorer.score = [](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      std::fill_n(raw, block.rows, 1);
      return BERTH_OK;
    };
    return scorer;
  }
  void begin(CycleOptions options) {
    start(options);
    cycle = std::make_unique<SchedulingCycle>(
        *framework_made, cache, snapshot, nominated, options,
        CycleParts{nullptr, nullptr,
                   [this](const UndeclaredInput& input, const model::Pod&) { found.push_back(input.sentence()); }});
  }
  void verify() {
    CycleOptions options;
    options.reuse = config::VerdictReuse::verify;
    begin(options);
  }
  std::string place(const std::string& name) { return said(*this, attempt(pod(name), k_class)); }

  std::string closed, preferred = "n1";
  Lines found;
};

TEST(ReuseCheck, NamesTheFilterThatRejectsWhatItLetPassAndTakesItsFreshAnswer) {
  TwelveNodes f;
  f.open_filter("Open");
  f.secretive_filter("Secretive");
  f.secretive_scorer("Prefers");
  f.verify();
  EXPECT_EQ(f.place("p1"), "on n1");
  EXPECT_EQ(f.found, Lines{});
  f.closed = "n6";
  EXPECT_EQ(f.place("p2"), "on n1");
  EXPECT_EQ(f.found,
            (Lines{"plugin Secretive: filter of node n6 for pod default/p2: the kept answer was \"fits\", a fresh "
                   "one is \"does not fit\", though nothing has changed that the plugin declares in deps"}));
  EXPECT_EQ(f.cycle->reuse_counts().violations, 1u);
}

TEST(ReuseCheck, NamesTheFilterThatLetsPassWhatItRejected) {
  TwelveNodes f;
  f.open_filter("Open");
  f.secretive_filter("Secretive");
  f.secretive_scorer("Prefers");
  f.verify();
  f.closed = f.preferred = "n6";
  EXPECT_NE(f.place("p1"), "on n6");
  f.closed.clear();
  EXPECT_EQ(f.place("p2"), "on n6");
  EXPECT_EQ(f.found,
            (Lines{"plugin Secretive: filter of node n6 for pod default/p2: the kept answer was \"does not fit\", a "
                   "fresh one is \"fits\", though nothing has changed that the plugin declares in deps"}));
}

TEST(ReuseCheck, NamesTheScorerAmongOthersAndTakesItsFreshAnswer) {
  TwelveNodes f;
  f.flat_scorer("Flat");
  f.secretive_scorer("Secretive");
  f.verify();
  EXPECT_EQ(f.place("p1"), "on n1");
  f.preferred = "n7";
  EXPECT_EQ(f.place("p2"), "on n7");
  EXPECT_EQ(f.found,
            (Lines{"plugin Secretive: score of node n7 for pod default/p2: the kept answer was \"score 0\", a fresh "
                   "one is \"score 10\", though nothing has changed that the plugin declares in deps"}));
}

TEST(ReuseCheck, NamesAScorerWhoseScoresAreNormalised) {
  TwelveNodes f;
  f.secretive_scorer("Secretive").normalize_kind = BERTH_NORM_MAX;
  f.verify();
  EXPECT_EQ(f.place("p1"), "on n1");
  f.preferred = "n8";
  EXPECT_EQ(f.place("p2"), "on n8");
  ASSERT_EQ(f.found.size(), 1u);
  EXPECT_EQ(f.found[0].substr(0, 36), "plugin Secretive: score of node n8 f");
}

/// Scores below 0, of which the least becomes 0 and the greatest 100: who normalises by the greatest alone takes them for 0.
TEST(ReuseCheck, KeepsTheOrderOfNegativeScoresThatAreNormalised) {
  for (const std::uint32_t kind : {BERTH_NORM_MINMAX, BERTH_NORM_MINMAX_INTEGER}) {
    TwelveNodes f;
    FakePlugin& scorer = f.plugin("Smallest");
    scorer.normalize_kind = kind;
    scorer.score = [&f](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
        raw[row] = f.snapshot.row(slot).node && f.node_name(slot) == "n7" ? -1 : -1000;
      }
      return BERTH_OK;
    };
    f.verify();
    EXPECT_EQ(f.place("p1"), "on n7");
    EXPECT_EQ(f.place("p2"), "on n7");
    EXPECT_EQ(f.found, Lines{});
  }
}

TEST(ReuseCheck, AnswersOfThatPluginAreNotReusedAnyMore) {
  TwelveNodes f;
  f.secretive_filter("Secretive");
  f.secretive_scorer("Prefers");
  f.verify();
  f.place("p1");
  f.closed = "n8";
  f.place("p2");
  EXPECT_EQ(f.found.size(), 1u);
  const auto reused = f.cycle->reuse_counts().reused;
  f.closed = "n9";
  f.place("p3");
  EXPECT_EQ(f.found.size(), 1u);
  EXPECT_EQ(f.cycle->reuse_counts().reused, reused);
  for (const auto& instance : f.framework_made->profiles().front()->instances)
    EXPECT_EQ(instance->reuse_stopped(), instance->name() == "Secretive") << instance->name();
}

TEST(ReuseCheck, ItsScoresAreAskedForAgainWhileOthersAreReused) {
  TwelveNodes f;
  f.flat_scorer("Flat");
  f.secretive_scorer("Secretive");
  f.verify();
  f.place("p1");
  f.preferred = "n7";
  f.place("p2");
  f.preferred = "n8";
  const auto reused = f.cycle->reuse_counts().reused;
  EXPECT_EQ(f.place("p3"), "on n8");
  EXPECT_EQ(f.cycle->reuse_counts().reused, reused + 1);
  EXPECT_EQ(f.found.size(), 1u);
}

TEST(ReuseCheck, APluginThatAnnouncesItsChangesIsNotBlamed) {
  TwelveNodes f;
  FakePlugin& filter = f.secretive_filter("Announces");
  f.secretive_scorer("Prefers");
  bool announces = false;
  const auto judge = filter.filter;
  filter.filter = [&](const berth_cycle_v1& cycle, const berth_node_block_v1& block, berth_filter_out_v1& out,
                      berth_note_v1* note) {
    if (announces) filter.service<berth_epoch_v1>("berth.epoch/1").bump(filter.host->ctx);
    return judge(cycle, block, out, note);
  };
  f.verify();
  f.place("p1");
  f.closed = "n8";
  announces = true;
  EXPECT_EQ(f.place("p2"), "on n1");
  EXPECT_EQ(f.found, Lines{});
}

/// Decisions about pods of one class until something is found, at most so many.
int decisions_until_found(TwelveNodes& f, int most) {
  for (int i = 1; i <= most; ++i) {
    f.place("q" + std::to_string(i));
    if (!f.found.empty()) return i;
  }
  return most + 1;
}

TEST(ReuseCheck, IsMadeNowAndThenWhereNotEveryDecisionIsChecked) {
  TwelveNodes f;
  f.secretive_filter("Secretive");
  f.secretive_scorer("Prefers");
  CycleOptions options;
  options.checked_one_in = 10;
  f.begin(options);
  f.place("p1");
  f.closed = "n9";
  EXPECT_LE(decisions_until_found(f, 20), 19);
  ASSERT_EQ(f.found.size(), 1u);
  EXPECT_EQ(f.found[0].substr(0, 35), "plugin Secretive: filter of node n9");
}

TEST(ReuseCheck, ChecksEveryDecisionUntilThePluginIsKnown) {
  TwelveNodes f;
  f.flat_scorer("Flat");
  f.secretive_scorer("Secretive");
  CycleOptions options;
  options.checked_one_in = 10;
  f.begin(options);
  f.place("p1");
  f.preferred = "n8";
  EXPECT_LE(decisions_until_found(f, 20), 19);
  ASSERT_EQ(f.found.size(), 1u);
  EXPECT_EQ(f.found[0].substr(0, 42), "a plugin that is not known yet: score of n");
  EXPECT_EQ(f.place("r1"), "on n8");
  f.preferred = "n7";
  EXPECT_EQ(f.place("r2"), "on n7");
  ASSERT_EQ(f.found.size(), 2u);
  EXPECT_EQ(f.found[1].substr(0, 33), "plugin Secretive: score of node n");
}

TEST(ReuseCheck, OneDecisionInSoManyIsChosenWithoutAPattern) {
  DecisionSample sample(1000), none(0), all(1);
  int chosen = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    chosen += sample.next() ? 1 : 0;
    ASSERT_FALSE(none.next());
    ASSERT_TRUE(all.next());
  }
  EXPECT_GT(chosen, 900);
  EXPECT_LT(chosen, 1100);
}

// A sample that only sees scores differ, while nodes elsewhere have opened, must not choose among the nodes of before.
TEST(ReuseCheck, NodesThatBecameFeasibleOutsideTheSampleAreScored) {
  constexpr int k_nodes = 1500;
  for (int decisions_before = 0; decisions_before < 8; ++decisions_before) {
    CycleFixture f;
    for (int i = 0; i < k_nodes; ++i) f.add_node("n" + std::to_string(i));
    bool is_later = false;
    const auto number = [](const std::string& name) { return std::stoi(name.substr(1)); };
    FakePlugin& filter = f.plugin("Secretive");
    filter.reasons = {"node(s) were closed"};
    filter.filter = filter_by(f, [&](const std::string& node) { return is_later || number(node) < k_nodes - 100; });
    FakePlugin& scorer = f.plugin("Prefers");
    scorer.normalize_kind = BERTH_NORM_CUSTOM;
    scorer.normalize = [](std::int64_t*, std::uint32_t, berth_note_v1*) -> berth_code { return BERTH_OK; };
    scorer.score = [&](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        const berth_slot slot = block.slots != nullptr ? block.slots[row] : block.first_slot + row;
        raw[row] = f.snapshot.row(slot).node && number(f.node_name(slot)) == k_nodes - 1 ? 10 : 0;
      }
      return BERTH_OK;
    };
    FakePlugin& flat = f.plugin("Flat");
    flat.score = [&](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      std::fill_n(raw, block.rows, is_later ? 2 : 1);
      return BERTH_OK;
    };
    CycleOptions options;
    options.checked_one_in = 2;
    f.start(options);
    Lines found;
    f.cycle = std::make_unique<SchedulingCycle>(
        *f.framework_made, f.cache, f.snapshot, f.nominated, options,
        CycleParts{nullptr, nullptr,
                   [&](const UndeclaredInput& input, const model::Pod&) { found.push_back(input.point); }});
    for (int i = 0; i <= decisions_before; ++i) said(f, f.attempt(f.pod("p" + std::to_string(i)), k_class));
    is_later = true;
    for (int i = 0; i < 10 && found.empty(); ++i) {
      const std::string where = said(f, f.attempt(f.pod("q" + std::to_string(i)), k_class));
      if (!found.empty()) {
        EXPECT_EQ(where, "on n" + std::to_string(k_nodes - 1)) << decisions_before;
      }
    }
    EXPECT_FALSE(found.empty()) << decisions_before;
  }
}

}  // namespace
}  // namespace berth::cycle::testing
