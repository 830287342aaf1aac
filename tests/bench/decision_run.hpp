// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "bench/workload.hpp"
#include "config/resolve.hpp"
#include "recording/recorder.hpp"

namespace berth::bench {

/// One pass over a workload's pods: pop, decide over every node, assume; gangs are popped and planned whole.
struct DecisionRun {
  std::vector<int> placements;             // by pod in the order decided: index of the node, -1 for none
  std::vector<std::uint32_t> allocations;  // by pod, or gang: calls of operator new from pop to the ticket's return
  double seconds = 0;
  double cpu_seconds = 0;        // of the thread that decides
  /// The same by slices of Recording::in_turns decisions, in turns: recorded and not recorded.
  std::vector<double> recorded_slices, other_slices;
  std::uint64_t violations = 0;  // with reuse "verify": where what was kept is not what a fresh computation finds

  std::size_t placed() const noexcept;
  /// Of the second half, when buffers have grown: the middle value, and the mean (which has what nodes' lists still
  /// grow by).
  std::uint32_t typical_allocations() const;
  double mean_allocations() const noexcept;
};

/// The policies linked into this program.
app::PluginLibrary linked_policies();
/// The default configuration as written, with gangs if wanted, or that of a file. Throws std::runtime_error.
config::RawConfiguration raw_configuration(bool gangs, const std::string& file = {});
/// The same for these plugins, with gangs if wanted. Throws std::runtime_error with what is wrong.
config::Configuration default_configuration(const app::PluginLibrary& plugins, config::VerdictReuse reuse,
                                            bool gangs = false, const std::string& file = {});
/// What records the decisions. A null recorder: nothing does; in_turns of 0: all of them are recorded, otherwise so many, then
/// as many are not, and so on.
struct Recording {
  recording::Recorder* recorder = nullptr;
  std::size_t in_turns = 0;
};
/// Throws std::runtime_error when no scheduler comes about.
DecisionRun run_decisions(const Workload& workload, SymbolTable& symbols, const config::Configuration& configuration,
                          const app::PluginLibrary& plugins, Recording recording = {});

}  // namespace berth::bench
