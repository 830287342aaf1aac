// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "app/cli/record_options.hpp"

namespace berth::app {

/// `berth replay`. Decides the recording again, with its own configuration: each decision has to come out as it was.
/// With another configuration, counts the decisions that would have been others, and shows both side by side. Returns
/// the exit status: 0 done; 1 a decision differs under the recording's own configuration, none could be made again
/// although some were recorded, or the recording cannot be read.
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
