// SPDX-License-Identifier: Apache-2.0
#include "loader/elf/elf_file.hpp"

#include <elf.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace berth::loader {
namespace {

constexpr std::uint32_t k_x86_isa_1_needed = 0xc0008002u;  // GNU_PROPERTY_X86_ISA_1_NEEDED, absent from older elf.h

template <typename T>
T swapped(T value) noexcept {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  std::reverse(bytes, bytes + sizeof value);
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Bytes with a byte order; every read is checked. A read beyond the end gives 0 and is remembered.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, bool swap) : bytes_(bytes), swap_(swap) {}

  template <typename T>
  T read(std::uint64_t offset) const noexcept {
    T value{};
    if (!inside(offset, sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return swap_ ? swapped(value) : value;
  }
  bool inside(std::uint64_t offset, std::uint64_t size) const noexcept {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t size) const noexcept {
    if (!inside(offset, size)) return {};
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  /// The NUL-terminated text at an offset that must end before `end`; empty when it does not.
  std::string_view text(std::uint64_t offset, std::uint64_t end) const noexcept {
    end = std::min<std::uint64_t>(end, bytes_.size());
    if (offset >= end) return {};
    const std::uint64_t cap = std::min<std::uint64_t>(end - offset, ElfFile::k_name_bytes_max);
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const void* nul = std::memchr(begin, '\0', static_cast<std::size_t>(cap));
    if (nul == nullptr) return {};
    return {begin, static_cast<std::size_t>(static_cast<const char*>(nul) - begin)};
  }
  std::uint64_t size() const noexcept { return bytes_.size(); }
  bool swap() const noexcept { return swap_; }

 private:
  std::span<const std::byte> bytes_;
  bool swap_;
};

struct Segment {
  std::uint32_t type;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t address;
  std::uint64_t file_bytes;
  std::uint64_t memory_bytes;
  std::uint64_t align;
};

/// What the dynamic table points at.
struct DynamicTable {
  std::uint64_t strings = 0;
  std::uint64_t strings_bytes = 0;
  std::uint64_t symbols = 0;
  std::uint64_t hash = 0;
  std::uint64_t gnu_hash = 0;
  std::uint64_t version_needs = 0;
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> runpath;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> soname;
  std::vector<std::pair<std::string_view, std::uint64_t>> other_loads;  // name of the tag, text
  bool has_end = false;
};

constexpr std::uint64_t k_nowhere = UINT64_MAX;

/// Where a virtual address stands in the file.
std::uint64_t offset_of(const std::vector<Segment>& segments, std::uint64_t address) noexcept {
  for (const Segment& segment : segments) {
    if (segment.type == PT_LOAD && address >= segment.address && address - segment.address < segment.file_bytes) {
      return segment.offset + (address - segment.address);
    }
  }
  return k_nowhere;
}

/// Where a range of virtual addresses stands in the file: all of it in what one segment maps of the file.
std::uint64_t offset_of_range(const std::vector<Segment>& segments, std::uint64_t address,
                              std::uint64_t size) noexcept {
  for (const Segment& segment : segments) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const std::uint64_t at = address - segment.address;
    if (at < segment.file_bytes && size <= segment.file_bytes - at) return segment.offset + at;
  }
  return k_nowhere;
}

bool truncated(const Bytes& bytes, std::uint64_t offset, std::uint64_t size, std::string_view what, ElfDefect& defect) {
  if (bytes.inside(offset, size)) return false;
  defect = {.kind = ElfDefect::Kind::truncated,
            .sentence = size > UINT64_MAX - offset
                            ? fmt::format("{} lies outside of any file", what)
                            : fmt::format("{} ends at byte {}, the file has {}", what, offset + size, bytes.size())};
  return true;
}

/// The identification bytes, before a byte order is known.
bool read_identification(std::span<const std::byte> bytes, ElfDefect& defect) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned char>(bytes[i]); };
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    defect = {.kind = ElfDefect::Kind::not_elf,
              .sentence = fmt::format("{} bytes that do not begin with 7f 45 4c 46", bytes.size())};
    return false;
  }
  if (at(EI_CLASS) != ELFCLASS64) {
    defect = {.kind = ElfDefect::Kind::wrong_class,
              .sentence = at(EI_CLASS) == ELFCLASS32 ? "a 32-bit file" : "a file of unknown class"};
    return false;
  }
  if (at(EI_DATA) != ELFDATA2LSB && at(EI_DATA) != ELFDATA2MSB) {
    defect = {.kind = ElfDefect::Kind::malformed, .sentence = "a file of unknown byte order"};
    return false;
  }
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    defect = {
        .kind = ElfDefect::Kind::truncated,
        .sentence = fmt::format("the ELF header needs {} bytes, the file has {}", sizeof(Elf64_Ehdr), bytes.size())};
    return false;
  }
  return true;
}

