// SPDX-License-Identifier: Apache-2.0
#include "strategies.hpp"

#include <gtest/gtest.h>

#include <random>

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

/// The vector path must give the integers, whatever the amounts.
template <Strategy k_strategy>
void compare_paths(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const ShapePoint line[] = {{10, 2}, {45, 9}, {90, 0}};
  const ShapeTable shape = tabulate(line);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t limit = std::uint64_t{1} << (1 + random() % 45);
    std::vector<std::vector<std::int64_t>> columns(6, std::vector<std::int64_t>(64));
    for (auto& column : columns)
      for (auto& value : column) value = random() % 8 == 0 ? 0 : static_cast<std::int64_t>(random() % limit);
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < 3; ++i)
      entries.push_back({columns[2 * i].data(), columns[2 * i + 1].data(), static_cast<std::int64_t>(random() % limit),
                         static_cast<std::int64_t>(1 + random() % 100)});
    ASSERT_TRUE(berth::node_resources::fits_exactly(entries, 0));
    std::int64_t fast[64];
    berth::node_resources_fit::detail::score_rows<k_strategy>(entries, 0, shape, fast);
    for (std::size_t row = 0; row < 64; ++row)
      ASSERT_EQ(fast[row], berth::node_resources_fit::detail::score_row<k_strategy>(entries, row, shape)) << row;
  }
}
TEST(Strategies, VectorPathEqualsIntegers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    compare_paths<Strategy::least_allocated>(seed);
    compare_paths<Strategy::most_allocated>(seed);
    compare_paths<Strategy::requested_to_capacity_ratio>(seed);
  }
}

TEST(Strategies, QuotientsJustBelowAnIntegerTruncate) {
  // (capacity - requested) * 100 / capacity is 1/capacity below 57.
  const std::int64_t capacity = (std::int64_t{1} << 46) - 3;
  std::vector<std::int64_t> offers(64, capacity), used(64, 0);
  for (std::int64_t i = 0; i < 64; ++i) used[static_cast<std::size_t>(i)] = capacity - capacity / 100 * 57 - i;
  const Entry entry{offers.data(), used.data(), 0, 1};
  std::int64_t fast[64];
  berth::node_resources_fit::detail::score_rows<Strategy::least_allocated>({&entry, 1}, 0, {}, fast);
  for (std::size_t row = 0; row < 64; ++row)
    EXPECT_EQ(fast[row], berth::node_resources_fit::detail::score_row<Strategy::least_allocated>({&entry, 1}, row, {}));
}

}  // namespace
