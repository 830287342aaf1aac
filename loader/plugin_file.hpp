// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "berth/abi/version.h"
#include "loader/elf/plugin_note.hpp"
#include "loader/findings.hpp"
#include "loader/host_machine.hpp"
#include "loader/judged_bytes.hpp"
#include "loader/signature.hpp"

namespace berth::loader {

/// What can be known of a plugin file without running any of it. Owns all its text.
struct PluginFile {
  using FindingList = std::vector<Finding>;
  std::string path;      // resolved; as asked for when it could not be resolved
  std::string asked_as;  // the entry of the directory, or the path of plugins.files
  std::string config;    // where the configuration names it; may be empty
  OpenFile open;         // the file that was judged, for comparison with what gets mapped
  OpenFile sealed;       // the bytes that were judged, which cannot be changed; none where the kernel cannot do it
  std::uint64_t size_bytes = 0;
  std::string sha256;
  std::string build_id;
  std::string machine;
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> search_below_origin;  // "" for $ORIGIN, "/lib" for $ORIGIN/lib
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
  bool allow_draft_interfaces = false;
  std::uint16_t abi_minor = BERTH_ABI_MINOR;  // what the host implements
  bool strict = false;                        // a read-only mount excuses no mode; only sealed bytes may load
  bool seal = false;                          // keep the judged bytes for loading; else they are only looked at
  bool kernel_seals = true;                   // false: as on a kernel that has no sealed memory
  /// Files with a signature need one of these; with `strict`, so does every file without a pinned digest. None: signatures
  /// are not looked at.
  std::vector<PublicKey> public_keys = {};
};

/// What a file of the plugin directory is: a plugin, or a library that plugins need.
enum class FileKind : std::uint8_t { plugin, library };

/// The file as it stands in the plugin directory: resolved, owner and modes from the root down to the file (P001–P003,
/// P009), digest (P004 against `pinned_sha256` unless that is empty), signature (P028), ELF (P005–P008, P022), and of a plugin note and
/// entry symbol (P010–P017, P044). With `rules.seal`, `sealed` has the bytes that all this was said of; P026 when they
/// must be sealed and cannot be.
/// The root itself is where the checks begin: directories above it are the affair of the operator who chose it.
/// Failure: in `findings`; what could be read is filled in all the same.
PluginFile judge_in_directory(const std::filesystem::path& file, const std::filesystem::path& root,
                              const std::string& pinned_sha256, const std::string& config, const FileRules& rules,
                              FileKind kind = FileKind::plugin);

/// The same without directory, owner and mode: for looking at a file that lies anywhere.
PluginFile judge_alone(const std::filesystem::path& file, const FileRules& rules);

/// A library of the system: owner and modes of everything on the way to it, from the root of the file system; and what
/// it needs in turn. `search` gets the folders of its RUNPATH.
PluginFile judge_system_library(const std::filesystem::path& file, const FileRules& rules,
                                std::vector<std::string>& search);

/// Lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace berth::loader
