// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/cli/run_options.hpp"
#include "app/plugins/plugin_library.hpp"
#include "config/profile.hpp"
#include "confine/needs.hpp"
#include "net/endpoint.hpp"

namespace berth::app {

/// Where the files and ports that a run needs are named.
struct RunParts {
  const RunOptions& options;
  const FlagValues& flags;
  const config::Configuration& configuration;
  const PluginLibrary& plugins;
  /// API servers, those of reviews among them; null: none.
  std::vector<std::shared_ptr<const net::Endpoint>> servers;
  std::string recorder_directory = {};  // empty: nothing is recorded
};

/// What a run goes on to need when configuration, plugins, kubeconfigs and serving keys have been read: credentials and
/// certificates, which are read again when they change, and whom it connects to.
confine::Needs needs_of(const RunParts& parts);

/// Confines this process as --sandbox says, and logs what holds. Before any thread is started. Failure: --sandbox=enforce
/// was given and cannot be had, or --sandbox-read or --sandbox-write name what does not exist; says what and why.
Status confine_run(const RunParts& parts);

}  // namespace berth::app
