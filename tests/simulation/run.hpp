// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "simulation/world.hpp"

namespace berth::simulation {

/// A world that was run to its end, or to the rule that it broke.
struct Ran {
  int status = 0;  // as waitpid() has it
  WorldResult result;
  std::string story;  // the last that happened; only when a rule is broken

  bool is_good() const noexcept { return status == 0; }
};

/// In a process of its own.
Ran run_world(const WorldOptions& options);

/// Leaves out of a broken history what it is not broken for: faults and batches of pods, in halves, quarters and so on.
/// What is left breaks the same rule. `tries_max`: worlds that are run for it.
WorldOptions shorten(WorldOptions options, const Ran& broken, std::size_t tries_max,
                     const std::function<void(std::size_t tries, std::size_t left)>& tell);

/// A history as a file of found/ holds it.
std::string history_text(const WorldOptions& options, const WorldResult& result);
/// Into `options`: seed, replicas and so on. Ends the program when it cannot be read.
void read_history(const std::string& path, WorldOptions& options);

}  // namespace berth::simulation
