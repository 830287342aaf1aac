// SPDX-License-Identifier: Apache-2.0
// What the program headers say of other things than PT_LOAD.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>

#include "loader/tables/table_checks.hpp"

namespace berth::loader {
namespace {

constexpr std::uint64_t k_image_bytes_max = std::uint64_t{1} << 30;
// Each thread that touches it takes as much, and where there is none the C library aborts.
constexpr std::uint64_t k_thread_bytes_max = 16 << 20, k_thread_align_max = 64 << 10;
constexpr std::uint64_t k_note_align = 8;  // of the notes that the dynamic linker reads

bool is_power_of_two(std::uint64_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

void check_size(const MappedImage& image, TableDefects& defects) {
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, segment.p_vaddr);
    end = std::max(end, segment.p_vaddr + segment.p_memsz);  // below 2^63: ElfFile has looked
    if (segment.p_align > k_image_bytes_max || (segment.p_align > 1 && !is_power_of_two(segment.p_align))) {
      defects.push_back(fmt::format("a segment has an alignment of {}", segment.p_align));
      return;
    }
  }
  if (end > begin && end - begin > k_image_bytes_max)
    defects.push_back(fmt::format("its segments span {} bytes of memory", end - begin));
}

void check_thread_storage(const MappedImage& image, const Elf64_Phdr& segment, TableDefects& defects) {
  if (segment.p_memsz == 0) return;
  if (segment.p_filesz > segment.p_memsz || segment.p_memsz > k_thread_bytes_max)
    defects.push_back(
        fmt::format("PT_TLS has {} bytes for each thread, and {} in the file", segment.p_memsz, segment.p_filesz));
  else if (segment.p_align > k_thread_align_max || (segment.p_align > 1 && !is_power_of_two(segment.p_align)))
    defects.push_back(fmt::format("PT_TLS has an alignment of {}", segment.p_align));
  else if (segment.p_filesz != 0 && !image.file_part(segment.p_vaddr, segment.p_filesz))
    defects.emplace_back("PT_TLS is not in what is mapped of the file");
}

/// Properties are read by the lengths that the notes give.
void check_notes(const MappedImage& image, const Elf64_Phdr& segment, TableDefects& defects) {
  if (segment.p_memsz == 0) return;
  const auto notes = image.file_part(segment.p_vaddr, segment.p_memsz);
  if (!notes) {
    defects.emplace_back("a segment of notes is not in what is mapped of the file");
    return;
  }
  const std::uint64_t align = segment.p_align == k_note_align ? k_note_align : 4;
  const auto padded = [&](std::uint64_t size) { return (size + align - 1) / align * align; };
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) < notes->size();) {
    const auto note = element<Elf64_Nhdr>(notes->subspan(static_cast<std::size_t>(at)), 0);
    const std::uint64_t end = padded(sizeof note + note.n_namesz) + note.n_descsz;
    if (end > notes->size() - at) {
      defects.emplace_back("a note is longer than its segment");
      return;
    }
    at += padded(end);
    if (at > notes->size()) return;
  }
}

/// The C++ runtime reads the headers from there when something is thrown.
void check_own_headers(const MappedImage& image, const Elf64_Phdr& segment, TableDefects& defects) {
  const Elf64_Ehdr& header = image.header();
  const Elf64_Phdr* const load =
      image.segment_of(segment.p_vaddr, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), PF_R);
  if (load == nullptr || load->p_offset + (segment.p_vaddr - load->p_vaddr) != header.e_phoff)
    defects.emplace_back("PT_PHDR is elsewhere than the program headers");
}

/// Whole pages become read-only once relocations are done; no others may be among them.
void check_read_only(const MappedImage& image, const Elf64_Phdr& segment, TableDefects& defects) {
  const long asked = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t page = asked > 0 ? static_cast<std::uint64_t>(asked) : 4096;
  const Elf64_Phdr* const load = image.segment_of(segment.p_vaddr, 1, PF_W);
  const std::uint64_t end = segment.p_vaddr + segment.p_memsz;
  const bool fits = load != nullptr && end >= segment.p_vaddr &&
                    end / page * page <= (load->p_vaddr + load->p_memsz + page - 1) / page * page;
  if (segment.p_memsz != 0 && !fits) defects.emplace_back("PT_GNU_RELRO leaves the segment that may be written");
}

/// The dynamic linker writes addresses into it when it is said to be writable.
void check_dynamic_section(const MappedImage& image, const Elf64_Phdr& segment, TableDefects& defects) {
  if (segment.p_memsz == 0) return;
  const std::uint32_t rights = PF_R | ((segment.p_flags & PF_W) != 0 ? PF_W : 0u);
  if (!image.has(segment.p_vaddr, segment.p_filesz, rights))
    defects.emplace_back("PT_DYNAMIC may be written, and is where nothing may be written");
}

}  // namespace

void check_segments(const MappedImage& image, TableDefects& defects) {
  check_size(image, defects);
  for (const Elf64_Phdr& segment : image.segments()) {
    const std::size_t before = defects.size();
    if (segment.p_type == PT_TLS) check_thread_storage(image, segment, defects);
    if (segment.p_type == PT_NOTE || segment.p_type == PT_GNU_PROPERTY) check_notes(image, segment, defects);
    if (segment.p_type == PT_PHDR) check_own_headers(image, segment, defects);
    if (segment.p_type == PT_GNU_RELRO) check_read_only(image, segment, defects);
    if (segment.p_type == PT_DYNAMIC) check_dynamic_section(image, segment, defects);
    if (defects.size() != before) return;  // one is enough, and the file decides how many there are
  }
}

}  // namespace berth::loader