bool read_segments(const Bytes& bytes, std::vector<Segment>& segments, ElfDefect& defect) {
  const auto offset = bytes.read<std::uint64_t>(offsetof(Elf64_Ehdr, e_phoff));
  const auto entry_bytes = bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_phentsize));
  const auto count = bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_phnum));
  if (count == 0 || entry_bytes != sizeof(Elf64_Phdr)) {
    defect = {.kind = ElfDefect::Kind::malformed, .sentence = "no program headers: not something that can be loaded"};
    return false;
  }
  if (truncated(bytes, offset, std::uint64_t{count} * entry_bytes, "the table of program headers", defect))
    return false;
  segments.reserve(count);
  for (std::uint16_t i = 0; i < count; ++i) {
    const std::uint64_t at = offset + std::uint64_t{i} * entry_bytes;
    Segment segment{bytes.read<std::uint32_t>(at + offsetof(Elf64_Phdr, p_type)),
                    bytes.read<std::uint32_t>(at + offsetof(Elf64_Phdr, p_flags)),
                    bytes.read<std::uint64_t>(at + offsetof(Elf64_Phdr, p_offset)),
                    bytes.read<std::uint64_t>(at + offsetof(Elf64_Phdr, p_vaddr)),
                    bytes.read<std::uint64_t>(at + offsetof(Elf64_Phdr, p_filesz)),
                    bytes.read<std::uint64_t>(at + offsetof(Elf64_Phdr, p_memsz)),
                    bytes.read<std::uint64_t>(at + offsetof(Elf64_Phdr, p_align))};
    if (segment.type != PT_GNU_STACK && segment.type != PT_NULL &&
        truncated(bytes, segment.offset, segment.file_bytes, fmt::format("segment {}", i), defect)) {
      return false;
    }
    segments.push_back(segment);
  }
  // Section headers stand at the end of a file: that they are missing shows a file that was cut behind its last segment.
  const auto sections = bytes.read<std::uint64_t>(offsetof(Elf64_Ehdr, e_shoff));
  const auto section_bytes = std::uint64_t{bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_shentsize))} *
                             bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_shnum));
  return sections == 0 || !truncated(bytes, sections, section_bytes, "the table of sections", defect);
}

void read_notes(const Bytes& bytes, const Segment& segment, std::vector<ElfNote>& notes) {
  const std::uint64_t align = segment.align == 8 ? 8 : 4;
  const auto padded = [&](std::uint64_t size) { return (size + align - 1) & ~(align - 1); };
  std::uint64_t at = segment.offset;
  const std::uint64_t end = segment.offset + segment.file_bytes;
  while (end - at >= sizeof(Elf64_Nhdr) && notes.size() < ElfFile::k_notes_max) {
    const std::uint64_t owner_bytes = bytes.read<std::uint32_t>(at + offsetof(Elf64_Nhdr, n_namesz));
    const std::uint64_t descriptor_bytes = bytes.read<std::uint32_t>(at + offsetof(Elf64_Nhdr, n_descsz));
    const auto type = bytes.read<std::uint32_t>(at + offsetof(Elf64_Nhdr, n_type));
    const std::uint64_t owner = at + sizeof(Elf64_Nhdr);
    const std::uint64_t descriptor = at + padded(sizeof(Elf64_Nhdr) + owner_bytes);
    if (descriptor > end || descriptor_bytes > end - descriptor) return;
    notes.push_back({bytes.text(owner, owner + owner_bytes), type, bytes.slice(descriptor, descriptor_bytes)});
    const std::uint64_t next = at + padded(descriptor - at + descriptor_bytes);
    if (next > end) return;
    at = next;
  }
}

void take_other_load(DynamicTable& table, std::string_view tag, std::uint64_t value) {
  if (table.other_loads.size() < ElfFile::k_needed_max) table.other_loads.emplace_back(tag, value);
}

