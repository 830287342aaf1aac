// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <iosfwd>

#include "app/simulate/cluster_view.hpp"

namespace berth::app {

struct UiOptions {
  ViewOptions view;
  std::uint16_t port = 0;  // of the loopback; 0: any free one
};

/// `berth ui`: serves the page until a signal ends it. Returns the exit status: 0 ended by a signal, 1 it cannot serve, or the
/// cluster cannot be looked at, 2 usage.
int run_ui(const UiOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
