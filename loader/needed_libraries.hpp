// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "loader/findings.hpp"
#include "loader/plugin_file.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::loader {

/// A library that a plugin needs and that is not in the process yet.
struct NeededLibrary {
  std::string name;  // as DT_NEEDED has it
  PluginFile file;   // sealed when it lies in the plugin's directory; by its path when it is the system's
};

/// Where libraries may come from and what is asked of them.
struct LibrarySources {
  std::filesystem::path plugin_directory;  // resolved
  const std::vector<PluginPin>* pins = nullptr;
  bool require_pin = false;     // strict: libraries in the plugin directory must be pinned as well
  bool require_digest = false;  // with its sha256
  FileRules rules;
  std::vector<std::string> system_directories = {};  // empty: those of this process
};

/// Finds what a plugin needs as the dynamic linker would, but before it, so that nothing is loaded that was not judged
/// by the rules for plugins: next to the plugin ($ORIGIN), in $LD_LIBRARY_PATH, in /etc/ld.so.cache, in the directories
/// of the system. Loaded in this order, each is known to the dynamic linker by its name when the plugin asks for it,
/// and nothing is searched for.
///
/// Failure: findings about the library (P001–P006, P008, P026), or P020 when there is none. At most 256 libraries.
std::vector<NeededLibrary> find_needed_libraries(const PluginFile& plugin, const LibrarySources& sources,
                                                 LoadReport& report);

/// name -> paths, of every kind of machine, in a file that ldconfig writes; empty when it cannot be read.
std::multimap<std::string, std::string> read_library_cache(const std::filesystem::path& file);

}  // namespace berth::loader
