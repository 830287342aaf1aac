// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"

namespace berth::cycle {

/// Nodes in groups, and which node wins when some of the groups take part, each with a bonus of its own.
///
/// Shapes:  a position is a node's place in list order from the rotation start, [0, positions()). A node is in one group
///          or in none. For each group: totals as a tree of maxima over positions, 64 children to a node, without
///          leaves, which all groups share; members counted in a binary indexed tree over words of 64 positions.
/// Cost:    put() and remove() O(log n); best() O(groups * log n) for each level of the implicit heap that decides a
///          tie, of which there are log n at most; less while the groups that take part have the same members.
/// Units:   totals 0 .. 2^30 - 1; bonuses likewise.
/// Threads: as a container.
/// Source:  as Ranking (ranking.hpp): among equals the one that a heap over the list of feasible nodes has at its root.
class GroupRanking {
 public:
  using Group = std::uint16_t;
  static constexpr Group k_no_group = UINT16_MAX;
  static constexpr std::size_t k_groups_max = 256;

  /// No node is in a group any more, and there are no groups.
  void reset(std::size_t positions);
  std::size_t positions() const noexcept { return positions_; }
  /// Makes room for a group of that number. Requires: group < k_groups_max.
  void open(Group group);

  Group group_of(std::size_t position) const noexcept { return group_of_[position]; }
  /// Requires: group is open, total >= 0.
  void put(std::size_t position, Group group, std::int32_t total);
  /// Not in any group any more, if it was in one.
  void remove(std::size_t position);
  /// Nodes of a group.
  std::uint32_t size(Group group) const noexcept { return groups_[group].size; }

  struct Part {
    Group group = 0;
    std::int32_t bonus = 0;
  };
  struct Best {
    std::size_t position = 0;
    std::int64_t total = 0;  // with the bonus of its group
  };
  /// What wins among the nodes of these groups. Requires: there are some, each once, and none is empty.
  Best best(std::span<const Part> parts);
  /// The first position of these groups. Requires: as for best().
  std::size_t first(std::span<const Part> parts);

  std::size_t bytes() const noexcept;

 private:
  static constexpr std::int32_t k_none = -1;
  static constexpr std::int32_t k_never = INT32_MAX;  // no total
  struct Members {
    std::vector<std::int32_t> blocks, upper;  // the highest total of 64 positions, and of 64 blocks
    std::vector<std::uint32_t> counts;        // binary indexed tree over blocks, from 1
    std::int32_t highest = k_none;
    std::uint32_t size = 0;
  };

  std::int32_t highest_of(const Members& members) const noexcept;
  void raise(Members& members, std::size_t block, std::int32_t total) noexcept;
  void lower(Members& members, Group group, std::size_t block) noexcept;
  void count(Members& members, std::size_t block, std::uint32_t by) noexcept;
  std::size_t first_tied(std::span<const Part> tied, std::size_t from) const noexcept;
  std::size_t index_of(std::span<const Part> parts, std::size_t position) const noexcept;
  /// The position of that index. Requires: there is one.
  std::size_t at(std::span<const Part> parts, std::size_t index) const noexcept;
  /// The position of index 2^level - 1, where the level begins. Kept while the same groups have the same members.
  std::size_t level_start(std::span<const Part> parts, std::size_t level);
  void mark(std::span<const Part> parts) noexcept;
  void unmark(std::span<const Part> parts) noexcept;

  std::size_t positions_ = 0;
  std::vector<Group> group_of_;       // padded to 64
  std::vector<std::int32_t> totals_;  // likewise; k_none outside groups
  std::vector<Members> groups_;
  // By group, of the search at hand: whether it takes part; its total that wins, or k_never.
  std::vector<std::uint8_t> takes_part_;
  std::vector<std::int32_t> target_;
  std::vector<Part> tied_;
  // Where levels begin among the nodes of these groups; of the members that there were then.
  std::uint64_t members_version_ = 0, starts_version_ = 0;
  std::vector<Group> starts_of_;
  std::vector<std::size_t> starts_;
};

}  // namespace berth::cycle
