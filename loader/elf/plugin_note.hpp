// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/elf/elf_file.hpp"

namespace berth::loader {

/// One note of a file: what it says about one plugin. Text is as found; escape it before showing it.
struct PluginNote {
  std::uint16_t abi_major = 0;
  std::uint16_t minor_built = 0;
  std::uint16_t minor_required = 0;
  std::uint16_t data_model = 0;
  std::string plugin;
  std::string version;
  std::vector<std::string> points;    // "berth.filter/1"
  std::vector<std::string> services;  // required
  std::vector<std::string> watches;   // "core/v1/services"
  std::vector<std::string> rbac;      // "create core/pods/binding"
  std::string sdk;
  std::string compiler;
  std::string isa;
};

struct PluginNotes {
  std::vector<PluginNote> plugins;
  std::vector<std::string> defects;  // sentences about notes of ours that cannot be read
};

/// The notes of owner "berth" (sdk/include/berth/abi/note.h says how they are built). Other notes are passed over.
PluginNotes read_plugin_notes(const ElfFile& file);

/// "RackSpread" or "example.com/RackSpread": letters, digits, '.', '_', '-' on both sides of at most one '/'.
bool is_plugin_name(std::string_view name);

}  // namespace berth::loader
