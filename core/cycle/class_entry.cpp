// SPDX-License-Identifier: Apache-2.0
#include "cycle/class_entry.hpp"

#include <algorithm>

#include "base/bitmap.hpp"

namespace berth::cycle {
namespace {

using cache::k_no_slot;
using framework::Block;
using framework::k_block_rows;

std::size_t words_for_rows(std::size_t rows) { return (rows + 63) / 64; }

void set_rows(std::vector<std::uint64_t>& bits, std::size_t rows) {
  bits.assign(words_for_rows(rows), ~std::uint64_t{0});
  if (rows % 64 != 0) bits.back() = (std::uint64_t{1} << (rows % 64)) - 1;
}

}  // namespace

void ClassEntry::collect_dirty(const cache::Snapshot& snapshot, Buffers& b) {
  b.dirty.clear();
  const std::uint64_t end = snapshot.journal_end();
  b.all_dirty = !known_ || membership_ != snapshot.membership_generation() ||
                end - position_ > cache::Snapshot::k_journal_capacity || end - position_ > snapshot.slot_count();
  if (b.all_dirty) return;
  if (b.stamp.size() < snapshot.slot_count()) b.stamp.resize(snapshot.slot_count(), 0);
  if (++b.stamp_now == 0) {
    std::fill(b.stamp.begin(), b.stamp.end(), 0);
    b.stamp_now = 1;
  }
  for (std::uint64_t p = position_; p != end; ++p) {
    const cache::Slot slot = snapshot.journal(p);
    if (b.stamp[slot] == b.stamp_now) continue;
    b.stamp[slot] = b.stamp_now;
    if (bitmap::test(snapshot.nodes(), slot)) b.dirty.push_back(slot);
  }
  // Many changed rows are cheaper to read in place than to copy together.
  if (b.dirty.size() * 4 > snapshot.slot_count()) b.all_dirty = true;
}

bool ClassEntry::filter_all(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  pass_.assign(snapshot.nodes(), snapshot.nodes() + snapshot.word_count());
  for (cache::Slot first = 0; first < snapshot.slot_count(); first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, snapshot.slot_count() - first);
    if (!bitmap::any(pass_.data() + first / 64, words_for_rows(rows))) continue;
    if (!framework::run_filters(context, blocks, blocks.contiguous(first, rows), b.filters, pass_.data() + first / 64,
                                b.filter, b.failure))
      return false;
  }
  return true;
}

bool ClassEntry::filter_dirty(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  for (std::size_t first = 0; first < b.dirty.size(); first += framework::k_max_block_rows) {
    const auto slots = std::span<const cache::Slot>(b.dirty).subspan(
        first, std::min<std::size_t>(framework::k_max_block_rows, b.dirty.size() - first));
    set_rows(b.bits, slots.size());
    if (!framework::run_filters(context, blocks, blocks.gathered(slots), b.filters, b.bits.data(), b.filter, b.failure))
      return false;
    for (std::size_t row = 0; row < slots.size(); ++row) {
      const bool passes = bitmap::test(b.bits.data(), row);
      if (bitmap::test(pass_.data(), slots[row]) == passes) continue;
      bitmap::assign(pass_.data(), slots[row], passes);
      feasible_changed_ = true;
    }
  }
  return true;
}

bool ClassEntry::update_filters(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  b.filters.clear();
  const auto& filters = context.profile().filter;
  bool same_skips = skipped_.size() == filters.size();
  skipped_.resize(filters.size(), 0);
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const bool skipped = context.skips_filter(*filters[i]);
    same_skips = same_skips && skipped_[i] == static_cast<std::uint8_t>(skipped);
    skipped_[i] = static_cast<std::uint8_t>(skipped);
    if (filters[i]->reusable() && !skipped) b.filters.push_back(filters[i]);
  }
  if (!same_skips) known_ = false;  // the answer to pre-filter was another: start over
  collect_dirty(snapshot, b);
  if (b.all_dirty || !b.dirty.empty()) diagnosis_.reset();
  if (b.all_dirty) {
    feasible_changed_ = true;
    scored_ = false;
    if (!filter_all(context, blocks, b)) return false;
  } else if (!b.dirty.empty() && !filter_dirty(context, blocks, b)) {
    return false;
  }
  known_ = true;
  membership_ = snapshot.membership_generation();
  // Scores that were left out last time have missed what changed then.
  if (journal_for_scores_ != position_) scored_ = false;
  position_ = snapshot.journal_end();
  return true;
}

