// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

struct PreFilterResult {
  Verdict verdict;        // success, a rejection of the pod as a whole, or an error
  bool narrowed = false;  // some plugin named the only nodes that can fit
  std::size_t left = 0;   // candidates that are left; only set where narrowed

  /// Nodes that take part, of so many.
  std::size_t taking_part(std::size_t node_count) const noexcept { return narrowed ? left : node_count; }

  model::PluginSet narrowed_by;
};

/// Runs pre-filter. `candidates` (by slot, all snapshot nodes on entry) is narrowed to what the plugins named.
/// Skips are noted in the context. An Unschedulable answer does not stop the others (preemption needs their state), an
/// UnschedulableAndUnresolvable one does.
/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
PreFilterResult run_pre_filter(CycleContext& context, std::uint64_t* candidates, std::size_t word_count,
                               std::vector<std::uint64_t>& scratch);

/// Fills in the node names that the sentence about narrowing needs: sorted, "[A B]".
std::string sorted_names(const PluginNames& names, const model::PluginSet& plugins);

}  // namespace berth::framework
