// SPDX-License-Identifier: Apache-2.0
#include "cycle/score_pass.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cycle/score_rows.hpp"

namespace berth::cycle {
namespace {

using framework::k_block_rows;
using framework::NormRange;

}  // namespace

/// Calls body(block, first word) for each run of slots that holds a feasible one, until it answers with an error.
template <typename Body>
Status ScorePass::each_block(Body&& body) {
  for (cache::Slot first = 0; first < snapshot_.slot_count(); first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, snapshot_.slot_count() - first);
    if (!bitmap::any(bits_.data() + first / 64, (rows + 63) / 64)) continue;
    if (Status scored = body(blocks_.contiguous(first, rows)); !scored.ok()) return scored;
  }
  return Unit{};
}

Status ScorePass::raw_scores(framework::CycleContext& context, const framework::PluginInstance& plugin) {
  return each_block([&](const framework::Block& block) {
    return framework::run_score(context, blocks_, block, plugin, bits_.data() + block.first_slot / 64,
                                raw_.data() + block.first_slot);
  });
}

Status ScorePass::add_plain(framework::CycleContext& context, const framework::Scorer& scorer) {
  return each_block([&](const framework::Block& block) -> Status {
    const std::span rows(bits_.data() + block.first_slot / 64, block.words());
    Status scored = framework::run_score(context, blocks_, block, *scorer.plugin, rows.data(), raw_.data());
    if (!scored.ok()) return scored;
    const bool in_range = add_weighted(rows, raw_.data(), scorer.weight, sums_.data() + block.first_slot) >= 0;
    if (in_range && score_max_ == BERTH_SCORE_MAX) return Unit{};
    const NormRange range = range_of(rows, raw_.data());
    return framework::check_range(*scorer.plugin, range.min < 0 ? range.min : range.max, score_max_);
  });
}

NormRange ScorePass::range_of_feasible() const noexcept {
  // Most scorers rate most pods with nothing at all, which is cheaper to see than a range.
  if (union_of_bits(bits_, raw_.data()) == 0) return {};
  return range_of(bits_, raw_.data());
}

Status ScorePass::add_normalized(const framework::Scorer& scorer) {
  const std::uint32_t kind = scorer.plugin->score->normalize_kind;
  NormRange range = range_of_feasible();
  if (!framework::by_minimum(kind)) range.max = std::max<std::int64_t>(range.max, 0);
  // Normalisation is monotone, so the extremes tell whether anything leaves the range.
  for (const std::int64_t raw : {range.min, range.max})
    if (Status checked =
            framework::check_range(*scorer.plugin, framework::normalized(kind, raw, range, score_max_), score_max_);
        !checked.ok())
      return checked;
  if (range.min == range.max || (!framework::by_minimum(kind) && range.max == 0)) {
    // What all nodes get decides nothing, but the totals are reported.
    offset_ += scorer.weight * framework::normalized(kind, range.max, range, score_max_);
    return Unit{};
  }
  bitmap::for_each(bits_.data(), bits_.size(), [&](std::size_t slot) {
    sums_[slot] += scorer.weight * framework::normalized(kind, raw_[slot], range, score_max_);
  });
  return Unit{};
}

Status ScorePass::add_custom(framework::CycleContext& context, const framework::Scorer& scorer,
                             std::span<const cache::Slot> feasible) {
  scores_.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) scores_[i] = raw_[feasible[i]];
  if (Status status = framework::normalize(context, *scorer.plugin, feasible, scores_, score_max_); !status.ok())
    return status;
  for (std::size_t i = 0; i < feasible.size(); ++i) sums_[feasible[i]] += scorer.weight * scores_[i];
  return Unit{};
}

Status ScorePass::run(framework::CycleContext& context, std::span<const cache::Slot> feasible, bool only_others,
                      const Each& each) {
  const std::size_t words = snapshot_.word_count();
  if (feasible.size() == snapshot_.node_count()) {
    bits_.assign(snapshot_.nodes(), snapshot_.nodes() + words);
  } else {
    bits_.assign(words, 0);
    for (const cache::Slot slot : feasible) bitmap::set(bits_.data(), slot);
  }
  raw_.resize(words * 64);
  sums_.assign(words * 64, 0);
  offset_ = 0;
  // Departs from upstream where two plugins fail: there all raw scores come before any range check, here plugin by
  // plugin.
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer)) continue;
    const bool custom = scorer.plugin->score->normalize_kind == BERTH_NORM_CUSTOM;
    if (only_others && ((scorer.plugin->score_is_reusable() && !custom) || framework::scores_all_zero(context, scorer)))
      continue;
    if (!each && scorer.plugin->score->normalize_kind == BERTH_NORM_NONE) {
      if (Status added = add_plain(context, scorer); !added.ok()) return added;
      continue;
    }
    if (Status scored = raw_scores(context, *scorer.plugin); !scored.ok()) return scored;
    if (each) {
      scores_.resize(feasible.size());
      for (std::size_t i = 0; i < feasible.size(); ++i) scores_[i] = raw_[feasible[i]];
      Status status = framework::normalize(context, *scorer.plugin, feasible, scores_, score_max_);
      if (!status.ok()) return status;
      each(scorer, scores_);
    }
    Status added = custom ? add_custom(context, scorer, feasible) : add_normalized(scorer);
    if (!added.ok()) return added;
  }
  if (offset_ != 0) add_same(bits_, offset_, sums_.data());
  return Unit{};
}

}  // namespace berth::cycle
