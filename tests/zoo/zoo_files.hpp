// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace berth::zoo {

/// The bytes of a file; empty where it cannot be read.
std::string content_of(const std::filesystem::path& path);

/// A plugin directory for one case: made with safe modes, removed at the end.
class PluginFolder {
 public:
  PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  ~PluginFolder();

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Copies an animal of the build, or what an earlier call made, with mode 0644.
  void add(const std::string& animal, const std::string& as = "animal.so") const;
  void write(const std::string& content, const std::string& as = "animal.so") const;
  /// The animal's bytes changed by the caller: cut, patched.
  static std::string bytes_of(const std::string& animal);

 private:
  std::filesystem::path top_;  // a directory of its own, so that cases can put things outside of path_
  std::filesystem::path path_;
};

struct Ending {
  std::string output;  // what was captured, as it came
  std::string how;     // "exit 1", "killed by SIGSEGV"
};

enum class Capture { all, errors_only };

/// Runs a program to its end. Requires: words[0] is its path.
Ending run(const std::vector<std::string>& words, Capture capture = Capture::all);

/// Output with what differs from machine to machine, or from build to build, replaced: the folder by /plugins, digests,
/// build ids, addresses, versions of SDK and ABI.
std::string normalised(std::string output, const PluginFolder& folder);

}  // namespace berth::zoo
