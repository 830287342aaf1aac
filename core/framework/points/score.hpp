// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "framework/cycle_context.hpp"
#include "framework/profile_runtime.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::framework {

/// Runs pre-score. Plugins that skip are noted in the context. An error fails the attempt.
Status run_pre_score(CycleContext& context, std::span<const cache::Slot> feasible);

/// True when the profile scores with this plugin in this cycle.
inline bool scores(const CycleContext& context, const Scorer& scorer) noexcept {
  return !context.skips_score(*scorer.plugin);
}

/// True when the plugin has said that it gives every node 0 in this cycle, and no node is the better for asking it.
inline bool scores_all_zero(const CycleContext& context, const Scorer& scorer) noexcept {
  const berth_prepare_ops_v1* const prepare = scorer.plugin->prepare;
  return prepare != nullptr && (prepare->flags & BERTH_PREPARE_SKIP_SCORES_ZERO) != 0 &&
         scorer.plugin->score->normalize_kind != BERTH_NORM_CUSTOM && context.skips_filter(*scorer.plugin);
}

/// Raw scores of one plugin for the candidate rows of a block, written to raw[row].
Status run_score(CycleContext& context, NodeBlocks& blocks, const Block& block, const PluginInstance& plugin,
                 const std::uint64_t* candidates, std::int64_t* raw);

/// Turns the raw scores of all feasible nodes (scores[i] belongs to nodes[i]) into 0..score_max, in place, as the
/// plugin's kind says, and checks the range.
Status normalize(CycleContext& context, const PluginInstance& plugin, std::span<const cache::Slot> nodes,
                 std::span<std::int64_t> scores, std::int64_t score_max = BERTH_SCORE_MAX);

/// Whether the lowest raw score counts, as the highest does.
constexpr bool by_minimum(std::uint32_t normalize_kind) noexcept {
  return normalize_kind == BERTH_NORM_MINMAX || normalize_kind == BERTH_NORM_MINMAX_INTEGER;
}
/// Extremes that a normalisation depends on.
struct NormRange {
  std::int64_t max = 0;  // NORM_MAX: at least 0
  std::int64_t min = 0;
};
/// One score under the host's own normalisations (all but CUSTOM).
std::int64_t normalized(std::uint32_t kind, std::int64_t raw, const NormRange& range,
                        std::int64_t score_max = BERTH_SCORE_MAX) noexcept;
/// The error of a score out of range: "applying score defaultWeights on Score plugins: …".
Status check_range(const PluginInstance& plugin, std::int64_t score, std::int64_t score_max = BERTH_SCORE_MAX);

}  // namespace berth::framework