DynamicTable read_dynamic(const Bytes& bytes, const Segment& segment, ElfFile& file) {
  DynamicTable table;
  for (std::uint64_t i = 0; i + sizeof(Elf64_Dyn) <= segment.file_bytes; i += sizeof(Elf64_Dyn)) {
    const auto tag = bytes.read<std::int64_t>(segment.offset + i);
    const auto value = bytes.read<std::uint64_t>(segment.offset + i + 8);
    switch (tag) {
      case DT_NULL:
        table.has_end = true;
        return table;
      case DT_NEEDED:
        if (table.needed.size() < ElfFile::k_needed_max)
          table.needed.push_back(value);
        else if (table.needed.size() == ElfFile::k_needed_max && file.differing_views.empty())
          file.differing_views.push_back(fmt::format("more than {} DT_NEEDED", ElfFile::k_needed_max));
        break;
      case DT_FILTER:
        take_other_load(table, "DT_FILTER", value);
        break;
      case DT_AUXILIARY:
        take_other_load(table, "DT_AUXILIARY", value);
        break;
      case DT_AUDIT:
        take_other_load(table, "DT_AUDIT", value);
        break;
      case DT_DEPAUDIT:
        take_other_load(table, "DT_DEPAUDIT", value);
        break;
      case DT_STRTAB:
        table.strings = value;
        break;
      case DT_STRSZ:
        table.strings_bytes = value;
        break;
      case DT_SYMTAB:
        table.symbols = value;
        break;
      case DT_HASH:
        table.hash = value;
        break;
      case DT_GNU_HASH:
        table.gnu_hash = value;
        break;
      case DT_VERNEED:
        table.version_needs = value;
        break;
      case DT_RUNPATH:
        table.runpath = value;
        break;
      case DT_RPATH:
        table.rpath = value;
        break;
      case DT_SONAME:
        table.soname = value;
        break;
      case DT_TEXTREL:
        file.text_relocations = true;
        break;
      case DT_FLAGS:
        if ((value & DF_TEXTREL) != 0) file.text_relocations = true;
        if ((value & DF_STATIC_TLS) != 0) file.static_tls = true;
        break;
      default:
        break;
    }
  }
  return table;
}

/// One past the last symbol that a GNU hash table names: the symbol table itself does not say how long it is.
std::uint64_t gnu_hash_symbol_count(const Bytes& bytes, std::uint64_t at) {
  const std::uint64_t bucket_count = bytes.read<std::uint32_t>(at);
  const std::uint64_t first = bytes.read<std::uint32_t>(at + 4);
  const std::uint64_t bloom_words = bytes.read<std::uint32_t>(at + 8);
  const std::uint64_t buckets = at + 16 + 8 * bloom_words;
  if (!bytes.inside(buckets, 4 * bucket_count)) return 0;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < bucket_count; ++i) {
    last = std::max<std::uint64_t>(last, bytes.read<std::uint32_t>(buckets + 4 * i));
  }
  if (last < first) return first;
  const std::uint64_t chains = buckets + 4 * bucket_count;
  while (bytes.inside(chains + 4 * (last - first), 4)) {
    if ((bytes.read<std::uint32_t>(chains + 4 * (last - first)) & 1u) != 0) return last + 1;
    ++last;
  }
  return 0;
}

void read_symbols(const Bytes& bytes, const std::vector<Segment>& segments, const DynamicTable& table,
                  std::uint64_t strings, std::uint64_t strings_end, ElfFile& file) {
  const std::uint64_t symbols = offset_of(segments, table.symbols);
  if (table.symbols == 0 || symbols == k_nowhere) return;
  std::uint64_t count = 0;
  if (const std::uint64_t hash = offset_of(segments, table.hash); table.hash != 0 && hash != k_nowhere) {
    count = bytes.read<std::uint32_t>(hash + 4);
  } else if (const std::uint64_t gnu = offset_of(segments, table.gnu_hash); table.gnu_hash != 0 && gnu != k_nowhere) {
    count = gnu_hash_symbol_count(bytes, gnu);
  }
  for (std::uint64_t i = 1; i < count && bytes.inside(symbols + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym)); ++i) {
    const std::uint64_t at = symbols + i * sizeof(Elf64_Sym);
    const auto info = bytes.read<unsigned char>(at + offsetof(Elf64_Sym, st_info));
    const auto other = bytes.read<unsigned char>(at + offsetof(Elf64_Sym, st_other));
    const auto section = bytes.read<std::uint16_t>(at + offsetof(Elf64_Sym, st_shndx));
    const unsigned char binding = ELF64_ST_BIND(info);
    const unsigned char visibility = ELF64_ST_VISIBILITY(other);
    const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
    if (section == SHN_UNDEF || binding == STB_LOCAL || !visible) continue;
    ++file.exported_count;
    if (file.exported.size() == ElfFile::k_symbols_max) continue;
    const auto name = bytes.read<std::uint32_t>(at + offsetof(Elf64_Sym, st_name));
    file.exported.push_back(bytes.text(strings + name, strings_end));
  }
}

