// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cycle/scheduling_cycle.hpp"
#include "model/pod.hpp"

namespace berth::report {

/// One decision about one pod, as reports show it.
struct Decision {
  model::PodPtr pod;
  std::string node;                 // empty: none
  std::string message;              // why not, without the post-filter's part
  std::string post_filter_message;  // may be empty
  std::string nominated_node;
  std::vector<std::string> victims;  // "namespace/name", sorted; without those that are terminating already
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
  framework::Code code = framework::Code::success;
  std::optional<preemption::PreemptionReport> preemption;  // who would go, and why these
  std::string pre_bind;                                    // "waiting", or why pre-bind failed; empty: it did not
  std::string claims;  // of the pod, as JSON: after the attempt, or at the end of a simulation; may be empty
  std::unique_ptr<cycle::Explanation> explanation;  // made just before the attempt, when asked for
};

/// What a cycle said about a pod.
Decision describe(const model::PodPtr& pod, const cycle::Outcome& outcome, const SymbolTable& symbols,
                  const cache::ClusterCache& cache);

/// The records of decisions as JSON: {"decisions": [...], "scheduler": "berth …"}; fields of a record: pod, node,
/// message, evaluatedNodes, feasibleNodes, rejected, scores, nominatedNode, victims, postFilterMessage, preBind, claims.
std::string decisions_json(const std::vector<Decision>& decisions);

}  // namespace berth::report
