// SPDX-License-Identifier: Apache-2.0
#include "cycle/ranking.hpp"

#include <algorithm>
#include <bit>

#include "base/bitmap.hpp"
#include "base/vector_clones.hpp"
#include "cycle/node_choice.hpp"
#include "cycle/reuse/allocated_bytes.hpp"

namespace berth::cycle {
namespace {

BERTH_HOST_VECTOR_CLONES std::int32_t largest_of_64(const std::int32_t* totals) noexcept {
  std::int32_t largest = totals[0];
  for (std::size_t i = 1; i < 64; ++i) largest = std::max(largest, totals[i]);
  return largest;
}

std::size_t index_at_start_of(std::size_t level) noexcept { return (std::size_t{1} << level) - 1; }

}  // namespace

void Ranking::rebuild(std::span<const cache::Slot> order, std::size_t start, const std::uint64_t* feasible_by_slot) {
  positions_ = order.size();
  tree_.clear();
  for (std::size_t width = positions_;;) {
    const std::size_t padded = std::max((width + k_fan - 1) / k_fan, std::size_t{1}) * k_fan;
    tree_.emplace_back(padded, k_none);
    if (width <= 1 && tree_.size() > 1) break;
    width = padded / k_fan;
  }
  members_.assign(bitmap::words_for(positions_), 0);
  counts_.assign(members_.size() + 1, 0);
  slots_.clear();
  begin_ = 0;
  for (std::size_t p = 0; p < positions_; ++p) {
    const cache::Slot slot = order[start + p < positions_ ? start + p : start + p - positions_];
    if (!bitmap::test(feasible_by_slot, slot)) continue;
    tree_.front()[p] = 0;
    bitmap::set(members_.data(), p);
    slots_.push_back(slot);
  }
  size_ = slots_.size();
  for (std::size_t w = 1; w < counts_.size(); ++w) {
    counts_[w] += static_cast<std::uint32_t>(std::popcount(members_[w - 1]));
    if (const std::size_t above = w + (w & (~w + 1)); above < counts_.size()) counts_[above] += counts_[w];
  }
  starts_.assign(static_cast<std::size_t>(std::bit_width(positions_)), positions_);
  std::size_t index = 0;
  bitmap::for_each(members_.data(), members_.size(), [&](std::size_t p) {
    if (std::has_single_bit(++index)) starts_[static_cast<std::size_t>(std::bit_width(index)) - 1] = p;
  });
  raise_all();
}

void Ranking::raise_all() {
  for (std::size_t k = 0; k + 1 < tree_.size(); ++k)
    for (std::size_t i = 0; i < tree_[k].size() / k_fan; ++i) tree_[k + 1][i] = largest_of_64(&tree_[k][i * k_fan]);
  fronts_known_ = false;
}

void Ranking::replace_leaf(std::size_t position, std::int32_t total) {
  std::size_t i = position;
  std::int32_t now = total;
  for (std::size_t k = 0;; ++k) {
    const std::int32_t before = tree_[k][i];
    tree_[k][i] = now;
    if (k + 1 == tree_.size()) return;
    i /= k_fan;
    const std::int32_t above = tree_[k + 1][i];
    if (now < above && before < above) return;
    if (now < above) now = largest_of_64(&tree_[k][i * k_fan]);
    if (now == above) return;
  }
}

std::size_t Ranking::next(std::size_t from, std::int32_t total) const noexcept {
  std::size_t k = 0, i = from;
  for (;;) {  // up, to the first run of children that has one
    const std::size_t end = std::min((i / k_fan + 1) * k_fan, tree_[k].size());
    while (i < end && tree_[k][i] < total) ++i;
    if (i < end) break;
    if (++k == tree_.size() || i == tree_[k - 1].size()) return positions_;
    i /= k_fan;
  }
  while (k > 0) {  // and down
    --k;
    i *= k_fan;
    while (tree_[k][i] < total) ++i;
  }
  return i;
}

std::size_t Ranking::previous(std::size_t before) const noexcept {
  std::size_t word = before / 64;
  std::uint64_t bits = before % 64 == 0 ? 0 : members_[word] & ((std::uint64_t{1} << (before % 64)) - 1);
  while (bits == 0) bits = members_[--word];
  return word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits));
}

std::size_t Ranking::index_of(std::size_t position) const noexcept {
  const std::size_t word = position / 64;
  std::size_t index =
      static_cast<std::size_t>(std::popcount(members_[word] & ((std::uint64_t{1} << position % 64) - 1)));
  for (std::size_t w = word; w != 0; w &= w - 1) index += counts_[w];
  return index;
}

