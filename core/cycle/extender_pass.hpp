// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cycle/diagnosis.hpp"
#include "extender/extenders.hpp"
#include "framework/view/candidate_nodes.hpp"

namespace berth::cycle {

/// What extenders say about the nodes of one pod, in slots.
///
/// Place:   behind the filter and score passes of a cycle; without extenders it does nothing.
/// Threads: the scheduling thread, which waits for the answers.
class ExtenderPass {
 public:
  ExtenderPass(const framework::Host& host, extender::Extenders* extenders) : host_(host), extenders_(extenders) {}

  /// Some extender does that, for whatever pods.
  bool any_filters() const noexcept { return extenders_ != nullptr && extenders_->any_filters(); }
  bool any_prioritizes() const noexcept { return extenders_ != nullptr && extenders_->any_prioritizes(); }
  /// Some extender has a say about this pod's nodes.
  bool judges(const model::Pod& pod) const noexcept { return extenders_ != nullptr && extenders_->judges(pod); }

  /// Another pod: nothing was said yet.
  void begin() {
    said_.clear();
    unknown_.clear();
  }
  /// Leaves those in `feasible` that all extenders let through; one that names its nodes as objects may add others of
  /// the snapshot. After a failure `feasible` is as it was.
  Status filter(const model::Pod& pod, std::vector<cache::Slot>& feasible);
  /// Nodes that were rejected by name since begin(), those outside `counted` (by slot) and the snapshot.
  std::uint32_t rejected_outside(const std::vector<std::uint64_t>& counted) const;
  /// Takes the nodes out of `candidates` whose verdict is an extender's.
  void leave_out(framework::CandidateNodes& candidates) const;
  /// Adds what was said since begin().
  void add_to(Diagnosis& diagnosis) const;
  /// Null unless an extender rejected the node by name.
  const extender::Extenders::NodeRejection* said_about(cache::Slot slot) const;

  /// Adds to the totals, which are parallel to `feasible`, and says who is best: 2, or 1 where no extender said
  /// something about an equal one, or 0. Fails when the wait was cancelled. Requires: judges(pod).
  /// Source: kubernetes v1.36 pkg/scheduler/schedule_one.go (prioritizeNodes, selectHost).
  Result<std::vector<std::int64_t>> ranks(const model::Pod& pod, std::span<const cache::Slot> feasible,
                                          std::vector<std::int64_t>& totals);
  /// The last ranks(), extender by extender.
  const std::vector<extender::Extenders::Score>& scores() const noexcept { return scores_; }

 private:
  const framework::Host& host_;
  extender::Extenders* const extenders_;
  std::map<cache::Slot, extender::Extenders::NodeRejection> said_;
  std::map<std::string, extender::Extenders::NodeRejection> unknown_;  // by name: nodes that are not there
  std::vector<extender::Extenders::Score> scores_;
};

}  // namespace berth::cycle
