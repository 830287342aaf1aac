// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "loader/plugin_file.hpp"

namespace berth::loader {

/// Reads `bytes` as ELF and adds to `file` what they say and what is wrong with it: P005–P008, P022.
/// The answer is empty when the bytes cannot be read on. Its views point into `bytes`.
std::optional<ElfFile> judge_elf(std::span<const std::byte> bytes, const HostMachine& host, PluginFile& file);

/// Adds the notes and what is wrong with them: P007, P010–P015, P017, P044.
void judge_notes(const ElfFile& elf, const FileRules& rules, PluginFile& file);

}  // namespace berth::loader
