// SPDX-License-Identifier: Apache-2.0
#include "cycle/score_pass.hpp"

#include <algorithm>

#include "base/bitmap.hpp"

namespace berth::cycle {
namespace {

using framework::k_block_rows;
using framework::NormRange;
constexpr std::uint64_t k_all = ~std::uint64_t{0};

/// Calls body(slot) for each set bit; runs of 64 set bits become a plain loop that the compiler can vectorise.
template <typename Body>
void each_feasible(const std::vector<std::uint64_t>& bits, Body&& body) {
  for (std::size_t w = 0; w < bits.size(); ++w) {
    if (bits[w] == k_all) {
      for (std::size_t i = w * 64; i < w * 64 + 64; ++i) body(i);
    } else {
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
        body(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

}  // namespace

std::string ScorePass::raw_scores(framework::CycleContext& context, const framework::PluginInstance& plugin) {
  for (cache::Slot first = 0; first < snapshot_.slot_count(); first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, snapshot_.slot_count() - first);
    if (!bitmap::any(bits_.data() + first / 64, (rows + 63) / 64)) continue;
    std::string error = framework::run_score(context, blocks_, blocks_.contiguous(first, rows), plugin,
                                             bits_.data() + first / 64, raw_.data() + first);
    if (!error.empty()) return error;
  }
  return {};
}

NormRange ScorePass::range_of_feasible() const noexcept {
  // Most scorers rate most pods with nothing at all; ORing vectorises where comparing 64-bit integers does not.
  std::int64_t any = 0;
  each_feasible(bits_, [&](std::size_t slot) { any |= raw_[slot]; });
  if (any == 0) return {};
  std::int64_t max = INT64_MIN, min = INT64_MAX;
  each_feasible(bits_, [&](std::size_t slot) {
    max = std::max(max, raw_[slot]);
    min = std::min(min, raw_[slot]);
  });
  return {max, min};
}

std::string ScorePass::add_normalized(const framework::Scorer& scorer) {
  const std::uint32_t kind = scorer.plugin->score->normalize_kind;
  if (kind == BERTH_NORM_NONE) {
    std::int64_t outside = 0;  // negative when a score is below 0 or above the maximum
    const std::int64_t weight = scorer.weight;
    if (weight == 1)
      each_feasible(bits_, [&](std::size_t slot) {
        outside |= raw_[slot] | (BERTH_SCORE_MAX - raw_[slot]);
        sums_[slot] += raw_[slot];
      });
    else
      each_feasible(bits_, [&](std::size_t slot) {
        outside |= raw_[slot] | (BERTH_SCORE_MAX - raw_[slot]);
        sums_[slot] += weight * raw_[slot];
      });
    if (outside >= 0) return {};
    const NormRange range = range_of_feasible();
    return framework::range_error(*scorer.plugin, range.min < 0 ? range.min : range.max);
  }
  NormRange range = range_of_feasible();
  if (kind != BERTH_NORM_MINMAX) range.max = std::max<std::int64_t>(range.max, 0);
  // Normalisation is monotone, so the extremes tell whether anything leaves the range.
  for (const std::int64_t raw : {range.min, range.max})
    if (std::string error = framework::range_error(*scorer.plugin, framework::normalized(kind, raw, range)); !error.empty())
      return error;
  if (range.min == range.max || (kind != BERTH_NORM_MINMAX && range.max == 0)) {
    const std::int64_t same = scorer.weight * framework::normalized(kind, range.max, range);
    if (same != 0) each_feasible(bits_, [&](std::size_t slot) { sums_[slot] += same; });
    return {};
  }
  each_feasible(bits_, [&](std::size_t slot) {
    sums_[slot] += scorer.weight * framework::normalized(kind, raw_[slot], range);
  });
  return {};
}

std::string ScorePass::add_custom(framework::CycleContext& context, const framework::Scorer& scorer,
                                  std::span<const cache::Slot> feasible) {
  scores_.resize(feasible.size());
  for (std::size_t i = 0; i < feasible.size(); ++i) scores_[i] = raw_[feasible[i]];
  if (std::string error = framework::normalize(context, *scorer.plugin, feasible, scores_); !error.empty()) return error;
  for (std::size_t i = 0; i < feasible.size(); ++i) sums_[feasible[i]] += scorer.weight * scores_[i];
  return {};
}

std::string ScorePass::run(framework::CycleContext& context, std::span<const cache::Slot> feasible,
                           std::span<std::int64_t> totals, bool only_others, const Each& each) {
  const std::size_t words = snapshot_.word_count();
  if (feasible.size() == snapshot_.node_count()) {
    bits_.assign(snapshot_.nodes(), snapshot_.nodes() + words);
  } else {
    bits_.assign(words, 0);
    for (const cache::Slot slot : feasible) bitmap::set(bits_.data(), slot);
  }
  raw_.resize(words * 64);
  sums_.assign(words * 64, 0);
  // Departs from upstream where two plugins fail: there all raw scores come before any range check, here plugin by plugin.
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer)) continue;
    const bool custom = scorer.plugin->score->normalize_kind == BERTH_NORM_CUSTOM;
    if (only_others && scorer.plugin->reusable() && !custom) continue;
    std::string error = raw_scores(context, *scorer.plugin);
    if (error.empty() && each) {
      scores_.resize(feasible.size());
      for (std::size_t i = 0; i < feasible.size(); ++i) scores_[i] = raw_[feasible[i]];
      error = framework::normalize(context, *scorer.plugin, feasible, scores_);
      if (error.empty()) each(scorer, scores_);
    }
    if (error.empty()) error = custom ? add_custom(context, scorer, feasible) : add_normalized(scorer);
    if (!error.empty()) return error;
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) totals[i] += sums_[feasible[i]];
  return {};
}

}  // namespace berth::cycle
