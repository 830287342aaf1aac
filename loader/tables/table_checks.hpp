// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "loader/tables/mapped_image.hpp"

// Internal to loader/tables.
namespace berth::loader {

using TableDefects = std::vector<std::string>;

/// The texts that the other tables name by their place.
class StringTable {
 public:
  /// None when it is missing, not in the file, or has no end.
  static std::optional<StringTable> of(const MappedImage& image, TableDefects& defects);
  bool has(std::uint64_t place) const noexcept { return place < bytes_.size(); }
  /// None when no text begins there, or one that is longer than a name.
  std::optional<std::string_view> name_at(std::uint64_t place) const noexcept;

 private:
  explicit StringTable(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;  // ends with NUL
};

/// Symbols by their numbers, with their names and versions.
class SymbolTable {
 public:
  SymbolTable(const MappedImage& image, const StringTable& strings, std::uint32_t version_max);
  /// Fails when it, its name or its version is not where it can be read.
  Result<Elf64_Sym> read(std::uint64_t number) const;
  std::optional<std::string_view> name(const Elf64_Sym& symbol) const { return strings_.name_at(symbol.st_name); }

 private:
  const MappedImage& image_;
  const StringTable& strings_;
  std::optional<std::uint64_t> table_;
  std::optional<std::uint64_t> versions_;
  std::uint32_t version_max_;
};

/// Something that may be called begins there.
bool is_code(const MappedImage& image, std::uint64_t address);

/// Each adds at most a few sentences.
void check_segments(const MappedImage& image, TableDefects& defects);
/// The largest number of a version that the file needs or defines.
std::uint32_t check_versions(const MappedImage& image, const StringTable& strings, TableDefects& defects);
void check_hashes(const MappedImage& image, const SymbolTable& symbols, TableDefects& defects);
void check_relocations(const MappedImage& image, const SymbolTable& symbols, TableDefects& defects);

}  // namespace berth::loader
