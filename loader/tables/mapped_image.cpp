// SPDX-License-Identifier: Apache-2.0
#include "loader/tables/mapped_image.hpp"

#include <algorithm>
#include <iterator>

namespace berth::loader {
namespace {

/// Part of the range [begin, begin + length): no sum of these numbers may wrap.
bool is_within(std::uint64_t address, std::uint64_t size, std::uint64_t begin, std::uint64_t length) noexcept {
  return address >= begin && address - begin <= length && size <= length - (address - begin);
}

}  // namespace

MappedImage::MappedImage(std::span<const std::byte> bytes) : bytes_(bytes) {
  header_ = element<Elf64_Ehdr>(bytes, 0);
  if (header_.e_phoff > bytes.size()) return;
  const std::span<const std::byte> table = bytes.subspan(header_.e_phoff);
  for (std::size_t i = 0; i < header_.e_phnum && i < table.size() / sizeof(Elf64_Phdr); ++i) {
    segments_.push_back(element<Elf64_Phdr>(table, i));
    if (segments_.back().p_type == PT_LOAD) loads_.push_back(segments_.back());
  }
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC || !is_within(segment.p_offset, segment.p_filesz, 0, bytes.size())) continue;
    const std::span<const std::byte> entries = bytes.subspan(segment.p_offset, segment.p_filesz);
    for (std::size_t i = 0; i < entries.size() / sizeof(Elf64_Dyn); ++i) {
      const auto entry = element<Elf64_Dyn>(entries, i);
      if (entry.d_tag == DT_NULL) break;
      dynamic_[entry.d_tag] = entry.d_un.d_val;
      if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
    }
  }
}

std::optional<std::uint64_t> MappedImage::dynamic(std::int64_t tag) const {
  const auto found = dynamic_.find(tag);
  return found == dynamic_.end() ? std::nullopt : std::optional(found->second);
}

const Elf64_Phdr* MappedImage::segment_of(std::uint64_t address, std::uint64_t size,
                                          std::uint32_t rights) const noexcept {
  const auto after = std::upper_bound(loads_.begin(), loads_.end(), address,
                                      [](std::uint64_t at, const Elf64_Phdr& load) { return at < load.p_vaddr; });
  if (after == loads_.begin()) return nullptr;
  const Elf64_Phdr& load = *std::prev(after);
  const bool fits = (load.p_flags & rights) == rights && is_within(address, size, load.p_vaddr, load.p_memsz);
  return fits ? &load : nullptr;
}

bool MappedImage::has(std::uint64_t address, std::uint64_t size, std::uint32_t rights) const noexcept {
  return segment_of(address, size, rights) != nullptr;
}

std::optional<std::span<const std::byte>> MappedImage::file_part(std::uint64_t address,
                                                                 std::uint64_t size) const noexcept {
  const Elf64_Phdr* const load = segment_of(address, size, PF_R);
  if (load == nullptr || !is_within(address, size, load->p_vaddr, load->p_filesz)) return std::nullopt;
  const std::uint64_t at = load->p_offset + (address - load->p_vaddr);
  if (!is_within(at, size, 0, bytes_.size())) return std::nullopt;
  return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

}  // namespace berth::loader
