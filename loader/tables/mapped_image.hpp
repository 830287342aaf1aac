// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace berth::loader {

/// A library as the dynamic linker maps it, by address, without mapping it. Reads nothing outside of what the file has.
///
/// Requires: ElfFile::read() took the bytes, found no differing views, and byte order and class are this process's.
/// Lifetime: views the bytes that were given. Threads: any.
class MappedImage {
 public:
  explicit MappedImage(std::span<const std::byte> bytes);

  std::span<const Elf64_Phdr> segments() const noexcept { return segments_; }
  const Elf64_Ehdr& header() const noexcept { return header_; }
  /// The value of the last entry with that tag: which is the one that the dynamic linker takes.
  std::optional<std::uint64_t> dynamic(std::int64_t tag) const;
  /// The values of all DT_NEEDED.
  const std::vector<std::uint64_t>& needed() const noexcept { return needed_; }

  /// Bytes from the file at these addresses, readable and all in one segment; none otherwise.
  std::optional<std::span<const std::byte>> file_part(std::uint64_t address, std::uint64_t size) const noexcept;
  /// Some segment with these rights (PF_*) has all these addresses.
  bool has(std::uint64_t address, std::uint64_t size, std::uint32_t rights) const noexcept;
  /// That segment.
  const Elf64_Phdr* segment_of(std::uint64_t address, std::uint64_t size, std::uint32_t rights) const noexcept;

  /// The number or structure at an address; none where the file has none.
  template <typename T>
  std::optional<T> at(std::uint64_t address) const noexcept {
    const auto part = file_part(address, sizeof(T));
    if (!part) return std::nullopt;
    T value{};
    std::memcpy(&value, part->data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Phdr> loads_;  // by address
  std::map<std::int64_t, std::uint64_t> dynamic_;
  std::vector<std::uint64_t> needed_;
};

/// Element `i` of a table that lies in the file.
template <typename T>
T element(std::span<const std::byte> table, std::size_t i) noexcept {
  T value{};
  if (i < table.size() / sizeof(T)) std::memcpy(&value, table.data() + i * sizeof(T), sizeof value);
  return value;
}

}  // namespace berth::loader