void read_version_needs(const Bytes& bytes, std::uint64_t at, std::uint64_t strings, std::uint64_t strings_end,
                        ElfFile& file) {
  // vn_next and vna_next are unsigned steps, so each chain only goes forward and ends with the file.
  while (bytes.inside(at, sizeof(Elf64_Verneed))) {
    const auto library = bytes.read<std::uint32_t>(at + offsetof(Elf64_Verneed, vn_file));
    const auto count = bytes.read<std::uint16_t>(at + offsetof(Elf64_Verneed, vn_cnt));
    std::uint64_t entry = at + bytes.read<std::uint32_t>(at + offsetof(Elf64_Verneed, vn_aux));
    for (std::uint16_t i = 0; i < count && bytes.inside(entry, sizeof(Elf64_Vernaux)); ++i) {
      if (file.version_needs.size() == ElfFile::k_version_needs_max) return;
      const auto name = bytes.read<std::uint32_t>(entry + offsetof(Elf64_Vernaux, vna_name));
      file.version_needs.push_back(
          {bytes.text(strings + library, strings_end), bytes.text(strings + name, strings_end)});
      const auto step = bytes.read<std::uint32_t>(entry + offsetof(Elf64_Vernaux, vna_next));
      if (step == 0) break;
      entry += step;
    }
    const auto step = bytes.read<std::uint32_t>(at + offsetof(Elf64_Verneed, vn_next));
    if (step == 0) return;
    at += step;
  }
}

void read_dynamic_part(const Bytes& bytes, const std::vector<Segment>& segments, const Segment& segment,
                       ElfFile& file) {
  const DynamicTable table = read_dynamic(bytes, segment, file);
  const auto differs = [&](std::string sentence) { file.differing_views.push_back(std::move(sentence)); };
  if (segment.file_bytes != 0) {
    if (offset_of_range(segments, segment.address, segment.file_bytes) != segment.offset)
      differs("the dynamic section is at another place in memory than in the file");
    if (!table.has_end) differs("the dynamic section has no end (DT_NULL)");
  }
  const std::uint64_t strings = offset_of(segments, table.strings);
  const bool has_names = !table.needed.empty() || !table.other_loads.empty() || table.runpath || table.rpath;
  if (table.strings == 0 || strings == k_nowhere || !bytes.inside(strings, table.strings_bytes)) {
    if (has_names) differs("the names of libraries (DT_STRTAB) are not in what is mapped of the file");
    for (const auto& [tag, index] : table.other_loads) file.other_loads.push_back(fmt::format("{} (no name)", tag));
    return;
  }
  if (offset_of_range(segments, table.strings, table.strings_bytes) != strings)
    differs("the names of libraries (DT_STRTAB) are not in what is mapped of the file");
  const std::uint64_t end = strings + table.strings_bytes;
  const auto text_at = [&](std::uint64_t index) {
    return index < table.strings_bytes ? bytes.text(strings + index, end) : std::string_view{};
  };
  /// A name that the dynamic linker will read: empty when it is, or when it has no end where we may look for one.
  const auto name_at = [&](std::string_view tag, std::uint64_t index) {
    const std::string_view name = text_at(index);
    const bool ends = index < table.strings_bytes && bytes.read<std::uint8_t>(strings + index) == 0;
    if (name.empty() && !ends) differs(fmt::format("the name of a {} has no end within DT_STRTAB", tag));
    return name;
  };
  for (const std::uint64_t index : table.needed) file.needed.push_back(name_at("DT_NEEDED", index));
  for (const auto& [tag, index] : table.other_loads)
    file.other_loads.push_back(fmt::format("{} {}", tag, name_at(tag, index)));
  if (table.soname) file.soname = text_at(*table.soname);
  if (table.runpath || table.rpath) file.runpath = name_at("DT_RUNPATH", table.runpath ? *table.runpath : *table.rpath);
  if (table.runpath && table.rpath) file.rpath = name_at("DT_RPATH", *table.rpath);
  read_symbols(bytes, segments, table, strings, end, file);
  if (const std::uint64_t at = offset_of(segments, table.version_needs); table.version_needs != 0 && at != k_nowhere) {
    read_version_needs(bytes, at, strings, end, file);
  }
}

