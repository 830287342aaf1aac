// SPDX-License-Identifier: Apache-2.0
#include "cycle/node_choice.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <vector>

namespace berth::cycle {
namespace {

struct Wanted {
  std::int64_t nodes;
  std::optional<std::int32_t> percentage;
  std::int64_t want;
};

class NodesToFind : public ::testing::TestWithParam<Wanted> {};

TEST_P(NodesToFind, FollowsTheTable) {
  EXPECT_EQ(nodes_to_find(GetParam().nodes, GetParam().percentage), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Adaptive, NodesToFind,
                         ::testing::Values(Wanted{0, 0, 0}, Wanted{99, 0, 99}, Wanted{100, 0, 100}, Wanted{250, 0, 120},
                                           Wanted{500, 0, 230}, Wanted{1000, 0, 420}, Wanted{3125, 0, 781},
                                           Wanted{5000, 0, 500}, Wanted{5625, 0, 281}, Wanted{6000, 0, 300}));
INSTANTIATE_TEST_SUITE_P(Given, NodesToFind,
                         ::testing::Values(Wanted{99, 1, 99}, Wanted{1000, 1, 100}, Wanted{1000, 30, 300},
                                           Wanted{1001, 30, 300}, Wanted{5000, 100, 5000}, Wanted{200, 40, 100}));
INSTANTIATE_TEST_SUITE_P(Absent, NodesToFind,
                         ::testing::Values(Wanted{50, std::nullopt, 50}, Wanted{100, std::nullopt, 100},
                                           Wanted{5000, std::nullopt, 5000}));

/// Builds the binary heap that upstream builds over the list (sift down from the last parent to the root, moving only
/// past strictly greater children, the left one when children are equal) and names what ends at the root.
std::size_t heap_root(const std::vector<std::int64_t>& totals) {
  std::vector<std::size_t> heap(totals.size());
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
  const auto better = [&](std::size_t a, std::size_t b) { return totals[heap[a]] > totals[heap[b]]; };
  for (std::size_t start = heap.size() / 2; start-- > 0;) {
    for (std::size_t i = start;;) {
      std::size_t child = 2 * i + 1;
      if (child >= heap.size()) break;
      if (child + 1 < heap.size() && better(child + 1, child)) ++child;
      if (!better(child, i)) break;
      std::swap(heap[i], heap[child]);
      i = child;
    }
  }
  return heap.front();
}

/// The totals in slots that run backwards.
std::size_t best_of_slots(const std::vector<std::int64_t>& totals) {
  const std::vector<std::int64_t> sums(totals.rbegin(), totals.rend());
  std::vector<std::uint32_t> slots(totals.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::uint32_t>(slots.size() - 1 - i);
  return NodeChoice().best(slots, sums.data());
}

struct Tie {
  std::vector<std::int64_t> totals;
  std::size_t winner;
};

class TieBreak : public ::testing::TestWithParam<Tie> {};

TEST_P(TieBreak, IsTheRootOfTheHeap) {
  const auto& [totals, winner] = GetParam();
  EXPECT_EQ(NodeChoice().best(totals), winner);
  EXPECT_EQ(best_of_slots(totals), winner);
  EXPECT_EQ(heap_root(totals), winner);
}

INSTANTIATE_TEST_SUITE_P(Vectors, TieBreak,
                         ::testing::Values(Tie{{5, 7, 7, 7}, 1}, Tie{{1, 2, 9, 9}, 3}, Tie{{3, 9, 9}, 1},
                                           Tie{{9, 9, 9}, 0}, Tie{{1, 1, 9, 1, 9}, 4}, Tie{{0}, 0}, Tie{{0, 0}, 0}));

TEST(TieBreak, AgreesWithAnExplicitHeapOnRandomTotals) {
  const std::uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const auto size = std::uniform_int_distribution<std::size_t>(1, 70)(random);
    const auto distinct = std::uniform_int_distribution<std::int64_t>(0, 6)(random);
    std::vector<std::int64_t> totals(size);
    for (std::int64_t& total : totals) total = std::uniform_int_distribution<std::int64_t>(0, distinct)(random);
    const std::size_t want = heap_root(totals);
    ASSERT_EQ(NodeChoice().best(totals), want) << "seed " << seed << ", round " << round;
    ASSERT_EQ(best_of_slots(totals), want) << "seed " << seed << ", round " << round;
  }
}

TEST(TieBreak, HoldsForLargeAndForNegativeTotals) {
  constexpr std::int64_t k_large = std::int64_t{1} << 40;
  EXPECT_EQ(NodeChoice().best(std::vector<std::int64_t>{k_large, k_large + 1, k_large + 1}), 1u);
  EXPECT_EQ(NodeChoice().best(std::vector<std::int64_t>{-3, -2, -2, -2}), 1u);
  EXPECT_EQ(NodeChoice().best(std::vector<std::int64_t>{-1, 0}), 1u);
  EXPECT_EQ(best_of_slots({k_large, k_large + 1, k_large + 1}), 1u);
}

void pre_order(std::uint64_t position, std::uint64_t size, std::vector<std::uint64_t>& out) {
  if (position >= size) return;
  out.push_back(position);
  pre_order(2 * position + 1, size, out);
  pre_order(2 * position + 2, size, out);
}

TEST(PreorderRank, GrowsAlongThePreOrderOfTheHeap) {
  std::vector<std::uint64_t> order;
  pre_order(0, 1000, order);
  ASSERT_EQ(order.size(), 1000u);
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LT(preorder_rank(order[i - 1]), preorder_rank(order[i])) << i;
}

TEST(PreorderRank, TellsItsPosition) {
  for (std::uint64_t position = 0; position < 5000; ++position)
    ASSERT_EQ(position_of(preorder_rank(position)), position);
  const std::uint64_t last = (std::uint64_t{1} << 32) - 2;
  EXPECT_EQ(position_of(preorder_rank(last)), last);
}

TEST(PreorderRank, FitsItsBitsUpToTheLastPosition) {
  for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1} << 20, (std::uint64_t{1} << 32) - 2})
    EXPECT_LE(preorder_rank(position), k_rank_mask) << position;
}

