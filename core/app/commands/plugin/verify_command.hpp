// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "app/commands/plugin/plugin_command.hpp"

namespace berth::app {

struct PluginVerifyOptions : TestedFileOptions {
  std::vector<std::string> checks;   // "V04"; empty: all
  std::uint32_t limit_seconds = 60;  // for each part of a check
};

/// `berth plugin verify`: the contract of every point, checked by running the plugins of a file in processes of their own
/// (app/verify/plugin_checks.hpp lists what is checked). Returns the exit status: 0 all checks passed, 1 one failed, 2 a
/// check is named that there is not.
/// Requires: no other thread has been started.
int verify_plugin(const PluginVerifyOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
