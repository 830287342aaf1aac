// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/points/filter.hpp"
#include "framework/verdict.hpp"
#include "model/plugin_set.hpp"

namespace berth::cycle {

/// Why no node fits: verdicts per node, counted and worded as upstream does.
/// Source: kubernetes v1.36 staging/src/k8s.io/kube-scheduler/framework/types.go (FitError, Diagnosis).
struct Diagnosis {
  std::uint32_t node_count = 0;                  // of the snapshot; 1 for a rejection by reserve or permit
  std::uint32_t explicit_count = 0;              // nodes with a verdict of their own
  std::map<std::string, std::uint32_t> reasons;  // by sentence; what add() took in is counted apart
  framework::Code absent_code = framework::Code::unresolvable;  // of nodes without one
  std::vector<std::string> absent_reasons;
  std::string pre_filter_message;
  model::PluginSet unschedulable_plugins, pending_plugins;
  /// By slot; filled for post-filter.
  std::vector<std::uint64_t> unschedulable, unresolvable;

  /// Takes one node's rejection in.
  void add(cache::Slot slot, const framework::NodeVerdict& verdict);
  /// Takes another plugin's rejection of a node in that add() has seen: one more reason, and if it is unresolvable, so
  /// is the node.
  void add_further(cache::Slot slot, const framework::NodeVerdict& verdict);
  /// Takes in what an extender says about a node; k_no_slot: one that is not there.
  void add(cache::Slot slot, framework::Code code, const std::string& reason);
  /// "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)."
  std::string message() const;
  /// Nodes without a verdict of their own get the one that they share. `nodes`: by slot, those that are there.
  void complete(const std::uint64_t* nodes, std::size_t word_count);
  /// What it has allocated, about; its own size is not in it.
  std::size_t bytes() const noexcept;

 private:
  void mark(cache::Slot slot, framework::Code code);

  /// Few kinds of rejection account for all nodes: they are counted by number and put into words once.
  struct Tally {
    const framework::PluginInstance* plugin;
    berth_reason reason;
    std::uint32_t count;
  };
  void count(const framework::NodeVerdict& verdict);

  std::vector<Tally> tallies_;
};

/// Why pods of a class fit nowhere, in words and by node: made once for all of them.
struct KeptDiagnosis {
  Diagnosis diagnosis;  // complete
  std::string message;
};

}  // namespace berth::cycle
