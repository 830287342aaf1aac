// SPDX-License-Identifier: Apache-2.0
#include "cycle/reuse/class_entry.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cycle/reuse/allocated_bytes.hpp"

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
  b.flipped.clear();
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

void ClassEntry::keep_parts() {
  if (keeps_parts_) return;
  keeps_parts_ = true;
  forget();
}

bool ClassEntry::filter_rows(framework::CycleContext& context, framework::NodeBlocks& blocks, const Block& block,
                             std::uint64_t* alive, Buffers& b) {
  if (!keeps_parts_) return framework::run_filters(context, blocks, block, b.filters, alive, b.filter, b.failure);
  rejectors_.resize(blocks.snapshot().slot_count());
  const std::size_t words = words_for_rows(block.rows);
  for (const framework::PluginInstance* filter : b.filters) {
    if (!bitmap::any(alive, words)) break;
    b.before.assign(alive, alive + words);
    if (!framework::run_filters(context, blocks, block, {&filter, 1}, alive, b.filter, b.failure)) return false;
    for (std::size_t w = 0; w < words; ++w) b.before[w] &= ~alive[w];
    bitmap::for_each(b.before.data(), words, [&](std::size_t row) {
      const cache::Slot slot = block.slot(static_cast<std::uint32_t>(row));
      if (slot < rejectors_.size()) rejectors_[slot] = filter;
    });
  }
  return true;
}

bool ClassEntry::filter_all(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  pass_.assign(snapshot.nodes(), snapshot.nodes() + snapshot.word_count());
  for (cache::Slot first = 0; first < snapshot.slot_count(); first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, snapshot.slot_count() - first);
    if (!bitmap::any(pass_.data() + first / 64, words_for_rows(rows))) continue;
    if (!filter_rows(context, blocks, blocks.contiguous(first, rows), pass_.data() + first / 64, b)) return false;
  }
  passing_ = static_cast<std::uint32_t>(bitmap::count(pass_.data(), pass_.size()));
  return true;
}

bool ClassEntry::filter_dirty(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  for (std::size_t first = 0; first < b.dirty.size(); first += framework::k_max_block_rows) {
    const auto slots = std::span<const cache::Slot>(b.dirty).subspan(
        first, std::min<std::size_t>(framework::k_max_block_rows, b.dirty.size() - first));
    set_rows(b.bits, slots.size());
    if (!filter_rows(context, blocks, blocks.gathered(slots), b.bits.data(), b)) return false;
    for (std::size_t row = 0; row < slots.size(); ++row) {
      const bool passes = bitmap::test(b.bits.data(), row);
      if (bitmap::test(pass_.data(), slots[row]) == passes) continue;
      bitmap::assign(pass_.data(), slots[row], passes);
      passing_ += passes ? 1 : -1;
      b.flipped.push_back(slots[row]);
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
    const bool skipped = !filters[i]->filter_is_reusable() || context.skips_filter(*filters[i]);
    same_skips = same_skips && skipped_[i] == static_cast<std::uint8_t>(skipped);
    skipped_[i] = static_cast<std::uint8_t>(skipped);
    if (!skipped) b.filters.push_back(filters[i]);
  }
  if (!same_skips) known_ = false;  // the answer to pre-filter was another: start over
  only_filter_ = b.filters.size() == 1 ? b.filters.front() : nullptr;
  collect_dirty(snapshot, b);
  if (b.all_dirty || !b.dirty.empty()) diagnosis_.reset();
  if (b.all_dirty) {
    list_stale_ = true;
    scored_ = false;
    if (groups_) groups_->forget();
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

void ClassEntry::update_feasible(const cache::Snapshot& snapshot, std::size_t start, const Buffers& b) {
  if (groups_) groups_->forget();  // they miss what changes now
  if (list_stale_ || start != start_) {
    start_ = start;
    ranking_.rebuild(snapshot.order(), start, pass_.data());
    list_stale_ = false;
    totals_stale_ = true;
  } else {
    for (const cache::Slot slot : b.flipped) {
      const std::size_t at = turned(snapshot.order_index()[slot]);
      if (bitmap::test(pass_.data(), slot))
        ranking_.insert(at, slot);
      else
        ranking_.remove(at);
    }
  }
  if (!scored_) return;
  for (const cache::Slot slot : b.flipped)
    if (!bitmap::test(pass_.data(), slot)) forget_scores(snapshot.order_index()[slot]);
}

bool ClassEntry::same_scorers(const framework::CycleContext& context) const {
  std::size_t plain = 0, normal = 0;
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer) || !scorer.plugin->score_is_reusable()) continue;
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
    if (!framework::scores(context, scorer) || !scorer.plugin->score_is_reusable()) continue;
    const std::uint32_t kind = scorer.plugin->score->normalize_kind;
    if (kind == BERTH_NORM_NONE)
      plain_.push_back(&scorer);
    else if (kind != BERTH_NORM_CUSTOM)
      normalized_.emplace_back().scorer = &scorer;
  }
  base_.assign(positions, k_unscored);
  plain_parts_.assign(keeps_parts_ ? plain_.size() * positions : 0, 0);
  totals_stale_ = true;
}

