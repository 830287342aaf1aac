// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/cli/run_options.hpp"
#include "config/leader_election.hpp"

namespace berth::app {

/// Adds kube-scheduler's flags of leader election to a command. `election` outlives the parse.
/// Source: kubernetes v1.36 component-base/config/options/leaderelectionconfig.go.
void add_election_flags(CLI::App& command, RunOptions::LeaderElectionFlags& election);

/// Those that were given, by the field that they are laid over.
config::ElectionFlags given_election_flags(const RunOptions::LeaderElectionFlags& flags);

}  // namespace berth::app
