// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "cache/node_row.hpp"

namespace berth::cycle {

/// The feasible nodes of a class of pods in list order, and which of them wins, kept while nodes come, go and change.
///
/// Shapes:  a position is a node's place in list order from the rotation start, [0, positions()); an index is its place
///          among the feasible ones. Ties go to the smallest preorder_rank() of the index (node_choice.hpp), which moves
///          when a node before it comes or goes; so no rank is stored.
///          Totals are the leaves of a tree of maxima, 64 children to a node; feasible positions are counted in a
///          binary indexed tree over words of 64. In pre-order, the first of equals is one of the firsts of each level
///          of the implicit heap: indexes [2^l - 1, 2^(l+1) - 1) are a run of positions, whose beginning is kept for
///          each level.
/// Cost:    put(), insert(), remove() and best() O(log n), besides moving at most half of the list of slots.
/// Units:   totals are weighted sums of scores, 0 .. 2^31 - 1.
/// Threads: as a container.
/// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (selectHost: the root of a heap that is built over the list).
class Ranking {
 public:
  /// Makes the list from a bitmap by slot, all totals 0. order: each node once; start < order.size(), or 0.
  void rebuild(std::span<const cache::Slot> order, std::size_t start, const std::uint64_t* feasible_by_slot);
  std::size_t positions() const noexcept { return positions_; }

  bool contains(std::size_t position) const noexcept { return leaves()[position] >= 0; }
  /// Slots of the feasible nodes, in list order; good until the next change.
  std::span<const cache::Slot> slots() const noexcept { return {slots_.data() + begin_, size_}; }
  std::size_t size() const noexcept { return size_; }

  /// Requires: !contains(position). The total is 0 until put() says otherwise.
  void insert(std::size_t position, cache::Slot slot);
  /// Requires: contains(position).
  void remove(std::size_t position);
  /// Requires: contains(position), total >= 0.
  void put(std::size_t position, std::int32_t total);
  /// Many at once: write_total() each as put(), then raise_all(), and nothing else between.
  void write_total(std::size_t position, std::int32_t total) noexcept { tree_.front()[position] = total; }
  void raise_all();
  /// A put() for the position is about to come.
  void prefetch(std::size_t position) const noexcept { __builtin_prefetch(&tree_.front()[position], 1); }

  /// Index in slots() of the node that wins. Requires: size() != 0.
  std::size_t best() noexcept;
  /// The total of that node. Requires: size() != 0.
  std::int32_t highest() const noexcept { return tree_.back().front(); }

  std::size_t bytes() const noexcept;

 private:
  using Leaves = AlignedVector<std::int32_t>;
  static constexpr std::int32_t k_none = -1;
  static constexpr std::size_t k_fan = 64;
  static constexpr std::size_t k_levels_max = 33;
  /// The first node of a level that has the highest total.
  struct Front {
    std::size_t position = 0, index = 0;  // position: positions() when the level has none
  };

  const std::int32_t* leaves() const noexcept { return tree_.front().data(); }
  void replace_leaf(std::size_t position, std::int32_t total);
  /// The first position at or after `from` with at least that total, or positions().
  std::size_t next(std::size_t from, std::int32_t total) const noexcept;
  /// The last feasible position before `before`. Requires: there is one.
  std::size_t previous(std::size_t before) const noexcept;
  std::size_t index_of(std::size_t position) const noexcept;
  void count(std::size_t position, std::uint32_t by) noexcept;
  std::size_t level_of(std::size_t position) const noexcept;
  void find_front(std::size_t level, std::size_t from) noexcept;

  std::size_t positions_ = 0;
  std::vector<Leaves> tree_;            // [0] by position; [k + 1][i] the largest of [k][64 i, 64 i + 64)
  std::vector<std::uint64_t> members_;  // bitmap by position
  std::vector<std::uint32_t> counts_;   // binary indexed tree over members_, from 1
  std::vector<cache::Slot> slots_;      // [begin_, begin_ + size_)
  std::size_t begin_ = 0, size_ = 0;
  // By level: position of index 2^level - 1, or positions(). Levels that are empty for this many positions are left out.
  std::vector<std::size_t> starts_;
  bool fronts_known_ = false;
  std::int32_t front_total_ = k_none;  // which fronts_ are about
  std::array<Front, k_levels_max> fronts_;
};

}  // namespace berth::cycle