void ClassEntry::Normalized::leave(std::int64_t score) noexcept {
  if (!counted) return;
  if (score == max) --at_max;
  if (score == min) --at_min;
}

void ClassEntry::Normalized::enter(std::int64_t score) noexcept {
  if (!counted) return;
  if (score > max) {
    max = score;
    at_max = 0;
  }
  if (score < min) {
    min = score;
    at_min = 0;
  }
  if (score == max) ++at_max;
  if (score == min) ++at_min;
}

void ClassEntry::forget_scores(std::size_t position) noexcept {
  if (base_[position] == k_unscored) return;
  base_[position] = k_unscored;
  for (Normalized& n : normalized_)
    if (!n.raw.empty()) n.leave(n.raw[position]);
}

void ClassEntry::put_raw(Normalized& n, std::size_t position, std::int64_t raw) {
  if (n.raw.empty()) {
    if (raw == 0) return;
    n.raw.assign(base_.size(), 0);
  }
  n.raw[position] = raw;
  n.enter(raw);
}

Status ClassEntry::score_slots(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b,
                               std::span<const cache::Slot> slots) {
  const auto positions = blocks.snapshot().order_index();
  for (std::size_t first = 0; first < slots.size(); first += framework::k_max_block_rows) {
    const auto rows = slots.subspan(first, std::min<std::size_t>(framework::k_max_block_rows, slots.size() - first));
    const Block block = blocks.gathered(rows);
    set_rows(b.bits, rows.size());
    b.raw.resize(block.words() * 64);
    for (const cache::Slot slot : rows) {
      forget_scores(positions[slot]);
      base_[positions[slot]] = 0;
    }
    for (std::size_t p = 0; p < plain_.size(); ++p) {
      const framework::Scorer* const scorer = plain_[p];
      Status scored = framework::run_score(context, blocks, block, *scorer->plugin, b.bits.data(), b.raw.data());
      if (!scored.ok()) return scored;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (b.raw[i] < 0 || b.raw[i] > BERTH_SCORE_MAX) return framework::check_range(*scorer->plugin, b.raw[i]);
        base_[positions[rows[i]]] += static_cast<std::int32_t>(scorer->weight * b.raw[i]);
        if (keeps_parts_) plain_parts_[p * base_.size() + positions[rows[i]]] = b.raw[i];
      }
    }
    for (Normalized& n : normalized_) {
      Status scored = framework::run_score(context, blocks, block, *n.scorer->plugin, b.bits.data(), b.raw.data());
      if (!scored.ok()) return scored;
      for (std::size_t i = 0; i < rows.size(); ++i) put_raw(n, positions[rows[i]], b.raw[i]);
    }
  }
  return Unit{};
}

Status ClassEntry::refresh_ranges(const cache::Snapshot& snapshot) {
  for (Normalized& n : normalized_) {
    if (!n.raw.empty() && (!n.counted || n.at_max == 0 || n.at_min == 0)) {
      n.counted = true;
      n.max = INT64_MIN;
      n.min = INT64_MAX;
      for (const cache::Slot slot : ranking_.slots()) n.enter(n.raw[snapshot.order_index()[slot]]);
    }
    const std::uint32_t kind = n.scorer->plugin->score->normalize_kind;
    const framework::NormRange range = framework::by_minimum(kind)
                                           ? framework::NormRange{n.max, n.min}
                                           : framework::NormRange{std::max<std::int64_t>(n.max, 0), 0};
    if (range.max == n.range.max && range.min == n.range.min) continue;
    n.range = range;
    totals_stale_ = true;  // every total depends on the range
  }
  for (const Normalized& n : normalized_)  // normalisation is monotone
    for (const std::int64_t raw : {n.min, n.max}) {
      const std::int64_t score = framework::normalized(n.scorer->plugin->score->normalize_kind, raw, n.range);
      if (Status checked = framework::check_range(*n.scorer->plugin, score); !checked.ok()) return checked;
    }
  return Unit{};
}

std::int64_t ClassEntry::total_at(std::size_t position) const noexcept {
  std::int64_t total = base_[position];
  for (const Normalized& n : normalized_)
    total +=
        n.scorer->weight * framework::normalized(n.scorer->plugin->score->normalize_kind, n.raw_at(position), n.range);
  return total;
}