void ClassEntry::update_feasible(const cache::Snapshot& snapshot, std::size_t start) {
  if (!feasible_changed_ && start == start_) return;
  start_ = start;
  feasible_changed_ = true;  // keys follow in update_scores()
  const auto order = snapshot.order();
  feasible_.clear();
  rank_of_position_.resize(order.size());
  const auto take = [&](std::size_t position) {
    const cache::Slot slot = order[position];
    if (bitmap::test(pass_.data(), slot)) {
      rank_of_position_[position] = static_cast<std::uint32_t>(feasible_.size());
      feasible_.push_back(slot);
    } else {
      rank_of_position_[position] = k_no_slot;
    }
  };
  for (std::size_t i = start; i < order.size(); ++i) take(i);
  for (std::size_t i = 0; i < start && i < order.size(); ++i) take(i);
}

bool ClassEntry::same_scorers(const framework::CycleContext& context) const {
  std::size_t plain = 0, normal = 0;
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer) || !scorer.plugin->reusable()) continue;
    const std::uint32_t kind = scorer.plugin->score->normalize_kind;
    if (kind == BERTH_NORM_CUSTOM) continue;
    if (kind == BERTH_NORM_NONE) {
      if (plain >= plain_.size() || plain_[plain++] != &scorer) return false;
    } else if (normal >= normalized_.size() || normalized_[normal++].scorer != &scorer) {
      return false;
    }
  }
  return plain == plain_.size() && normal == normalized_.size();
}

void ClassEntry::start_scoring(const framework::CycleContext& context, std::size_t positions) {
  plain_.clear();
  normalized_.clear();
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer) || !scorer.plugin->reusable()) continue;
    const std::uint32_t kind = scorer.plugin->score->normalize_kind;
    if (kind == BERTH_NORM_NONE)
      plain_.push_back(&scorer);
    else if (kind != BERTH_NORM_CUSTOM)
      normalized_.push_back({&scorer, {}, {}, false});
  }
  base_.assign(positions, 0);
  keys_.assign((positions + 63) & ~std::size_t{63}, 0);
  tops_.assign(keys_.size() / 64, 0);
}

void ClassEntry::put_raw(Normalized& n, std::size_t position, std::int64_t raw, bool feasible) {
  const std::int64_t old = n.raw.empty() ? 0 : n.raw[position];
  if (n.raw.empty() && raw != 0) n.raw.assign(base_.size(), 0);
  if (!n.raw.empty()) n.raw[position] = raw;
  const bool minmax = n.scorer->plugin->score->normalize_kind == BERTH_NORM_MINMAX;
  // The range can only be trusted while its extremes are still there.
  if (feasible && (raw > n.range.max || (minmax && raw < n.range.min))) n.range_stale = true;
  if ((!feasible || raw != old) && ((old == n.range.max && old != 0) || minmax)) n.range_stale = true;
}

std::string ClassEntry::score_slots(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b,
                                    std::span<const cache::Slot> slots) {
  const auto positions = blocks.snapshot().order_index();
  for (std::size_t first = 0; first < slots.size(); first += framework::k_max_block_rows) {
    const auto rows = slots.subspan(first, std::min<std::size_t>(framework::k_max_block_rows, slots.size() - first));
    const Block block = blocks.gathered(rows);
    set_rows(b.bits, rows.size());
    b.raw.resize(block.words() * 64);
    for (std::size_t i = 0; i < rows.size(); ++i) base_[positions[rows[i]]] = 0;
    for (const framework::Scorer* scorer : plain_) {
      std::string error = framework::run_score(context, blocks, block, *scorer->plugin, b.bits.data(), b.raw.data());
      if (!error.empty()) return error;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (b.raw[i] < 0 || b.raw[i] > BERTH_SCORE_MAX) return framework::range_error(*scorer->plugin, b.raw[i]);
        base_[positions[rows[i]]] += static_cast<std::int32_t>(scorer->weight * b.raw[i]);
      }
    }
    for (Normalized& n : normalized_) {
      std::string error = framework::run_score(context, blocks, block, *n.scorer->plugin, b.bits.data(), b.raw.data());
      if (!error.empty()) return error;
      for (std::size_t i = 0; i < rows.size(); ++i) put_raw(n, positions[rows[i]], b.raw[i], true);
    }
  }
  return {};
}