TEST(RandomChoice, PicksTheHighestWhereThereIsOne) {
  const std::uint32_t slots[] = {3, 1, 2};
  const std::int64_t sums[] = {99, 7, 5, 6};
  RandomChoice lots(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(lots.best(slots, sums), 1U);
}

TEST(RandomChoice, GivesEqualNodesTheSameChance) {
  const std::uint32_t slots[] = {0, 1, 2, 3, 4};
  const std::int64_t sums[] = {5, 7, 7, 3, 7};
  constexpr int k_draws = 30'000;
  RandomChoice lots(42);
  int count[5] = {};
  for (int i = 0; i < k_draws; ++i) ++count[lots.best(slots, sums)];
  EXPECT_EQ(count[0] + count[3], 0);
  for (const int i : {1, 2, 4}) EXPECT_NEAR(count[i], k_draws / 3, 400) << i;
}

TEST(RandomChoice, IsTheSameForTheSameSeed) {
  const std::uint32_t slots[] = {0, 1, 2, 3};
  const std::int64_t sums[] = {1, 1, 1, 1};
  RandomChoice a(7), b(7), c(8);
  std::string drawn_a, drawn_b, drawn_c;
  for (int i = 0; i < 50; ++i) {
    drawn_a += static_cast<char>('0' + a.best(slots, sums));
    drawn_b += static_cast<char>('0' + b.best(slots, sums));
    drawn_c += static_cast<char>('0' + c.best(slots, sums));
  }
  EXPECT_EQ(drawn_a, drawn_b);
  EXPECT_NE(drawn_a, drawn_c);
}

}  // namespace
}  // namespace berth::cycle
