// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/cli/look_options.hpp"

namespace CLI {
class App;
}

namespace berth::app {

/// The flags of `berth explain`.
void add_explain_flags(CLI::App& app, ExplainOptions& options);
/// Those of `berth ui`.
void add_ui_flags(CLI::App& app, UiOptions& options);

}  // namespace berth::app
