// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loader/plugin_loader.hpp"

namespace berth::app {

/// Leaves a breadcrumb while code of a file runs during loading, and takes down afterwards where it is mapped: a crash
/// in a constructor, or later in the plugin, is then reported with the file's name (observe/fatal_signal.hpp), and an
/// exit() as well (observe/exit_report.hpp). Signal handlers that the file's code replaced are put back.
loader::LoadHooks crash_reporting_hooks();

}  // namespace berth::app
