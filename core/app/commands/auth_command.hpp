// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "app/commands/access_rules.hpp"
#include "app/plugins/plugin_library.hpp"

namespace berth::app {

struct AuthCheckOptions {
  std::string config, kubeconfig, master, plugin_dir;
};

/// What a running berth with this configuration asks the API server for: the host's own requests, and those that the
/// enabled plugins declare. What a plugin declares that cannot be read as a rule goes to `unreadable`.
std::vector<AccessRule> needed_rules(const config::Configuration& configuration, const PluginLibrary& plugins,
                                     std::vector<std::string>& unreadable);

/// `berth auth check`: asks the API server, as the user of the kubeconfig, about each of needed_rules(). Prints a
/// line for every rule that is missing and roles that would grant them. Returns 0: nothing is missing, 1: something is,
/// or it could not be asked.
int run_auth_check(const AuthCheckOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
