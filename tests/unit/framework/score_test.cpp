// SPDX-License-Identifier: Apache-2.0
#include "framework/points/score.hpp"

#include <stdexcept>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

using Scores = std::vector<std::int64_t>;

/// "" of success.
std::string message_of(const Status& status) { return status.ok() ? std::string() : status.error().message; }

struct ScoreFixture : FrameworkFixture {
  ScoreFixture() {
    plugin.score = [](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
      for (std::uint32_t i = 0; i < block.rows; ++i) raw[i] = 10 * i;
      return BERTH_OK;
    };
    for (const char* name : {"n0", "n1", "n2"}) add_node(name);
    refresh();
  }
  std::string normalize_with(std::uint32_t kind, Scores& scores) {
    plugin.normalize_kind = kind;
    const PluginInstance& instance = add(plugin);
    const std::vector<cache::Slot> nodes(scores.size());
    return message_of(normalize(begin(make_pod("p")), instance, nodes, scores));
  }
  FakePlugin& plugin = make_plugin("example.com/S");
};

struct Vector {
  std::uint32_t kind;
  Scores raw, want;
};

class Normalization : public ::testing::TestWithParam<Vector> {};

TEST_P(Normalization, AgreesWithTheExamples) {
  ScoreFixture f;
  Scores scores = GetParam().raw;
  EXPECT_EQ(f.normalize_with(GetParam().kind, scores), "");
  EXPECT_EQ(scores, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, Normalization,
    ::testing::Values(Vector{BERTH_NORM_NONE, {0, 55, 100}, {0, 55, 100}},
                      Vector{BERTH_NORM_MAX, {1, 2, 4}, {25, 50, 100}},
                      Vector{BERTH_NORM_MAX_REVERSED, {1, 2, 4}, {75, 50, 0}}, Vector{BERTH_NORM_MAX, {0, 0}, {0, 0}},
                      Vector{BERTH_NORM_MAX_REVERSED, {0, 0}, {100, 100}},
                      Vector{BERTH_NORM_MINMAX, {0, 29, 100}, {0, 28, 100}},  // 0.29 * 100 is a little less than 29
                      Vector{BERTH_NORM_MINMAX, {-10, -10}, {0, 0}},
                      Vector{BERTH_NORM_MINMAX, {-10, 0, 10}, {0, 50, 100}}, Vector{BERTH_NORM_MAX, {}, {}}));

TEST(Normalization, OfThePluginItselfIsChecked) {
  ScoreFixture f;
  f.plugin.normalize = [](std::int64_t* scores, std::uint32_t count, berth_note_v1*) -> berth_code {
    for (std::uint32_t i = 0; i < count; ++i) scores[i] *= 2;
    return BERTH_OK;
  };
  Scores scores{10, 50};
  EXPECT_EQ(f.normalize_with(BERTH_NORM_CUSTOM, scores), "");
  EXPECT_EQ(scores, (Scores{20, 100}));
  scores = {10, 51};
  EXPECT_EQ(f.normalize_with(BERTH_NORM_CUSTOM, scores),
            "applying score defaultWeights on Score plugins: plugin \"example.com/S\" returns an invalid score 102, it "
            "should "
            "in the range of [0, 100] after normalizing");
}

TEST(Normalization, FailuresNameThePlugin) {
  ScoreFixture f;
  f.plugin.normalize = [](std::int64_t*, std::uint32_t, berth_note_v1*) -> berth_code { return BERTH_SKIP; };
  Scores scores{1};
  EXPECT_EQ(f.normalize_with(BERTH_NORM_CUSTOM, scores),
            "running Normalize on Score plugins: plugin \"example.com/S\" failed with: plugin example.com/S returned "
            "Skip (5) "
            "from normalize_score, which is not valid there");
}

TEST(ScoreRange, HasBothEnds) {
  ScoreFixture f;
  const PluginInstance& instance = f.add(f.plugin);
  EXPECT_EQ(message_of(check_range(instance, 0)), "");
  EXPECT_EQ(message_of(check_range(instance, 100)), "");
  EXPECT_EQ(message_of(check_range(instance, -1)),
            "applying score defaultWeights on Score plugins: plugin \"example.com/S\" returns an invalid score -1, it "
            "should in "
            "the range of [0, 100] after normalizing");
  EXPECT_NE(message_of(check_range(instance, 101)), "");
}

TEST(Scoring, WritesRawScoresOrSaysWhyNot) {
  ScoreFixture f;
  const PluginInstance& instance = f.add(f.plugin);
  NodeBlocks blocks(f.snapshot);
  const std::uint64_t candidates = 0b111;
  std::array<std::int64_t, 64> raw{};
  CycleContext& context = f.begin(f.make_pod("p"));
  EXPECT_EQ(message_of(run_score(context, blocks, blocks.contiguous(0, 3), instance, &candidates, raw.data())), "");
  EXPECT_EQ(raw[2], 20);
  f.plugin.score = [](const berth_node_block_v1&, std::int64_t*, berth_note_v1*) -> berth_code {
    throw std::runtime_error("no luck");
  };
  EXPECT_EQ(message_of(run_score(context, blocks, blocks.contiguous(0, 3), instance, &candidates, raw.data())),
            "running Score plugins: plugin \"example.com/S\" failed with: no luck");
}

TEST(Scoring, TellsOfWritesPastTheEndWherePluginsAreChecked) {
  ScoreFixture f;
  f.host.traps_unasked_fields = true;
  std::uint32_t beyond = 0;
  f.plugin.score = [&](const berth_node_block_v1& block, std::int64_t* raw, berth_note_v1*) -> berth_code {
    for (std::uint32_t i = 0; i < block.rows; ++i) raw[i] = 10 * i;
    raw[63] = 5;  // padding may be computed
    if (beyond != 0) raw[beyond] = 5;
    return BERTH_OK;
  };
  const PluginInstance& instance = f.add(f.plugin);
  CycleContext& context = f.begin(f.make_pod("p"));
  NodeBlocks blocks(f.snapshot);
  const std::uint64_t candidates = 0b111;
  std::vector<std::int64_t> raw(3);
  EXPECT_EQ(message_of(run_score(context, blocks, blocks.contiguous(0, 3), instance, &candidates, raw.data())), "");
  EXPECT_EQ(raw, (Scores{0, 10, 20}));
  beyond = 64;
  EXPECT_EQ(
      message_of(run_score(context, blocks, blocks.contiguous(0, 3), instance, &candidates, raw.data())),
      "running Score plugins: plugin \"example.com/S\" failed with: it wrote past the end of its scores, which have 3 "
      "rows");
}

}  // namespace
}  // namespace berth::framework::testing
