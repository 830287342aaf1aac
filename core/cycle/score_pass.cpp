// SPDX-License-Identifier: Apache-2.0
#include "cycle/score_pass.hpp"

#include <algorithm>

#include "base/bitmap.hpp"

namespace berth::cycle {
namespace {
using framework::k_block_rows;
/// Below this share of the slots, copying the rows together beats reading whole columns.
constexpr std::size_t k_gather_share = 5;
}  // namespace

std::string ScorePass::raw_scores(framework::CycleContext& context, const framework::PluginInstance& plugin,
                                  std::span<const cache::Slot> feasible) {
  scores_.resize(feasible.size());
  if (feasible.size() * k_gather_share < snapshot_.slot_count()) {
    for (std::size_t first = 0; first < feasible.size(); first += framework::k_max_block_rows) {
      const auto rows = feasible.subspan(first, std::min<std::size_t>(framework::k_max_block_rows, feasible.size() - first));
      const framework::Block block = blocks_.gathered(rows);
      bits_.assign(block.words(), ~std::uint64_t{0});
      if (rows.size() % 64 != 0) bits_.back() = (std::uint64_t{1} << (rows.size() % 64)) - 1;
      raw_.resize(block.words() * 64);
      std::string error = framework::run_score(context, blocks_, block, plugin, bits_.data(), raw_.data());
      if (!error.empty()) return error;
      std::copy_n(raw_.data(), rows.size(), scores_.data() + first);
    }
    return {};
  }
  bits_.assign(snapshot_.word_count(), 0);
  for (const cache::Slot slot : feasible) bitmap::set(bits_.data(), slot);
  raw_.resize(snapshot_.word_count() * 64);
  for (cache::Slot first = 0; first < snapshot_.slot_count(); first += k_block_rows) {
    const std::uint32_t rows = std::min(k_block_rows, snapshot_.slot_count() - first);
    if (!bitmap::any(bits_.data() + first / 64, (rows + 63) / 64)) continue;
    std::string error = framework::run_score(context, blocks_, blocks_.contiguous(first, rows), plugin,
                                             bits_.data() + first / 64, raw_.data() + first);
    if (!error.empty()) return error;
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) scores_[i] = raw_[feasible[i]];
  return {};
}

std::string ScorePass::run(framework::CycleContext& context, std::span<const cache::Slot> feasible,
                           std::span<std::int64_t> totals, bool only_others, const Each& each) {
  // Departs from upstream where two plugins fail: there all raw scores come before any range check, here plugin by plugin.
  for (const framework::Scorer& scorer : context.profile().score) {
    if (!framework::scores(context, scorer)) continue;
    if (only_others && scorer.plugin->reusable() && scorer.plugin->score->normalize_kind != BERTH_NORM_CUSTOM) continue;
    std::string error = raw_scores(context, *scorer.plugin, feasible);
    if (error.empty()) error = framework::normalize(context, *scorer.plugin, feasible, scores_);
    if (!error.empty()) return error;
    for (std::size_t i = 0; i < feasible.size(); ++i) totals[i] += scorer.weight * scores_[i];
    if (each) each(scorer, scores_);
  }
  return {};
}

}  // namespace berth::cycle
