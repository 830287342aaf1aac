// SPDX-License-Identifier: Apache-2.0
#include "cycle/node_choice.hpp"

#include <algorithm>

#include "base/vector_clones.hpp"

namespace berth::cycle {
namespace {

struct Winner {
  std::uint64_t key = 0;     // packed total and rank
  std::uint64_t totals = 0;  // the bits that any total has
};

template <typename TotalAt>
__attribute__((always_inline)) inline Winner winner_of(std::size_t count, const std::uint64_t* ranks,
                                                       TotalAt&& total_at) noexcept {
  std::int64_t key = INT64_MIN;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto total = static_cast<std::uint64_t>(total_at(i));
    bits |= total;
    key = std::max(key, static_cast<std::int64_t>(total << k_rank_bits | ranks[i]));
  }
  return {static_cast<std::uint64_t>(key), bits};
}
BERTH_HOST_VECTOR_CLONES Winner winner_of_list(std::span<const std::int64_t> totals,
                                               const std::uint64_t* ranks) noexcept {
  return winner_of(
      totals.size(), ranks, [&](std::size_t i) __attribute__((always_inline)) { return totals[i]; });
}
BERTH_HOST_VECTOR_CLONES Winner winner_of_slots(std::span<const std::uint32_t> slots, const std::int64_t* sums,
                                                const std::uint64_t* ranks) noexcept {
  return winner_of(
      slots.size(), ranks, [&](std::size_t i) __attribute__((always_inline)) { return sums[slots[i]]; });
}

/// A total was negative or too large to share a word with a rank.
bool is_void(const Winner& winner) noexcept { return winner.totals >= static_cast<std::uint64_t>(k_max_packed_total); }
std::size_t position_in(const Winner& winner) noexcept { return position_of(k_rank_mask - (winner.key & k_rank_mask)); }

/// Any totals.
std::size_t best_of_any(std::span<const std::int64_t> totals) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < totals.size(); ++i)
    if (totals[i] > totals[best] || (totals[i] == totals[best] && preorder_rank(i) < preorder_rank(best))) best = i;
  return best;
}

}  // namespace

void NodeChoice::know_ranks(std::size_t count) {
  while (ranks_.size() < count) ranks_.push_back(k_rank_mask - preorder_rank(ranks_.size()));
}

std::size_t NodeChoice::best(std::span<const std::int64_t> totals) {
  know_ranks(totals.size());
  const Winner winner = winner_of_list(totals, ranks_.data());
  return is_void(winner) ? best_of_any(totals) : position_in(winner);
}

std::size_t NodeChoice::best(std::span<const std::uint32_t> slots, const std::int64_t* sums) {
  know_ranks(slots.size());
  const Winner winner = winner_of_slots(slots, sums, ranks_.data());
  if (!is_void(winner)) return position_in(winner);
  std::vector<std::int64_t> totals(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) totals[i] = sums[slots[i]];
  return best_of_any(totals);
}

std::size_t RandomChoice::best(std::span<const std::uint32_t> slots, const std::int64_t* sums) noexcept {
  std::size_t best = 0;
  std::uint64_t equals = 1;
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const std::int64_t total = sums[slots[i]], highest = sums[slots[best]];
    if (total > highest) {
      best = i;
      equals = 1;
    } else if (total == highest && random_() % ++equals == 0) {
      best = i;
    }
  }
  return best;
}

}  // namespace berth::cycle
