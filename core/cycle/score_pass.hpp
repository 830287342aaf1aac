// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "framework/points/score.hpp"
#include "framework/view/node_blocks.hpp"

namespace berth::cycle {

/// Scores a list of feasible nodes with the plugins of a profile, all nodes at once per plugin.
/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunScorePlugins).
class ScorePass {
 public:
  ScorePass(cache::Snapshot& snapshot, framework::NodeBlocks& blocks, std::int64_t score_max = BERTH_SCORE_MAX)
      : snapshot_(snapshot), blocks_(blocks), score_max_(score_max) {}

  /// Called for each plugin that scored, with normalised scores (not weighted) parallel to the feasible list.
  using Each = std::function<void(const framework::Scorer& scorer, std::span<const std::int64_t> scores)>;

  /// Sums up weight * score of the wanted scorers, see sums().
  /// Requires: pre-score ran.
  Status run(framework::CycleContext& context, std::span<const cache::Slot> feasible, bool only_others,
             const Each& each);
  /// Of the last run, by slot; slots that were not feasible hold anything.
  const std::int64_t* sums() const noexcept { return sums_.data(); }

 private:
  /// Calls the plugin for each block that holds a feasible node: raw scores go to raw_, by slot (not feasible:
  /// anything) …
  Status raw_scores(framework::CycleContext& context, const framework::PluginInstance& plugin);
  /// … or, where nothing is normalised, through one block's buffer, which stays in the cache, right into sums_.
  Status add_plain(framework::CycleContext& context, const framework::Scorer& scorer);
  template <typename Body>
  Status each_block(Body&& body);
  /// Adds weight * normalised score by slot; the host's own normalisations.
  Status add_normalized(const framework::Scorer& scorer);
  Status add_custom(framework::CycleContext& context, const framework::Scorer& scorer,
                    std::span<const cache::Slot> feasible);
  framework::NormRange range_of_feasible() const noexcept;

  cache::Snapshot& snapshot_;
  framework::NodeBlocks& blocks_;
  const std::int64_t score_max_;            // the most that a plugin may give a node
  std::vector<std::uint64_t> bits_;         // by slot: feasible
  AlignedVector<std::int64_t> raw_, sums_;  // by slot
  std::int64_t offset_ = 0;                 // what every feasible node gets in addition to sums_
  std::vector<std::int64_t> scores_;
};

}  // namespace berth::cycle
