// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cycle/scheduling_cycle.hpp"
#include "model/pod.hpp"
#include "report/shared_texts.hpp"

namespace berth::report {

/// A node and what it was given.
using NodeScore = std::pair<std::string, std::int64_t>;

/// One decision about one pod, as reports show it. There may be many: what most of them lack takes a word.
struct Decision {
  model::PodPtr pod;
  model::SharedText node;                 // empty: none
  model::SharedText message;              // why not, without the post-filter's part
  model::SharedText post_filter_message;  // may be empty
  model::SharedText nominated_node;
  model::SharedList<std::string> victims;  // "namespace/name", sorted; without those that are terminating already
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
  framework::Code code = framework::Code::success;
  std::shared_ptr<const preemption::PreemptionReport> preemption;  // who would go, and why these; null: no pod has to
  model::SharedText pre_bind;                       // "waiting", or why pre-bind failed; empty: it did not
  model::SharedText claims;                         // of the pod, as JSON: after the attempt; may be empty
  std::unique_ptr<cycle::Explanation> explanation;  // made just before the attempt, when asked for
  model::SharedList<NodeScore> top_scores;          // see keep_top_scores()
};

/// What a cycle said about a pod.
Decision describe(const model::PodPtr& pod, const cycle::Outcome& outcome, const SymbolTable& symbols,
                  const cache::ClusterCache& cache);

/// Takes from `texts` what other decisions say as well.
void share_texts(Decision& decision, SharedTexts& texts);

/// Keeps of an explanation's scores what tables show: the best nodes, at most three, earlier ones before their equals.
void keep_top_scores(Decision& decision);

/// The records of decisions as JSON: {"decisions": [...], "scheduler": "berth …"}; fields of a record: pod, node,
/// message, evaluatedNodes, feasibleNodes, rejected, scores, nominatedNode, victims, postFilterMessage, preBind, claims.
std::string decisions_json(const std::vector<Decision>& decisions);

// The same piece by piece: a line for each decision, for people who look for one.
std::string decisions_head();
inline constexpr std::string_view k_decisions_end = "\n]}\n";
/// Appends a decision's line. Returns where in `out` claims belong that are known only later: see claims_member().
std::size_t append_decision(std::string& out, const Decision& decision, bool is_first);
/// Claims (not empty) as they stand in a line.
std::string claims_member(std::string_view claims);

}  // namespace berth::report
