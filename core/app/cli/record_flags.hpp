// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "app/cli/record_options.hpp"

namespace CLI {
class App;
}

namespace berth::app {

/// What is called when the command line names it; the answer is the exit status.
struct RecordCommands {
  std::function<int(const RecordOptions&options)> info, cut, print;
};

/// `berth record` with its commands. `status` gets what the program is to end with; both outlive the parsing.
void add_record_commands(CLI::App& program, const RecordCommands& commands, int& status);
/// `berth replay`; likewise.
void add_replay_command(CLI::App& program, const std::function<int(const ReplayOptions& options)>& run, int& status);

}  // namespace berth::app
