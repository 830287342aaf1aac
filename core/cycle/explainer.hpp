// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/node_row.hpp"
#include "framework/verdict.hpp"
#include "model/pod.hpp"

namespace berth::cycle {

class SchedulingCycle;

/// What a filter says about a node that it rejects, beyond its reasons.
struct ExplanationDetail {
  std::string text;
  std::uint64_t count = 0;  // of so many things of the node
};
/// One node in an explanation.
struct NodeExplanation {
  std::string node;
  framework::Code code = framework::Code::success;
  std::string plugin;                           // rejected: who; an extender by its URL
  std::vector<std::string> reasons;             // rejected: why
  std::int64_t total = 0;                       // feasible: weighted sum
  std::vector<std::int64_t> scores = {};        // feasible: weight * score, by Explanation::scorers
  std::vector<ExplanationDetail> details = {};  // rejected: when they were asked for
};
/// What an explanation has beyond verdicts, reasons and scores.
struct ExplainWith {
  bool details = false;    // filters are asked for more than reasons, which may cost them far more time
  bool nominated = false;  // nodes are judged as in a decision, with the pods that are nominated to them and go first
  bool scores = true;      // of each plugin; the sum is always there
};

/// Every node judged, without sampling or early stop, and without nominated pods unless they are asked for: a pass of
/// its own.
struct Explanation {
  std::optional<NodeExplanation> pod_rejection;  // pre-filter rejected the pod; node is "*"
  std::vector<NodeExplanation> nodes;            // those that pre-filter left, in list order; then what extenders added
  std::vector<std::string> scorers;              // who scored: plugins, then extenders by their URLs
  std::string error;                             // scoring failed
};

/// Where one node stands among those that fit a pod, without words: what is asked thousands of times.
struct Standing {
  bool fits = false;
  std::int64_t score = 0, best = 0;  // weighted sums; the best of those that fit and are not left out
  std::vector<cache::Slot> better;   // than the node; all that fit, where it does not. The best first

  bool is_among_best() const noexcept { return fits && score == best; }
};
struct StandingWith {
  bool nominated = false;                      // as in ExplainWith
  std::span<const cache::Slot> left_out = {};  // nodes that are not compared with
};

/// Judges every node for one pod with words, by the passes of a cycle, and decides nothing.
/// Lifetime: the cycle outlives it. Threads: the cycle's.
class Explainer {
 public:
  explicit Explainer(SchedulingCycle& cycle) : cycle_(cycle) {}

  /// With a fresh state of the plugins.
  Explanation explain(const model::PodPtr& pod, ExplainWith with);
  /// As explain() has it of this node, at a fraction of the cost. A pod that is rejected as a whole, and what breaks, are
  /// a node that does not fit.
  Standing stand(const model::PodPtr& pod, cache::Slot node, const StandingWith& with);

 private:
  /// Which of the nodes are scored, and which is left out, in the words of those who said so. `place_of`: by slot, in
  /// the explanation; nodes that only an extender named are added.
  void explain_extenders(const model::Pod& pod, Explanation& explanation, std::vector<cache::Slot>& feasible,
                         std::vector<std::size_t>& place_of);

  SchedulingCycle& cycle_;
};

}  // namespace berth::cycle
