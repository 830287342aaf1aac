// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace berth::app {

/// `berth plugin-host`, which berth itself runs for plugins with `isolation: process`. Not listed by --help; sdk/docs/isolation.md
/// says what it is. `argv`: of main().
void add_plugin_host_command(CLI::App& cli, char* const* argv, int& status);

}  // namespace berth::app
