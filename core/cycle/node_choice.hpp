// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "cache/node_row.hpp"

/// How many nodes to look for, and which of equals wins.
namespace berth::cycle {

inline constexpr std::int64_t k_min_feasible_nodes = 100;
inline constexpr std::int64_t k_min_feasible_percentage = 5;

/// Number of feasible nodes after which the search may stop. `percentage`: absent means every node; 0 is adaptive.
/// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (numFeasibleNodesToFind). Departs: absent is not adaptive.
inline std::int64_t nodes_to_find(std::int64_t nodes, std::optional<std::int32_t> percentage) noexcept {
  if (!percentage || nodes < k_min_feasible_nodes) return nodes;
  std::int64_t p = *percentage;
  if (p == 0) {
    p = 50 - nodes / 125;
    if (p < k_min_feasible_percentage) p = k_min_feasible_percentage;
  }
  const std::int64_t wanted = nodes * p / 100;
  return wanted < k_min_feasible_nodes ? k_min_feasible_nodes : wanted;
}

/// Bits of a preorder rank.
inline constexpr int k_rank_bits = 37;
inline constexpr std::uint64_t k_rank_mask = (std::uint64_t{1} << k_rank_bits) - 1;
/// Totals must stay below this for a total and a rank to share a word.
inline constexpr std::int64_t k_max_packed_total = std::int64_t{1} << (63 - k_rank_bits);

/// Rank of a position of the feasible list among equals: smaller wins.
/// Upstream takes the root of an array heap that is built over the list; among equal totals that is the first in
/// pre-order of the implicit binary tree (children of i are 2i+1 and 2i+2). A node's path from the root is the binary
/// notation of i+1 without its leading 1, so pre-order is the lexicographic order of these notations: left-aligned,
/// shorter first. It does not depend on the list's length.
/// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (prioritized nodes as container/heap).
/// Requires: position < 2^32 - 1.
inline std::uint64_t preorder_rank(std::uint64_t position) noexcept {
  const std::uint64_t path = position + 1;
  const int length = std::bit_width(path);
  return (path << (32 - length)) << 5 | static_cast<std::uint64_t>(length - 1);
}

/// The position with that rank.
inline std::size_t position_of(std::uint64_t rank) noexcept {
  const int length = static_cast<int>(rank & 31) + 1;
  return static_cast<std::size_t>(((rank >> 5) >> (32 - length)) - 1);
}

/// A node that wins, and its weighted sum of scores.
struct BestNode {
  cache::Slot slot = cache::k_no_slot;
  std::int64_t total = 0;
};

/// Which of some totals in feasible order wins.
/// Threads: one at a time; keeps the ranks of the positions it has seen.
class NodeChoice {
 public:
  /// Index of the best. Requires: totals not empty.
  std::size_t best(std::span<const std::int64_t> totals);
  /// The same where the total of position i is sums[slots[i]].
  std::size_t best(std::span<const std::uint32_t> slots, const std::int64_t* sums);

 private:
  void know_ranks(std::size_t count);

  std::vector<std::uint64_t> ranks_;  // by position: k_rank_mask - preorder_rank(position)
};

/// The way of kube-scheduler v1.16: every node with the highest total has the same chance.
/// Source: kubernetes v1.16 pkg/scheduler/core/generic_scheduler.go (selectHost).
class RandomChoice {
 public:
  explicit RandomChoice(std::uint64_t seed) : random_(seed) {}
  /// As NodeChoice::best().
  std::size_t best(std::span<const std::uint32_t> slots, const std::int64_t* sums) noexcept;

 private:
  std::mt19937_64 random_;
};

}  // namespace berth::cycle
