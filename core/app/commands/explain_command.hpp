// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "app/cli/look_options.hpp"

namespace berth::app {

/// `berth explain`. Returns the exit status: 0 explained, 1 it could not be, 2 usage, 3 the pod is pending or gated, with
/// fail_on_pending.
int run_explain(const ExplainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