void ClassEntry::refresh_ranges() {
  for (Normalized& n : normalized_) {
    if (!n.range_stale) continue;
    n.range_stale = false;
    framework::NormRange range;
    bool first = true;
    for (std::size_t p = 0; p < rank_of_position_.size() && !n.raw.empty(); ++p) {
      if (rank_of_position_[p] == k_no_slot) continue;
      range.max = first ? n.raw[p] : std::max(range.max, n.raw[p]);
      range.min = first ? n.raw[p] : std::min(range.min, n.raw[p]);
      first = false;
    }
    if (n.scorer->plugin->score->normalize_kind != BERTH_NORM_MINMAX) range.max = std::max<std::int64_t>(range.max, 0);
    if (range.max == n.range.max && range.min == n.range.min) continue;
    n.range = range;
    feasible_changed_ = true;  // every key depends on the range
  }
}

std::int64_t ClassEntry::total_at(std::size_t position) const noexcept {
  std::int64_t total = base_[position];
  for (const Normalized& n : normalized_)
    total += n.scorer->weight * framework::normalized(n.scorer->plugin->score->normalize_kind,
                                                      n.raw.empty() ? 0 : n.raw[position], n.range);
  return total;
}

void ClassEntry::refresh_top(std::size_t position) {
  const std::size_t top = position / 64;
  tops_[top] = best_of_64(keys_.data() + top * 64);
}

void ClassEntry::rebuild_keys(const cache::Snapshot& snapshot) {
  const std::size_t positions = snapshot.order().size();
  for (std::size_t p = 0; p < positions; ++p)
    keys_[p] = rank_of_position_[p] == k_no_slot ? 0 : packed(total_at(p), rank_of_position_[p]);
  for (std::size_t top = 0; top < tops_.size(); ++top) refresh_top(top * 64);
}

std::string ClassEntry::update_scores(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  const auto positions = snapshot.order_index();
  if (scored_ && !same_scorers(context)) scored_ = false;
  const bool everything = !scored_;
  b.slots.clear();
  if (everything) {
    start_scoring(context, snapshot.order().size());
    b.slots.assign(feasible_.begin(), feasible_.end());
    for (Normalized& n : normalized_) n.range_stale = true;
    feasible_changed_ = true;
  } else {
    for (const cache::Slot slot : b.dirty) {
      if (bitmap::test(pass_.data(), slot)) {
        b.slots.push_back(slot);
      } else {
        for (Normalized& n : normalized_) put_raw(n, positions[slot], 0, false);
      }
    }
  }
  // With many classes an entry has left the near caches since its last cycle; its rows arrive while they are rated.
  if (!everything)
    for (const cache::Slot slot : b.slots) {
      const std::size_t p = positions[slot];
      __builtin_prefetch(&keys_[p], 1);
      __builtin_prefetch(&base_[p], 1);
      __builtin_prefetch(&rank_of_position_[p]);
    }
  std::string error = score_slots(context, blocks, b, b.slots);
  if (!error.empty()) return error;
  refresh_ranges();
  if (feasible_changed_) {
    rebuild_keys(snapshot);
    feasible_changed_ = false;
  } else {
    for (const cache::Slot slot : b.slots) {
      const std::size_t p = positions[slot];
      const std::uint64_t before = keys_[p];
      keys_[p] = packed(total_at(p), rank_of_position_[p]);
      std::uint64_t& top = tops_[p / 64];
      if (keys_[p] >= top)
        top = keys_[p];
      else if (before == top)  // the best of its 64 got worse
        refresh_top(p);
    }
  }
  scored_ = true;
  journal_for_scores_ = position_;
  return {};
}

cache::Slot ClassEntry::best(const cache::Snapshot& snapshot) const noexcept {
  std::size_t top = 0;
  for (std::size_t i = 1; i < tops_.size(); ++i)
    if (tops_[i] > tops_[top]) top = i;
  std::size_t p = top * 64;
  for (std::size_t i = p + 1; i < top * 64 + 64; ++i)
    if (keys_[i] > keys_[p]) p = i;
  return snapshot.order()[p];
}

void ClassEntry::add_totals(const cache::Snapshot& snapshot, std::span<std::int64_t> totals) const {
  const auto positions = snapshot.order_index();
  for (std::size_t i = 0; i < feasible_.size(); ++i) totals[i] += total_at(positions[feasible_[i]]);
}

std::size_t ClassEntry::bytes() const noexcept {
  std::size_t raw = 0;
  for (const Normalized& n : normalized_) raw += n.raw.capacity() * sizeof(std::int64_t);
  return sizeof *this + pass_.capacity() * 8 + feasible_.capacity() * 4 + rank_of_position_.capacity() * 4 +
         base_.capacity() * 4 + keys_.capacity() * 8 + tops_.capacity() * 8 + raw;
}

}  // namespace berth::cycle
