// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <system_error>

#include "loader/plugin_loader.hpp"

namespace berth::loader {

namespace fs = std::filesystem;

PluginDirectoryChoice PluginDirectoryChoice::of_this_process() {
  PluginDirectoryChoice choice;
  if (const char* const directory = std::getenv("BERTH_PLUGIN_DIR")) choice.environment = directory;
  std::error_code failed;
  const fs::path binary = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return choice;
  choice.installed = binary.parent_path().parent_path() / "lib" / "berth" / "plugins";
  choice.built = binary.parent_path() / "plugins";
  return choice;
}

PluginDirectory choose(const PluginDirectoryChoice& choice) {
  std::error_code ignored;
  if (!choice.flag.empty()) return {choice.flag, "--plugin-dir", {}};
  if (!choice.configured.empty()) return {choice.configured, "plugins.directory", choice.configured_where};
  if (!choice.environment.empty()) return {choice.environment, "$BERTH_PLUGIN_DIR", {}};
  if (fs::is_directory(choice.installed, ignored)) return {choice.installed, "installed", {}};
  if (fs::is_directory(choice.built, ignored)) return {choice.built, "build tree", {}};
  return {choice.installed, "installed", {}};
}

}  // namespace berth::loader
