// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "app/cli/look_options.hpp"

namespace berth::app {

/// `berth ui`: serves the page until a signal ends it. Returns the exit status: 0 ended by a signal, 1 it cannot serve, or the
/// cluster cannot be looked at, 2 usage.
int run_ui(const UiOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
