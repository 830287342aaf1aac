// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/simulate/pod_changes.hpp"
#include "report/what_if/fit_report.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// What would make a pending pod fit: changes it, or a node, one thing at a time, and asks all policies about all nodes
/// again. It knows fields of pods and nodes, and no policy.
///
/// Place:   behind `berth simulate --explain`, when the simulation is over. Changes to nodes are made in the cache and taken
///          back before a call returns. Cost: up to `questions_max` judgements of all nodes; some dozens as a rule.
/// Threads: one, which also owns cycle and cache. All parts outlive it.
/// Departs: extenders and what else reads a pod's JSON see the pod before its change; a node that is new has no devices, and
///          a pod that is tried away keeps its claims. Nominated pods are not counted, as in SchedulingCycle::explain().
///          Several pods of lower priority are not tried at once: that is preemption's.
class FitSearch {
 public:
  /// `goes_on`: looked at before each judgement; once it says no, the search is over, and not complete. Empty: always.
  FitSearch(const scheduler::DecisionParts& parts, SymbolTable& symbols, std::size_t questions_max = 512,
            std::function<bool()> goes_on = {})
      : parts_(parts), symbols_(symbols), questions_max_(questions_max), goes_on_(std::move(goes_on)) {}

  /// `why_not`: a node that is asked about by itself; empty: none is. An unknown one is an Error.
  Result<report::FitReport> search(const model::PodPtr& pod, std::string_view why_not = {});

 private:
  /// Nodes on which a pod fits, in list order.
  using Places = std::vector<std::string>;
  using Relaxed = std::function<PodChange(const model::Pod& pod)>;
  /// A node with the requests that it has room for, and how much of the largest cut that takes.
  struct Cut {
    double part = 0;
    std::string node;
    std::vector<RequestStep> steps;
  };

  cycle::Explanation explain(const model::PodPtr& pod);
  Places places(const model::PodPtr& pod);
  bool may_ask() const { return asked_ < questions_max_ && (!goes_on_ || goes_on_()); }
  /// Adds the change when the pod fits somewhere with it.
  bool try_change(const PodChange& change);
  void add(const PodChange& change, const Places& where);

  void try_requests(const model::Pod& pod);
  void try_one_request(const model::Pod& pod, std::size_t place);
  void try_requests_together(const model::Pod& pod);
  std::vector<Cut> cuts(const model::Pod& pod) const;
  void try_taints(const model::Pod& pod);
  void try_spread(const model::Pod& pod);
  void try_removals(const model::Pod& pod);
  void try_uncordoning(const model::PodPtr& pod);
  void try_evictions(const model::PodPtr& pod, const cycle::Explanation& before);
  void try_new_nodes(const model::PodPtr& pod);
  bool fits_on_new_node(const model::PodPtr& pod, const cache::NodeRow& like);

  report::NodeFit all_of(const model::PodPtr& pod, const cache::NodeRow& row, const cycle::Explanation& before);
  /// Ways to relax a pod for one node, a kind of thing each.
  std::vector<Relaxed> relaxations(const model::Pod& pod, const cache::NodeRow& row) const;
  const cache::NodeRow* row_of(std::string_view node) const;

  const scheduler::DecisionParts parts_;
  SymbolTable& symbols_;
  const std::size_t questions_max_;
  const std::function<bool()> goes_on_;
  std::size_t asked_ = 0;
  std::vector<report::FitOption> options_;
};

}  // namespace berth::app
