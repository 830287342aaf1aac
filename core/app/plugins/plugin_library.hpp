// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
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
  std::string unused_directory = {};  // that a configuration of others names, when it is not `directory`

  bool ok() const noexcept { return report.ok(); }
  config::PluginCatalog catalog() const;
  std::vector<framework::PluginSource> sources() const;
};

/// From where a configuration is: a file of the user's, or a recording or an answer of a scheduler, whose writer must not
/// choose whose code runs here.
enum class ConfiguredBy : std::uint8_t { user, others };

/// Loads the plugins that a configuration names. `plugin_dir` is --plugin-dir, or empty. Of others, the configuration
/// does not say where plugins are: plugins.directory is not used, and of plugins.files only the names in the directory
/// and the digests. What refuses files (strict, requireDigest, digests) holds in either case.
/// Isolated files are started with `berth`, a path; empty: this program, which has to be `berth`.
PluginLibrary load_plugins(const config::RawConfiguration& raw, const std::string& plugin_dir,
                           ConfiguredBy by = ConfiguredBy::user, const std::string& berth = {});
/// A sentence about the directory that was not used, for a warning; empty when there is none.
std::string unused_directory_note(const PluginLibrary& plugins, const std::string& source);

}  // namespace berth::app
