// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>

#include "cycle/score_pass.hpp"
#include "extender/extenders.hpp"
#include "observe/log.hpp"

/// The log of single scores, a line for each node and plugin: what a verbosity of 10 is for. Classes of pods are not
/// made use of meanwhile, because what they keep are sums.
/// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (prioritizeNodes).
namespace berth::cycle {

inline bool logs_scores() noexcept { return static_cast<bool>(observe::V(10)); }

/// Logs what each plugin gives, weighted. The arguments outlive the answer.
ScorePass::Each log_scores(const model::Pod& pod, const cache::Snapshot& snapshot,
                           std::span<const cache::Slot> feasible);
void log_extender_scores(const model::Pod& pod, const cache::Snapshot& snapshot, std::span<const cache::Slot> feasible,
                         const extender::Extenders::Score& score);
/// `total` is asked by position in `feasible`.
void log_totals(const model::Pod& pod, const cache::Snapshot& snapshot, std::span<const cache::Slot> feasible,
                const std::function<std::int64_t(std::size_t)>& total);

}  // namespace berth::cycle
