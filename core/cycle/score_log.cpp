// SPDX-License-Identifier: Apache-2.0
#include "cycle/score_log.hpp"

namespace berth::cycle {

ScorePass::Each log_scores(const model::Pod& pod, const cache::Snapshot& snapshot,
                           std::span<const cache::Slot> feasible) {
  return [&pod, &snapshot, feasible](const framework::Scorer& scorer, std::span<const std::int64_t> scores) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      observe::V(10).info("Plugin scored node for pod", {{"pod", pod},
                                                         {"plugin", scorer.plugin->name()},
                                                         {"node", snapshot.row(feasible[i]).node->name},
                                                         {"score", scorer.weight * scores[i]}});
  };
}

void log_extender_scores(const model::Pod& pod, const cache::Snapshot& snapshot, std::span<const cache::Slot> feasible,
                         const extender::Extenders::Score& score) {
  for (std::size_t i = 0; i < feasible.size(); ++i)
    if (score.given[i])
      observe::V(10).info("Extender scored node for pod", {{"pod", pod},
                                                           {"extender", score.by->name()},
                                                           {"node", snapshot.row(feasible[i]).node->name},
                                                           {"score", score.added[i]}});
}

void log_totals(const model::Pod& pod, const cache::Snapshot& snapshot, std::span<const cache::Slot> feasible,
                const std::function<std::int64_t(std::size_t)>& total) {
  for (std::size_t i = 0; i < feasible.size(); ++i)
    observe::V(10).info("Calculated node's final score for pod",
                        {{"pod", pod}, {"node", snapshot.row(feasible[i]).node->name}, {"score", total(i)}});
}

}  // namespace berth::cycle
