// SPDX-License-Identifier: Apache-2.0
#include "cycle/groups/group_ranking.hpp"

#include <algorithm>
#include <bit>

#include "base/vector_clones.hpp"
#include "cycle/node_choice.hpp"
#include "cycle/reuse/allocated_bytes.hpp"

namespace berth::cycle {
namespace {

BERTH_HOST_VECTOR_CLONES std::int32_t largest_of_group(const std::uint16_t* groups, const std::int32_t* totals,
                                                       std::uint16_t group) noexcept {
  std::int32_t largest = -1;
  for (std::size_t i = 0; i < 64; ++i) largest = std::max(largest, groups[i] == group ? totals[i] : -1);
  return largest;
}

BERTH_HOST_VECTOR_CLONES std::int32_t largest_of_64_blocks(const std::int32_t* totals) noexcept {
  std::int32_t largest = totals[0];
  for (std::size_t i = 1; i < 64; ++i) largest = std::max(largest, totals[i]);
  return largest;
}

/// The first of 64 rows from `from` on that has the total; 64: none.
BERTH_HOST_VECTOR_CLONES std::int32_t first_with(const std::int32_t* totals, std::int32_t total,
                                                 std::int32_t from) noexcept {
  std::int32_t first = 64;
  for (std::int32_t i = 0; i < 64; ++i) first = std::min(first, totals[i] == total && i >= from ? i : 64);
  return first;
}

BERTH_HOST_VECTOR_CLONES std::int32_t count_of_group(const std::uint16_t* groups, std::uint16_t group,
                                                     std::int32_t end) noexcept {
  std::int32_t count = 0;
  for (std::int32_t i = 0; i < 64; ++i) count += groups[i] == group && i < end ? 1 : 0;
  return count;
}

/// So many groups are looked for one after another with vectors of rows; more of them by each row's group.
constexpr std::size_t k_few_groups = 6;

std::size_t blocks_for(std::size_t count) noexcept { return std::max<std::size_t>((count + 63) / 64, 1); }

}  // namespace

void GroupRanking::reset(std::size_t positions) {
  positions_ = positions;
  group_of_.assign(blocks_for(positions) * 64, k_no_group);
  totals_.assign(blocks_for(positions) * 64, k_none);
  groups_.clear();
  ++members_version_;
}

void GroupRanking::open(Group group) {
  if (group >= groups_.size()) {
    groups_.resize(std::size_t{group} + 1);
    takes_part_.resize(std::max<std::size_t>(takes_part_.size(), groups_.size()), 0);
    target_.resize(std::max<std::size_t>(target_.size(), groups_.size()), k_never);
  }
  Members& members = groups_[group];
  if (!members.blocks.empty()) return;
  const std::size_t blocks = blocks_for(positions_);
  members.blocks.assign(blocks_for(blocks) * 64, k_none);
  members.upper.assign(blocks_for(blocks), k_none);
  members.counts.assign(blocks + 1, 0);
}

std::int32_t GroupRanking::highest_of(const Members& members) const noexcept {
  return *std::max_element(members.upper.begin(), members.upper.end());
}

void GroupRanking::count(Members& members, std::size_t block, std::uint32_t by) noexcept {
  ++members_version_;
  members.size += by;
  for (std::size_t w = block + 1; w < members.counts.size(); w += w & (~w + 1)) members.counts[w] += by;
}

void GroupRanking::raise(Members& members, std::size_t block, std::int32_t total) noexcept {
  if (members.blocks[block] >= total) return;
  members.blocks[block] = total;
  if (members.upper[block / 64] >= total) return;
  members.upper[block / 64] = total;
  members.highest = std::max(members.highest, total);
}

void GroupRanking::lower(Members& members, Group group, std::size_t block) noexcept {
  const std::int32_t before = members.blocks[block];
  const std::int32_t now = largest_of_group(&group_of_[block * 64], &totals_[block * 64], group);
  if (now == before) return;
  members.blocks[block] = now;
  std::int32_t& upper = members.upper[block / 64];
  if (upper != before) return;
  upper = largest_of_64_blocks(&members.blocks[block / 64 * 64]);
  if (members.highest == before && upper != before) members.highest = highest_of(members);
}

void GroupRanking::put(std::size_t position, Group group, std::int32_t total) {
  const Group group_before = group_of_[position];
  const std::int32_t before = totals_[position];
  if (group_before == group && before == total) return;
  const std::size_t block = position / 64;
  group_of_[position] = group;
  totals_[position] = total;
  if (group_before != k_no_group && (group_before != group || total < before)) {
    Members& left = groups_[group_before];
    if (left.blocks[block] == before) lower(left, group_before, block);
  }
  if (group_before != group) {
    if (group_before != k_no_group) count(groups_[group_before], block, ~std::uint32_t{0});
    count(groups_[group], block, 1);
  }
  raise(groups_[group], block, total);
}

void GroupRanking::remove(std::size_t position) {
  const Group group = group_of_[position];
  if (group == k_no_group) return;
  const std::int32_t before = totals_[position];
  group_of_[position] = k_no_group;
  totals_[position] = k_none;
  Members& members = groups_[group];
  if (members.blocks[position / 64] == before) lower(members, group, position / 64);
  count(members, position / 64, ~std::uint32_t{0});
}

std::size_t GroupRanking::first_tied(std::span<const Part> tied, std::size_t from) const noexcept {
  const auto within = [&](std::size_t start, std::size_t i) {
    const std::size_t end = start + 64;
    if (tied.size() > k_few_groups) {
      for (; i < end; ++i)
        if (totals_[i] >= 0 && totals_[i] == target_[group_of_[i]]) return i;
      return end;
    }
    std::int32_t first = 64;
    for (const Part& part : tied) {
      const std::int32_t target = target_[part.group];
      std::int32_t row = first_with(&totals_[start], target, static_cast<std::int32_t>(i - start));
      // Rows of other groups may have the same total.
      while (row < first && group_of_[start + static_cast<std::size_t>(row)] != part.group)
        row = first_with(&totals_[start], target, row + 1);
      first = std::min(first, row);
    }
    return start + static_cast<std::size_t>(first);
  };
  if (from >= positions_) return positions_;
  const std::size_t block = from / 64, end = (block + 1) * 64;
  if (const std::size_t found = within(block * 64, from); found != end) return found;
  std::size_t nearest = SIZE_MAX;
  for (const Part& part : tied) {
    const Members& members = groups_[part.group];
    const std::int32_t target = target_[part.group];
    const std::size_t limit = std::min(nearest, members.counts.size() - 1);
    std::size_t b = block + 1;
    while (b < limit) {
      if (b % 64 == 0 && members.upper[b / 64] != target) {
        b += 64;
        continue;
      }
      if (members.blocks[b] == target) {
        nearest = b;
        break;
      }
      ++b;
    }
  }
  return nearest == SIZE_MAX ? positions_ : within(nearest * 64, nearest * 64);
}

std::size_t GroupRanking::index_of(std::span<const Part> parts, std::size_t position) const noexcept {
  const std::size_t block = position / 64;
  std::size_t index = 0;
  for (const Part& part : parts) {
    const auto& counts = groups_[part.group].counts;
    for (std::size_t w = block; w != 0; w &= w - 1) index += counts[w];
  }
  if (parts.size() > k_few_groups) {
    for (std::size_t i = block * 64; i < position; ++i)
      index += group_of_[i] == k_no_group ? 0 : takes_part_[group_of_[i]];
    return index;
  }
  for (const Part& part : parts)
    index += static_cast<std::size_t>(
        count_of_group(&group_of_[block * 64], part.group, static_cast<std::int32_t>(position % 64)));
  return index;
}

std::size_t GroupRanking::at(std::span<const Part> parts, std::size_t index) const noexcept {
  const std::size_t blocks = groups_[parts.front().group].counts.size() - 1;
  std::size_t block = 0, left = index;
  for (std::size_t step = std::bit_floor(blocks); step != 0; step /= 2) {
    if (block + step > blocks) continue;
    std::size_t sum = 0;
    for (const Part& part : parts) sum += groups_[part.group].counts[block + step];
    if (sum > left) continue;
    left -= sum;
    block += step;
  }
  std::size_t position = block * 64;
  for (;; ++position)
    if (group_of_[position] != k_no_group && takes_part_[group_of_[position]] != 0 && left-- == 0) return position;
}

void GroupRanking::mark(std::span<const Part> parts) noexcept {
  for (const Part& part : parts) takes_part_[part.group] = 1;
}

void GroupRanking::unmark(std::span<const Part> parts) noexcept {
  for (const Part& part : parts) {
    takes_part_[part.group] = 0;
    target_[part.group] = k_never;
  }
}

std::size_t GroupRanking::first(std::span<const Part> parts) {
  mark(parts);
  const std::size_t position = at(parts, 0);
  unmark(parts);
  return position;
}

std::size_t GroupRanking::level_start(std::span<const Part> parts, std::size_t level) {
  const bool same = starts_version_ == members_version_ &&
                    std::equal(parts.begin(), parts.end(), starts_of_.begin(), starts_of_.end(),
                               [](const Part& part, Group group) { return part.group == group; });
  if (!same) {
    starts_version_ = members_version_;
    starts_of_.clear();
    for (const Part& part : parts) starts_of_.push_back(part.group);
    starts_.clear();
  }
  while (starts_.size() <= level) starts_.push_back(at(parts, (std::size_t{1} << starts_.size()) - 1));
  return starts_[level];
}

GroupRanking::Best GroupRanking::best(std::span<const Part> parts) {
  std::int64_t highest = -1;
  std::size_t size = 0;
  for (const Part& part : parts) {
    const Members& members = groups_[part.group];
    if (members.size == 0) continue;
    size += members.size;
    highest = std::max(highest, std::int64_t{members.highest} + part.bonus);
  }
  mark(parts);
  tied_.clear();
  for (const Part& part : parts) {
    const Members& members = groups_[part.group];
    if (members.size == 0 || std::int64_t{members.highest} + part.bonus != highest) continue;
    target_[part.group] = members.highest;
    tied_.push_back(part);
  }
  std::size_t best = positions_, best_index = 0;
  for (std::size_t from = 0;;) {
    const std::size_t found = first_tied(tied_, from);
    if (found == positions_) break;
    const std::size_t index = index_of(parts, found);
    if (best == positions_ || preorder_rank(index) < preorder_rank(best_index)) {
      best = found;
      best_index = index;
    }
    const auto level = static_cast<std::size_t>(std::bit_width(index + 1)) - 1;
    // Deeper levels hold descendants of the first of a level, and what comes after it.
    if (index == (std::size_t{1} << level) - 1) break;
    const std::size_t next_level = (std::size_t{2} << level) - 1;
    if (next_level >= size) break;
    from = level_start(parts, level + 1);
  }
  unmark(parts);
  return {best, highest};
}

std::size_t GroupRanking::bytes() const noexcept {
  std::size_t bytes = allocated_bytes(group_of_) + allocated_bytes(totals_) + allocated_bytes(groups_) +
                      allocated_bytes(takes_part_) + allocated_bytes(target_) + allocated_bytes(tied_) +
                      allocated_bytes(starts_of_) + allocated_bytes(starts_);
  for (const Members& members : groups_)
    bytes += allocated_bytes(members.blocks) + allocated_bytes(members.upper) + allocated_bytes(members.counts);
  return bytes;
}

}  // namespace berth::cycle
