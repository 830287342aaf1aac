// SPDX-License-Identifier: Apache-2.0
#include "loader/elf/plugin_note.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/result.hpp"
#include "berth/abi/note.h"

namespace berth::loader {
namespace {

constexpr std::size_t k_head_bytes = 4 * sizeof(std::uint16_t);
constexpr std::size_t k_entries_max = 512;
constexpr std::size_t k_name_bytes_max = 317;  // 253 for the domain, '/', 63 for the name

std::uint16_t number_at(std::span<const std::byte> bytes, std::size_t offset, bool big_endian) {
  const auto first = std::to_integer<unsigned>(bytes[offset]);
  const auto second = std::to_integer<unsigned>(bytes[offset + 1]);
  return static_cast<std::uint16_t>(big_endian ? first << 8 | second : second << 8 | first);
}

/// A key that a later minor brings is passed over; one that stands for a single value comes once.
Status take_entry(PluginNote& note, std::string_view key, std::string value) {
  if (key == "points")
    note.points.push_back(std::move(value));
  else if (key == "service")
    note.services.push_back(std::move(value));
  else if (key == "watch")
    note.watches.push_back(std::move(value));
  else if (key == "rbac")
    note.rbac.push_back(std::move(value));
  std::string* const once = key == "plugin"     ? &note.plugin
                            : key == "version"  ? &note.version
                            : key == "sdk"      ? &note.sdk
                            : key == "compiler" ? &note.compiler
                            : key == "isa"      ? &note.isa
                                                : nullptr;
  if (once == nullptr) return Unit{};
  if (!once->empty()) return Error{fmt::format("a note with more than one {}= entry", key)};
  *once = std::move(value);
  return Unit{};
}

/// The "key=value" strings.
Status read_entries(std::string_view rest, PluginNote& note) {
  std::size_t entries = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return Error{"the last entry of the note has no end"};
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (entry.empty()) continue;  // padding
    if (++entries > k_entries_max) return Error{fmt::format("more than {} entries in one note", k_entries_max)};
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos)
      return Error{fmt::format("an entry without '=' in the note: {}", entry.substr(0, 80))};
    if (Status taken = take_entry(note, entry.substr(0, equals), std::string(entry.substr(equals + 1))); !taken.ok())
      return taken;
  }
  if (note.plugin.empty()) return Error{"a note without plugin= entry"};
  return Unit{};
}

Result<PluginNote> read_note(std::span<const std::byte> bytes, bool big_endian) {
  if (bytes.size() < k_head_bytes)
    return Error{fmt::format("a note of {} bytes, at least {} expected", bytes.size(), k_head_bytes)};
  PluginNote note;
  note.abi_major = number_at(bytes, 0, big_endian);
  note.minor_built = number_at(bytes, 2, big_endian);
  note.minor_required = number_at(bytes, 4, big_endian);
  note.data_model = number_at(bytes, 6, big_endian);
  const std::string_view entries(reinterpret_cast<const char*>(bytes.data()) + k_head_bytes,
                                 bytes.size() - k_head_bytes);
  // Another major may spell its entries differently; only its number counts.
  if (Status read = read_entries(entries, note); !read.ok() && note.abi_major == BERTH_ABI_MAJOR) return read.error();
  return note;
}

}  // namespace

PluginNotes read_plugin_notes(const ElfFile& file) {
  PluginNotes notes;
  for (const ElfNote& raw : file.notes) {
    if (raw.owner != BERTH_NOTE_OWNER || raw.type != BERTH_NOTE_TYPE) continue;
    Result<PluginNote> note = read_note(raw.descriptor, file.big_endian);
    if (note.ok())
      notes.plugins.push_back(std::move(*note));
    else
      notes.defects.push_back(note.error().message);
  }
  return notes;
}

bool is_plugin_name(std::string_view name) {
  if (name.empty() || name.size() > k_name_bytes_max) return false;
  const auto word = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
             c == '-';
    });
  };
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return word(name);
  return word(name.substr(0, slash)) && word(name.substr(slash + 1));
}

}  // namespace berth::loader
