// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "loader/findings.hpp"
#include "loader/host_machine.hpp"
#include "loader/plugin_note.hpp"

namespace berth::loader {

/// An open file that closes itself. Move-only.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) noexcept : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();
  int fd() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// What can be known of a plugin file without running any of it. Owns all its text.
struct PluginFile {
  using FindingList = std::vector<Finding>;
  std::string path;      // resolved; as asked for when it could not be resolved
  std::string asked_as;  // the entry of the directory, or the path of plugins.files
  std::string config;    // where the configuration names it; may be empty
  OpenFile open;         // the file that was judged, for comparison with what gets mapped
  std::uint64_t size_bytes = 0;
  std::string sha256;
  std::string build_id;
  std::string machine;
  std::vector<std::string> needed;
  std::vector<std::string> exported;
  std::size_t exported_count = 0;
  std::vector<PluginNote> notes;
  FindingList findings;  // empty: may be loaded
  std::vector<std::string> warnings;

  /// A finding of this code about this file, with what is known of it filled in.
  Finding finding(std::string_view code) const;
};

/// What judging compares a file with.
struct FileRules {
  HostMachine machine;
  std::string product;                     // "berth 0.1.0"
  std::vector<std::string> host_services;  // empty: services are not compared (inspect)
  bool compare_services = true;
  bool allow_draft_interfaces = true;
};

/// The file as it stands in the plugin directory: resolved, owner and modes from the root down to the file (P001–P003,
/// P009), digest (P004 against `pinned_sha256` unless that is empty), ELF (P005–P008, P022), note and entry symbol
/// (P010–P017, P044).
/// The root itself is where the checks begin: directories above it belong to whoever chose it.
/// Failure: in `findings`; what could be read is filled in all the same.
PluginFile judge_in_directory(const std::filesystem::path& file, const std::filesystem::path& root,
                              const std::string& pinned_sha256, const std::string& config, const FileRules& rules);

/// The same without directory, owner and mode: for looking at a file that lies anywhere.
PluginFile judge_alone(const std::filesystem::path& file, const FileRules& rules);

/// Lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace berth::loader
