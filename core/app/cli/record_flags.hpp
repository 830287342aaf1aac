// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace berth::app {

/// `berth record` with its commands. `status` gets what the program is to end with; both outlive the parsing.
void add_record_commands(CLI::App& program, int& status);
/// `berth replay`; likewise.
void add_replay_command(CLI::App& program, int& status);

}  // namespace berth::app
