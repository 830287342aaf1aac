// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "app/cli/simulate_options.hpp"

namespace berth::app {

/// `berth simulate`. Returns the exit status: 0 done, 1 bad input, 2 usage, 3 pods pending with fail_on_pending.
int run_simulate(const SimulateOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
