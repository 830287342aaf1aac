// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "observe/log.hpp"

namespace CLI {
class App;
}

namespace berth::app {
struct RunOptions;

/// Adds those flags of kube-scheduler that are about the log. `options` outlives the parse.
void add_log_flags(CLI::App& command, RunOptions& options);

/// Reads "binder=4,http_*=6". Levels of 0 ask for nothing and are left out.
Result<std::vector<observe::LogModule>> read_log_modules(std::string_view text);

}  // namespace berth::app
