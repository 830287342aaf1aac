// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/cli/simulate_options.hpp"

namespace CLI {
class App;
}

namespace berth::app {

/// The flags of `berth simulate`, which fill `options` when the command line is parsed. It outlives `app`.
void add_simulate_flags(CLI::App& app, SimulateOptions& options);
/// The changes of the cluster in the order in which the parsed command line names them. Throws CLI::ValidationError.
void take_changes(const CLI::App& app, SimulateOptions& options);

}  // namespace berth::app
