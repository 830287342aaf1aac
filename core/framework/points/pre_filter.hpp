// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"
#include "framework/view/candidate_nodes.hpp"

namespace berth::framework {

struct PreFilterResult {
  Verdict verdict;        // success, a rejection of the pod as a whole, or an error
  bool narrowed = false;  // some plugin named the only nodes that can fit
  model::PluginSet narrowed_by;
};

/// Where pre-filter plugins write which nodes can fit: they get all nodes of the snapshot in memory that they may change.
///
/// Each instance has memory of its own. One that does not narrow keeps it from pod to pod, since only that instance reads
/// it: plugins that never narrow cost no copy of all nodes. One that has narrowed gets a copy for each of its next
/// k_fresh_calls calls. Where it narrows what it got before, it is asked again with all nodes, because it may have
/// changed them then without saying so.
/// Threads: the scheduling thread.
class CandidateMemory {
 public:
  /// The memory of that instance, with all nodes of the snapshot unless it has changed them itself without saying so.
  std::uint64_t* lend(const PluginInstance& plugin);
  /// All nodes of the snapshot, whatever was done to it.
  std::uint64_t* lend_fresh(const PluginInstance& plugin);
  /// The instance has narrowed what it got last. True: that held all nodes for certain when it got it.
  bool narrowed(const PluginInstance& plugin);

 private:
  static constexpr std::uint32_t k_fresh_calls = 64;
  struct Lent {
    std::vector<std::uint64_t> nodes;
    std::uint64_t facts_generation = 0;  // of the snapshot
    std::uint32_t fresh_calls = 0;       // that get a copy, since it has narrowed
    bool fresh = false;                  // made again for the call at hand
  };
  boost::unordered_flat_map<const PluginInstance*, Lent> lent_;
};

/// Runs pre-filter. `candidates`, all snapshot nodes on entry, is narrowed to what the plugins named.
/// Skips are noted in the context. An Unschedulable answer does not stop the others (preemption needs their state), an
/// UnschedulableAndUnresolvable one does.
/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
PreFilterResult run_pre_filter(CycleContext& context, CandidateNodes& candidates, CandidateMemory& memory);

/// Fills in the node names that the sentence about narrowing needs: sorted, "[A B]".
std::string sorted_names(const PluginNames& names, const model::PluginSet& plugins);

}  // namespace berth::framework
