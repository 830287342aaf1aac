// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/cli/run_options.hpp"

namespace berth::app {

/// Schedules a live cluster until SIGTERM or SIGINT. Returns the exit status: 0 after a signal, 1 when it cannot start
/// or loses its lease.
int run_live(const RunOptions& options);

}  // namespace berth::app
