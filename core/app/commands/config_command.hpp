// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/plugin_catalog.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "text/diagnostics.hpp"

/// `berth config check`, `berth config convert` and `berth config defaults`.
namespace berth::app {

/// How the commands get at plugins; the wiring fills it in.
struct PluginAccess {
  /// Loads the plugins that a configuration needs and says what they offer. An Error is the loader's whole report.
  std::function<Result<config::PluginCatalog>(const config::RawConfiguration&)> load;
  /// Makes every plugin of every profile and drops it again: a plugin may refuse args that its schema lets pass. May be
  /// empty.
  std::function<text::Diagnostics(const config::Configuration&)> try_out;
};

/// Checks each file for itself: one line on `out` for a good one, everything that is wrong on `err`. Returns the exit
/// status: 0 when all are good, 1 otherwise.
int run_config_check(const std::vector<std::string>& files, const PluginAccess& plugins, std::ostream& out,
                     std::ostream& err);

/// Prints what a configuration of an older scheduler means today, or, with `modern`, what comes nearest to it with the
/// policies of today; needs no plugin. Returns the exit status.
int run_config_convert(const std::string& file, bool modern, std::ostream& out, std::ostream& err);

/// Prints the configuration that an empty one stands for. Returns the exit status.
int run_config_defaults(const PluginAccess& plugins, std::ostream& out, std::ostream& err);

}  // namespace berth::app
