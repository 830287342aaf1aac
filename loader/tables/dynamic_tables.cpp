// SPDX-License-Identifier: Apache-2.0
#include "loader/tables/dynamic_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "loader/elf/elf_file.hpp"
#include "loader/tables/table_checks.hpp"

namespace berth::loader {
namespace {

/// DT_SONAME is read whenever another library is looked for.
void check_own_name(const MappedImage& image, const StringTable& strings, TableDefects& defects) {
  const std::optional<std::uint64_t> name = image.dynamic(DT_SONAME);
  if (name && !strings.has(*name)) defects.emplace_back("DT_SONAME is outside of DT_STRTAB");
}

}  // namespace

std::optional<StringTable> StringTable::of(const MappedImage& image, TableDefects& defects) {
  const std::optional<std::uint64_t> address = image.dynamic(DT_STRTAB);
  const std::uint64_t size = image.dynamic(DT_STRSZ).value_or(0);
  const auto bytes = address ? image.file_part(*address, size) : std::nullopt;
  if (!bytes || bytes->empty()) {
    defects.emplace_back("DT_STRTAB, where all names are, is not in what is mapped of the file");
  } else if (bytes->back() != std::byte{0}) {
    defects.emplace_back("the last name in DT_STRTAB has no end");
  } else {
    return StringTable(*bytes);
  }
  return std::nullopt;
}

std::optional<std::string_view> StringTable::name_at(std::uint64_t place) const noexcept {
  if (!has(place)) return std::nullopt;
  const auto rest = bytes_.subspan(static_cast<std::size_t>(place));
  const std::size_t cap = std::min(rest.size(), ElfFile::k_name_bytes_max);
  const char* const begin = reinterpret_cast<const char*>(rest.data());
  const void* const end = std::memchr(begin, '\0', cap);
  if (end == nullptr) return std::nullopt;
  return std::string_view(begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin));
}

std::vector<std::string> table_defects(std::span<const std::byte> bytes) {
  TableDefects defects;
  const MappedImage image(bytes);
  check_segments(image, defects);
  const std::optional<StringTable> strings = StringTable::of(image, defects);
  if (!strings) return defects;
  check_own_name(image, *strings, defects);
  const std::uint32_t version_max = check_versions(image, *strings, defects);
  const SymbolTable symbols(image, *strings, version_max);
  check_hashes(image, symbols, defects);
  check_relocations(image, symbols, defects);
  return defects;
}

}  // namespace berth::loader