Status ClassEntry::score_changed(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  const auto positions = snapshot.order_index();
  if (scored_ && !same_scorers(context)) scored_ = false;
  b.slots.clear();
  if (!scored_) {
    start_scoring(context, snapshot.order().size());
    bitmap::for_each(pass_.data(), pass_.size(),
                     [&](std::size_t slot) { b.slots.push_back(static_cast<cache::Slot>(slot)); });
  } else {
    for (const cache::Slot slot : b.dirty)
      if (bitmap::test(pass_.data(), slot)) b.slots.push_back(slot);
    // With many classes an entry has left the near caches since its last cycle; its rows arrive while they are rated.
    for (const cache::Slot slot : b.slots) {
      __builtin_prefetch(&base_[positions[slot]], 1);
      if (!list_stale_) ranking_.prefetch(turned(positions[slot]));
    }
  }
  return score_slots(context, blocks, b, b.slots);
}

bool ClassEntry::update_groups(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b,
                               const framework::DomainColumns& columns, std::size_t start) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  list_stale_ = true;  // ranking_ misses what changes now
  if (!groups_) {
    groups_ = std::make_unique<DomainGroups>();
    ranking_ = {};
  }
  if (scored_)
    for (const cache::Slot slot : b.flipped)
      if (!bitmap::test(pass_.data(), slot)) forget_scores(snapshot.order_index()[slot]);
  const bool scored_before = scored_;
  if (!score_changed(context, blocks, b).ok()) return false;  // a search says what is wrong
  const bool all_changed = b.all_dirty || !scored_before || !scored_;
  scored_ = true;
  journal_for_scores_ = position_;
  row_scores_.clear();
  row_constant_ = 0;
  for (const Normalized& n : normalized_) {
    if (!n.raw.empty())
      row_scores_.push_back({n.scorer, n.raw.data()});
    else  // 0 everywhere, which is the highest score where fewer is better
      row_constant_ += n.scorer->weight * framework::normalized(n.scorer->plugin->score->normalize_kind, 0, {});
  }
  const DomainGroups::Nodes nodes{snapshot, start, pass_.data(), base_.data(), b.dirty, all_changed};
  if (!groups_->update(nodes, columns, row_scores_, b.domain_slots)) {
    too_many_groups_ = true;
    groups_.reset();
    return false;
  }
  if (groups_->take_moved()) diagnosis_.reset();
  return true;
}

bool ClassEntry::judge_groups(framework::CycleContext& context, const framework::DomainColumns& columns) {
  return groups_->judge(context, columns);
}

std::optional<BestNode> ClassEntry::best_of_groups(framework::CycleContext& context, const cache::Snapshot& snapshot,
                                                   const framework::DomainColumns& columns) {
  std::optional<BestNode> best = groups_->best(context, columns, row_scores_, snapshot);
  if (best) best->total += row_constant_;
  return best;
}

Status ClassEntry::update_scores(framework::CycleContext& context, framework::NodeBlocks& blocks, Buffers& b) {
  const cache::Snapshot& snapshot = blocks.snapshot();
  const auto positions = snapshot.order_index();
  if (Status scored = score_changed(context, blocks, b); !scored.ok()) return scored;
  if (Status ranged = refresh_ranges(snapshot); !ranged.ok()) return ranged;
  if (totals_stale_) {
    for (const cache::Slot slot : ranking_.slots()) {
      const std::size_t p = positions[slot];
      ranking_.write_total(turned(p), static_cast<std::int32_t>(total_at(p)));
    }
    ranking_.raise_all();
    totals_stale_ = false;
  } else {
    for (const cache::Slot slot : b.slots) {
      const std::size_t p = positions[slot];
      ranking_.put(turned(p), static_cast<std::int32_t>(total_at(p)));
    }
  }
  scored_ = true;
  journal_for_scores_ = position_;
  return Unit{};
}

void ClassEntry::add_totals(const cache::Snapshot& snapshot, std::span<std::int64_t> totals) const {
  const auto positions = snapshot.order_index();
  const auto feasible = ranking_.slots();
  for (std::size_t i = 0; i < feasible.size(); ++i) totals[i] += total_at(positions[feasible[i]]);
}

std::size_t ClassEntry::bytes() const noexcept {
  std::size_t bytes = allocated_bytes(skipped_) + allocated_bytes(pass_) + ranking_.bytes() + allocated_bytes(plain_) +
                      allocated_bytes(normalized_) + allocated_bytes(base_) + allocated_bytes(rejectors_) +
                      allocated_bytes(plain_parts_);
  for (const Normalized& n : normalized_) bytes += allocated_bytes(n.raw);
  return bytes + (diagnosis_ ? diagnosis_->diagnosis.bytes() + diagnosis_->message.capacity() : 0) +
         (groups_ ? groups_->bytes() : 0);
}

}  // namespace berth::cycle
