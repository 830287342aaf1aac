// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "isolation/plugin_program.hpp"

namespace berth::isolation {

/// The process of one instance of an isolated plugin: `berth plugin-host --child`, with the shared memory as descriptor 3.
/// It gives up what it does not need (confine/stranger.hpp), loads the file, describes it in the memory, gives up the rest,
/// and carries out requests until it is ended. Answers an exit status; does not return while all is well.
int run_plugin_process(const PluginProgram& program);

}  // namespace berth::isolation
