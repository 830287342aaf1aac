// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"

namespace berth::app {

/// What a recording says about the process that writes it, as JSON: versions, plugin files with their digests, and the
/// configuration without secrets. Requires: as config::completed_yaml().
std::string description_json(const config::RawConfiguration& raw, const config::Configuration& configuration,
                             const PluginLibrary& plugins);

/// The configuration in such a description, as YAML; empty: it has none.
std::string recorded_configuration(const std::string& description);

/// Plugins that were loaded from other files than those that such a description names, by their digests.
std::vector<std::string> changed_plugins(const std::string& description, const PluginLibrary& plugins);

/// Without passwords and keys.
config::Configuration without_secrets(config::Configuration configuration);

}  // namespace berth::app
