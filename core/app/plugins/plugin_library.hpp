// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/product.hpp"
#include "config/absent_plugins.hpp"
#include "config/plugin_catalog.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "framework/plugin_instance.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::app {

/// What this host can do for plugins.
loader::HostOffer host_offer();

/// Plugins in the process, ready for a framework: what the loader found, in the words of config and framework.
struct PluginLibrary {
  loader::LoadedPlugins plugins;
  loader::LoadReport report;
  loader::PluginDirectory directory;

  bool ok() const noexcept { return report.ok(); }
  config::PluginCatalog catalog() const;
  std::vector<framework::PluginSource> sources() const;
};

/// Loads the plugins that a configuration names. `plugin_dir` is --plugin-dir, or empty.
PluginLibrary load_plugins(const config::RawConfiguration& raw, const std::string& plugin_dir);

}  // namespace berth::app