/// The dynamic linker maps whole pages, one segment over the other; what is said here of an address is true of memory
/// only when no page belongs to two segments.
void judge_segments(const std::vector<Segment>& segments, ElfFile& file) {
  const long asked = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t page = asked > 0 ? static_cast<std::uint64_t>(asked) : 4096;
  constexpr std::uint64_t k_address_max = std::uint64_t{1} << 62;
  const auto differs = [&](std::string sentence) { file.differing_views.push_back(std::move(sentence)); };
  std::uint64_t free_from = 0;
  std::size_t dynamic_sections = 0;
  for (const Segment& segment : segments) {
    if (segment.type == PT_DYNAMIC && segment.file_bytes != 0) ++dynamic_sections;
    if (segment.type != PT_LOAD) continue;
    if (segment.address > k_address_max || segment.memory_bytes > k_address_max ||
        segment.file_bytes > segment.memory_bytes) {
      differs("a segment is larger in the file than in memory, or has no possible address");
    } else if (segment.address / page * page < free_from) {
      differs("segments share a page of memory, or are not in the order of their addresses");
    } else if (segment.address % page != segment.offset % page) {
      differs("a segment is mapped from another place than its offset says");
    } else {
      free_from = (segment.address + segment.memory_bytes + page - 1) / page * page;
      continue;
    }
    return;  // one is enough, and the file decides how many there are
  }
  if (dynamic_sections > 1) differs(fmt::format("{} dynamic sections", dynamic_sections));
}

/// The GNU notes: build id, and the instruction sets that the file declares.
void read_gnu_note(const ElfNote& note, bool swap, ElfFile& file) {
  if (note.type == NT_GNU_BUILD_ID && file.build_id.empty()) {
    for (const std::byte byte : note.descriptor.first(std::min<std::size_t>(note.descriptor.size(), 32))) {
      file.build_id += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
  }
  if (note.type != NT_GNU_PROPERTY_TYPE_0) return;
  const Bytes properties(note.descriptor, swap);
  std::uint64_t at = 0;
  while (properties.inside(at, 8)) {
    const auto type = properties.read<std::uint32_t>(at);
    const auto size = properties.read<std::uint32_t>(at + 4);
    if (type == k_x86_isa_1_needed && size == 4) file.x86_isa_needed |= properties.read<std::uint32_t>(at + 8);
    at += 8 + ((std::uint64_t{size} + 7) & ~std::uint64_t{7});
  }
}

}  // namespace

std::optional<ElfFile> ElfFile::read(std::span<const std::byte> content, ElfDefect& defect) {
  if (!read_identification(content, defect)) return std::nullopt;
  ElfFile file;
  file.big_endian = std::to_integer<unsigned char>(content[EI_DATA]) == ELFDATA2MSB;
  const bool host_is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  const Bytes bytes(content, file.big_endian != host_is_big_endian);
  file.type = bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_type));
  file.machine = bytes.read<std::uint16_t>(offsetof(Elf64_Ehdr, e_machine));

  std::vector<Segment> segments;
  if (!read_segments(bytes, segments, defect)) {
    defect.header_read = true;
    defect.type = file.type;
    defect.machine = file.machine;
    defect.big_endian = file.big_endian;
    return std::nullopt;
  }
  judge_segments(segments, file);
  bool stack_flag_found = false;
  bool dynamic_found = false;  // one is read: several would multiply the work
  for (const Segment& segment : segments) {
    const bool writable_code = (segment.flags & PF_W) != 0 && (segment.flags & PF_X) != 0;
    switch (segment.type) {
      case PT_LOAD:
        file.writable_code |= writable_code;
        break;
      case PT_INTERP:
        file.has_interpreter = true;
        break;
      case PT_NOTE:
        read_notes(bytes, segment, file.notes);
        break;
      case PT_DYNAMIC:
        if (!std::exchange(dynamic_found, true)) read_dynamic_part(bytes, segments, segment, file);
        break;
      case PT_GNU_STACK:
        stack_flag_found = true;
        file.executable_stack = (segment.flags & PF_X) != 0;
        break;
      default:
        break;
    }
  }
  file.stack_flag_absent = !stack_flag_found;
  file.executable_stack |= !stack_flag_found;
  for (const ElfNote& note : file.notes) {
    if (note.owner == "GNU") read_gnu_note(note, bytes.swap(), file);
  }
  return file;
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    case EM_RISCV:
      return "riscv64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    default:
      return fmt::format("machine {}", machine);
  }
}

}  // namespace berth::loader