void Ranking::count(std::size_t position, std::uint32_t by) noexcept {
  for (std::size_t w = position / 64 + 1; w < counts_.size(); w += w & (~w + 1)) counts_[w] += by;
}

void Ranking::insert(std::size_t position, cache::Slot slot) {
  const std::size_t index = index_of(position);
  bitmap::set(members_.data(), position);
  count(position, 1);
  replace_leaf(position, 0);
  fronts_known_ = false;
  // The shorter side of the list makes room.
  const auto at = [this](std::size_t i) { return slots_.begin() + static_cast<std::ptrdiff_t>(begin_ + i); };
  if (begin_ != 0 && (index < size_ / 2 || begin_ + size_ == slots_.size())) {
    std::copy(at(0), at(index), at(0) - 1);
    --begin_;
  } else {
    if (begin_ + size_ == slots_.size()) slots_.push_back(slot);
    std::copy_backward(at(index), at(size_), at(size_) + 1);
  }
  *at(index) = slot;
  ++size_;
  // What was one place before the start of a level is the start now.
  for (std::size_t level = 0; level < starts_.size() && index_at_start_of(level) < size_; ++level)
    if (starts_[level] > position) starts_[level] = previous(starts_[level]);
}

void Ranking::remove(std::size_t position) {
  const std::size_t index = index_of(position);
  bitmap::clear(members_.data(), position);
  count(position, ~std::uint32_t{0});
  replace_leaf(position, k_none);
  fronts_known_ = false;
  const auto at = [this](std::size_t i) { return slots_.begin() + static_cast<std::ptrdiff_t>(begin_ + i); };
  if (index < size_ / 2) {
    std::copy_backward(at(0), at(index), at(index) + 1);
    ++begin_;
  } else {
    std::copy(at(index + 1), at(size_), at(index));
  }
  --size_;
  for (std::size_t level = 0; level < starts_.size(); ++level)
    if (starts_[level] >= position && starts_[level] != positions_)
      starts_[level] = starts_[level] + 1 == positions_ ? positions_ : next(starts_[level] + 1, 0);
}

void Ranking::put(std::size_t position, std::int32_t total) {
  const std::int32_t before = leaves()[position];
  if (before == total) return;
  replace_leaf(position, total);
  if (!fronts_known_) return;
  if (highest() != front_total_) {
    fronts_known_ = false;
  } else if (before == front_total_) {
    const std::size_t level = level_of(position);
    if (fronts_[level].position == position) find_front(level, position);
  } else if (total == front_total_) {
    Front& front = fronts_[level_of(position)];
    if (position < front.position) front = {position, index_of(position)};
  }
}

std::size_t Ranking::level_of(std::size_t position) const noexcept {
  std::size_t level = starts_.size() - 1;
  while (starts_[level] > position) --level;
  return level;
}

void Ranking::find_front(std::size_t level, std::size_t from) noexcept {
  const std::size_t end = level + 1 < starts_.size() ? starts_[level + 1] : positions_;
  const std::size_t found = from < end ? next(from, front_total_) : positions_;
  fronts_[level] = found < end ? Front{found, index_of(found)} : Front{positions_, 0};
}

std::size_t Ranking::best() noexcept {
  const auto better = [](std::size_t a, std::size_t b) { return preorder_rank(a) < preorder_rank(b); };
  std::size_t best = SIZE_MAX;
  if (!fronts_known_) {
    front_total_ = highest();
    for (Front& front : fronts_) front.position = positions_;
    for (std::size_t from = 0; from < positions_;) {
      const std::size_t found = next(from, front_total_);
      if (found == positions_) break;
      const std::size_t level = level_of(found), index = index_of(found);
      fronts_[level] = {found, index};
      if (best == SIZE_MAX || better(index, best)) best = index;
      // Deeper levels hold descendants of this one and what comes after it.
      if (index == index_at_start_of(level)) return best;
      from = level + 1 < starts_.size() ? starts_[level + 1] : positions_;
    }
    fronts_known_ = true;
    return best;
  }
  for (std::size_t level = 0; level < starts_.size(); ++level)
    if (fronts_[level].position != positions_ && (best == SIZE_MAX || better(fronts_[level].index, best)))
      best = fronts_[level].index;
  return best;
}

std::size_t Ranking::bytes() const noexcept {
  std::size_t bytes = allocated_bytes(members_) + allocated_bytes(counts_) + allocated_bytes(slots_) +
                      allocated_bytes(starts_) + allocated_bytes(tree_);
  for (const Leaves& level : tree_) bytes += allocated_bytes(level);
  return bytes;
}

}  // namespace berth::cycle
