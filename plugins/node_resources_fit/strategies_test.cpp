// SPDX-License-Identifier: Apache-2.0
#include "strategies.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strategies_test {
namespace {
using namespace berth::node_resources_fit;

TEST(Shape, FallingLinesRoundUp) {
  const ShapePoint line[] = {{0, 100}, {70, 0}};
  EXPECT_EQ(value_on(line, 33), 53);
  EXPECT_EQ(value_on(line, 0), 100);
  EXPECT_EQ(value_on(line, 70), 0);
  EXPECT_EQ(value_on(line, 100), 0);
}

TEST(Shape, IsFlatOutsideItsPoints) {
  const ShapePoint line[] = {{20, 3}, {80, 9}};
  const ShapeTable table = tabulate(line);
  EXPECT_EQ(table[0], 30);
  EXPECT_EQ(table[20], 30);
  EXPECT_EQ(table[50], 60);
  EXPECT_EQ(table[81], 90);
  EXPECT_EQ(table[100], 90);
}

std::vector<std::int64_t> scored(Strategy strategy, std::span<const Entry> entries, const ShapeTable& shape,
                                 std::uint64_t candidates = ~std::uint64_t{0}) {
  std::vector<std::int64_t> scores(64, -1);
  score_block(strategy, entries, {&candidates, 1}, shape, scores.data());
  return scores;
}

/// Columns of amounts below a random limit, zeros among them; `pools`: all nodes of one size, as most of a word is.
struct Amounts {
  std::vector<std::vector<std::int64_t>> columns;
  std::vector<Entry> entries;

  Amounts(std::mt19937_64& random, bool pools) : columns(6, std::vector<std::int64_t>(64)) {
    const std::uint64_t limit = std::uint64_t{1} << (1 + random() % 45);
    for (auto& column : columns)
      for (auto& value : column) value = random() % 8 == 0 ? 0 : static_cast<std::int64_t>(random() % limit);
    for (std::size_t i = 0; i < 3; ++i) {
      auto& capacity = columns[2 * i];
      if (pools) capacity.assign(64, static_cast<std::int64_t>(1 + random() % limit));
      // Shares of a round size are where truncation could go wrong.
      if (pools && random() % 2 == 0)
        for (auto& used : columns[2 * i + 1]) used = capacity[0] / 100 * static_cast<std::int64_t>(random() % 101);
      entries.push_back({capacity.data(), columns[2 * i + 1].data(), static_cast<std::int64_t>(random() % limit),
                         static_cast<std::int64_t>(1 + random() % 100)});
    }
  }
};

/// The vector paths must give the integers, whatever the amounts.
template <Strategy k_strategy>
void compare_paths(std::uint64_t seed, bool pools) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const ShapePoint line[] = {{10, 2}, {45, 9}, {90, 0}};
  const ShapeTable shape = tabulate(line);
  for (int round = 0; round < 400; ++round) {
    const Amounts amounts(random, pools);
    ASSERT_TRUE(berth::node_resources::facts_of(amounts.entries, 0).exact);
    const auto fast = scored(k_strategy, amounts.entries, shape);
    for (std::size_t row = 0; row < 64; ++row)
      ASSERT_EQ(fast[row], berth::node_resources_fit::detail::score_row<k_strategy>(amounts.entries, row, shape))
          << row;
    const std::size_t second = 1 + random() % 63;
    const auto few = scored(k_strategy, amounts.entries, shape, 1 | std::uint64_t{1} << second);
    ASSERT_EQ(few[0], fast[0]);
    ASSERT_EQ(few[second], fast[second]) << second;
  }
}
TEST(Strategies, VectorPathEqualsIntegers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const bool pools : {false, true}) {
      compare_paths<Strategy::least_allocated>(seed, pools);
      compare_paths<Strategy::most_allocated>(seed, pools);
      compare_paths<Strategy::requested_to_capacity_ratio>(seed, pools);
    }
  }
}

TEST(Strategies, QuotientsNextToAnIntegerTruncate) {
  // (capacity - requested) * 100 / capacity is a few times 1/capacity away from 57. The smaller size takes reciprocals.
  for (const std::int64_t capacity : {(std::int64_t{1} << 46) - 3, (std::int64_t{1} << 43) - 3, std::int64_t{4000}}) {
    std::vector<std::int64_t> offers(64, capacity), used(64, 0);
    for (std::int64_t i = 0; i < 64; ++i) used[static_cast<std::size_t>(i)] = capacity - capacity / 100 * 57 + 32 - i;
    const Entry entry{offers.data(), used.data(), 0, 1};
    const auto fast = scored(Strategy::least_allocated, {&entry, 1}, {});
    for (std::size_t row = 0; row < 64; ++row)
      EXPECT_EQ(fast[row],
                berth::node_resources_fit::detail::score_row<Strategy::least_allocated>({&entry, 1}, row, {}))
          << capacity << " row " << row;
  }
}

}  // namespace
}  // namespace strategies_test
