// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi/note.h"

namespace berth::loader {

/// Puts together small shared objects of this machine's byte order, as a linker would, so that tests say only what
/// matters. One PT_LOAD covers the whole file; addresses are offsets.
class ElfBuilder {
 public:
  std::uint16_t type = ET_DYN;
  std::uint16_t machine = EM_X86_64;
  std::uint32_t load_flags = PF_R | PF_X;
  bool has_stack_segment = true;
  std::uint32_t stack_flags = PF_R | PF_W;
  std::vector<std::string> needed;
  std::vector<std::string> runpath;  // at most one
  std::vector<std::string> exported = {"berth_library_entry_v1"};
  std::vector<std::pair<std::string, std::string>> version_needs;  // library, version
  std::vector<std::uint64_t> flags;                                // DT_FLAGS, at most one
  std::vector<std::pair<std::int64_t, std::string>> more_texts;    // other entries whose value is a text
  bool has_end = true;                                             // DT_NULL
  std::uint64_t dynamic_elsewhere = 0;                             // added to the address of the dynamic section
  std::uint64_t load_elsewhere = 0;                                // added to the address of the PT_LOAD
  std::uint64_t strings_cut = 0;                                   // taken from DT_STRSZ
  std::vector<Elf64_Phdr> more_segments;

  ElfBuilder& note(std::string_view owner, std::uint32_t note_type, std::string_view descriptor) {
    const auto add = [&](std::uint32_t value) { notes_.append(reinterpret_cast<const char*>(&value), sizeof value); };
    add(static_cast<std::uint32_t>(owner.size() + 1));
    add(static_cast<std::uint32_t>(descriptor.size()));
    add(note_type);
    notes_.append(owner).push_back('\0');
    pad(notes_);
    notes_.append(descriptor);
    pad(notes_);
    return *this;
  }
  ElfBuilder& berth_note(std::string_view entries, std::uint16_t major = BERTH_ABI_MAJOR,
                         std::uint16_t minor = BERTH_ABI_MINOR, std::uint16_t data_model = BERTH_DATA_MODEL,
                         std::optional<std::uint16_t> minor_required = {}) {
    const std::uint16_t numbers[] = {major, minor, minor_required.value_or(minor), data_model};
    std::string descriptor(reinterpret_cast<const char*>(numbers), sizeof numbers);
    return note("berth", BERTH_NOTE_TYPE, descriptor.append(entries));
  }

  static Elf64_Phdr segment(std::uint32_t segment_type, std::uint32_t segment_flags, std::uint64_t at,
                            std::uint64_t size) {
    Elf64_Phdr header{};
    header.p_type = segment_type;
    header.p_flags = segment_flags;
    header.p_offset = header.p_vaddr = at;
    header.p_filesz = header.p_memsz = size;
    header.p_align = 4;
    return header;
  }

  std::string build() const {
    std::string strings(1, '\0');
    const auto text = [&](const std::string& word) {
      const std::size_t at = strings.size();
      strings += word + '\0';
      return static_cast<std::uint32_t>(at);
    };
    std::vector<Elf64_Dyn> dynamic;
    const auto entry = [&](std::int64_t tag, std::uint64_t value) {
      Elf64_Dyn one{};
      one.d_tag = tag;
      one.d_un.d_val = value;
      dynamic.push_back(one);
    };
    for (const std::string& library : needed) entry(DT_NEEDED, text(library));
    for (const std::string& path : runpath) entry(DT_RUNPATH, text(path));
    for (const std::uint64_t value : flags) entry(DT_FLAGS, value);
    for (const auto& [tag, value] : more_texts) entry(tag, text(value));
    std::vector<Elf64_Sym> symbols(1);
    for (const std::string& name : exported) {
      Elf64_Sym symbol{};
      symbol.st_name = text(name);
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = 1;
      symbols.push_back(symbol);
    }
    std::string versions;
    for (std::size_t i = 0; i < version_needs.size(); ++i) {
      Elf64_Verneed need{};
      need.vn_version = 1;
      need.vn_cnt = 1;
      need.vn_file = text(version_needs[i].first);
      need.vn_aux = sizeof need;
      need.vn_next = i + 1 < version_needs.size() ? sizeof need + sizeof(Elf64_Vernaux) : 0;
      Elf64_Vernaux aux{};
      aux.vna_name = text(version_needs[i].second);
      append(versions, need);
      append(versions, aux);
    }

    const std::size_t segment_count = 4 + more_segments.size();
    std::string file(sizeof(Elf64_Ehdr) + segment_count * sizeof(Elf64_Phdr), '\0');
    const auto place = [&](std::string_view bytes) {
      file.resize((file.size() + 7) & ~std::size_t{7});
      const std::size_t at = file.size();
      file.append(bytes);
      return at;
    };
    const std::size_t strings_at = place(strings);
    const std::size_t symbols_at = place(bytes_of(symbols));
    // One bucket, whose chain has all symbols.
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<std::uint32_t> hash = {1, count, count > 1 ? 1u : 0u, 0};
    for (std::uint32_t i = 1; i < count; ++i) hash.push_back(i + 1 < count ? i + 1 : 0);
    const std::size_t hash_at = place(bytes_of(hash));
    const std::size_t versions_at = place(versions);
    const std::size_t notes_at = place(notes_);
    entry(DT_STRTAB, strings_at);
    entry(DT_STRSZ, strings.size() - strings_cut);
    entry(DT_SYMTAB, symbols_at);
    entry(DT_HASH, hash_at);
    if (!versions.empty()) entry(DT_VERNEED, versions_at);
    if (has_end) entry(DT_NULL, 0);
    const std::size_t dynamic_at = place(bytes_of(dynamic));

    Elf64_Ehdr header{};
    header.e_ident[EI_MAG0] = ELFMAG0;
    header.e_ident[EI_MAG1] = ELFMAG1;
    header.e_ident[EI_MAG2] = ELFMAG2;
    header.e_ident[EI_MAG3] = ELFMAG3;
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
    header.e_type = type;
    header.e_machine = machine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(segment_count);
    std::vector<Elf64_Phdr> segments = {
        segment(PT_LOAD, load_flags, 0, file.size()),
        segment(PT_DYNAMIC, PF_R, dynamic_at, dynamic.size() * sizeof(Elf64_Dyn)),
        segment(PT_NOTE, PF_R, notes_at, notes_.size()),
        segment(has_stack_segment ? PT_GNU_STACK : PT_NULL, stack_flags, 0, 0),
    };
    segments[0].p_vaddr += load_elsewhere;
    segments[1].p_vaddr += dynamic_elsewhere;
    segments.insert(segments.end(), more_segments.begin(), more_segments.end());
    file.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    file.replace(sizeof header, segments.size() * sizeof(Elf64_Phdr), bytes_of(segments));
    return file;
  }

 private:
  template <typename T>
  static void append(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  static std::string_view bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  static void pad(std::string& out) { out.resize((out.size() + 3) & ~std::size_t{3}); }
  std::string notes_;
};

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace berth::loader
