// SPDX-License-Identifier: Apache-2.0
// What is said of tables over which the dynamic linker would fail.
#include <elf.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "loader/elf/elf_policy.hpp"
#include "loader/tables/dynamic_tables.hpp"
#include "unit/loader/elf_builder.hpp"

namespace berth::loader {
namespace {

/// A linked library, to be changed where a table is.
class Library {
 public:
  Library() {
    std::ifstream in(BERTH_TABLES_SEED, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    std::memcpy(&header_, bytes_.data(), sizeof header_);
  }
  std::string defects() const {
    std::string out;
    for (const std::string& one : table_defects(as_bytes(bytes_))) out += one + "\n";
    return out;
  }
  template <typename T>
  T get(std::size_t at) const {
    T value{};
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  template <typename T>
  void set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  /// Where the program header of that type is.
  std::size_t segment(std::uint32_t type) const {
    for (std::size_t i = 0; i < header_.e_phnum; ++i)
      if (const std::size_t at = header_.e_phoff + i * sizeof(Elf64_Phdr); get<std::uint32_t>(at) == type) return at;
    throw std::runtime_error("no such segment");
  }
  /// Where the value of that entry of the dynamic section is.
  std::size_t entry(std::int64_t tag) const {
    const auto dynamic = get<Elf64_Phdr>(segment(PT_DYNAMIC));
    for (std::size_t at = dynamic.p_offset; at < dynamic.p_offset + dynamic.p_filesz; at += sizeof(Elf64_Dyn))
      if (get<std::int64_t>(at) == tag) return at + 8;
    throw std::runtime_error("no such entry");
  }
  /// Where that table is: in the first segment addresses are places.
  std::size_t table(std::int64_t tag) const { return get<std::uint64_t>(entry(tag)); }
  void drop(std::int64_t tag) { set<std::int64_t>(entry(tag) - 8, DT_DEBUG); }

 private:
  std::string bytes_;
  Elf64_Ehdr header_{};
};

struct Case {
  const char* name;
  std::function<void(Library&)> change;
  const char* says;
};

template <typename T>
std::function<void(Library&)> in_table(std::int64_t tag, std::size_t at, T value) {
  return [=](Library& library) { library.set<T>(library.table(tag) + at, value); };
}
template <typename T>
std::function<void(Library&)> in_segment(std::uint32_t type, std::size_t at, T value) {
  return [=](Library& library) { library.set<T>(library.segment(type) + at, value); };
}
std::function<void(Library&)> in_entry(std::int64_t tag, std::uint64_t value) {
  return [=](Library& library) { library.set(library.entry(tag), value); };
}

const std::uint64_t k_far = 0x7000000;

const Case k_cases[] = {
    {"a library that is not needed", [](Library& l) { l.set<std::int64_t>(l.entry(DT_NEEDED) - 8, DT_DEBUG); },
     "DT_VERNEED asks for versions of libc.so.6, which is not among DT_NEEDED\n"},
    {"needed versions elsewhere", in_entry(DT_VERNEED, k_far), "DT_VERNEED leaves what is mapped of the file\n"},
    {"defined versions elsewhere", in_entry(DT_VERDEF, k_far), "DT_VERDEF leaves what is mapped of the file\n"},
    {"defined versions of another form", in_table<std::uint16_t>(DT_VERDEF, 0, 2), "DT_VERDEF is of an unknown form\n"},
    {"a symbol's version that there is not", in_table<std::uint16_t>(DT_VERSYM, 2, 0x7000),
     "a relocation's symbol 1 has a version (DT_VERSYM) that is neither needed nor defined\n"},
    {"versions of symbols elsewhere", in_entry(DT_VERSYM, k_far), "neither needed nor defined\n"},
    {"no versions of symbols", [](Library& l) { l.drop(DT_VERSYM); },
     "there are versions, and no DT_VERSYM that gives them to symbols\n"},
    {"a filter of three words", in_table<std::uint32_t>(DT_GNU_HASH, 8, 3),
     "DT_GNU_HASH has a filter whose size is no power of two\n"},
    {"a filter of no word", in_table<std::uint32_t>(DT_GNU_HASH, 8, 0), "no power of two\n"},
    {"a shift of 64", in_table<std::uint32_t>(DT_GNU_HASH, 12, 64),
     "DT_GNU_HASH shifts 32 bits by more than there are\n"},
    {"2^31 buckets", in_table<std::uint32_t>(DT_GNU_HASH, 0, 1u << 31),
     "DT_GNU_HASH is larger than what is mapped of the file\n"},
    {"a hash that is nowhere", in_entry(DT_GNU_HASH, k_far), "DT_GNU_HASH is not in what is mapped of the file\n"},
    {"2^31 old buckets", in_table<std::uint32_t>(DT_HASH, 0, 1u << 31),
     "DT_HASH is larger than what is mapped of the file\n"},
    {"a chain that bites its tail",
     [](Library& l) {
       const std::size_t at = l.table(DT_HASH);
       const auto buckets = l.get<std::uint32_t>(at);
       for (std::uint32_t i = 0; i < buckets; ++i)
         if (const auto first = l.get<std::uint32_t>(at + 8 + 4 * i); first != 0)
           l.set<std::uint32_t>(at + 8 + 4 * buckets + 4 * first, first);
     },
     "DT_HASH has a chain without an end\n"},
    {"symbols elsewhere", in_entry(DT_SYMTAB, k_far), "is not in what is mapped of the file\n"},
    {"names elsewhere", in_entry(DT_STRTAB, k_far),
     "DT_STRTAB, where all names are, is not in what is mapped of the file\n"},
    {"names without an end", [](Library& l) { l.set(l.entry(DT_STRSZ), l.get<std::uint64_t>(l.entry(DT_STRSZ)) - 1); },
     "the last name in DT_STRTAB has no end\n"},
    {"a symbol without a name", in_table<std::uint32_t>(DT_SYMTAB, sizeof(Elf64_Sym), 0x7fffffff),
     "has no name in DT_STRTAB\n"},
    {"a relocation of code", in_table<std::uint64_t>(DT_RELA, 0, 0x1000),
     "a relocation writes to where nothing may be written\n"},
    {"a relocation of the dynamic section",
     [](Library& l) { l.set<std::uint64_t>(l.table(DT_RELA), l.get<Elf64_Phdr>(l.segment(PT_DYNAMIC)).p_vaddr + 8); },
     "a relocation writes into the dynamic section\n"},
    {"a function that is chosen by what is no code",
     in_table<std::uint64_t>(DT_JMPREL, 8, ELF64_R_INFO(0, R_X86_64_IRELATIVE)),
     "a relocation calls what is no code\n"},
    {"a relocation of a program", in_table<std::uint64_t>(DT_JMPREL, 8, ELF64_R_INFO(1, R_X86_64_COPY)),
     "a relocation copies as only a program may\n"},
    {"more relative relocations than there are",
     [](Library& l) {
       l.set<std::int64_t>(l.entry(DT_PLTGOT) - 8, DT_RELACOUNT);  // not every linker counts them
       l.set<std::uint64_t>(l.entry(DT_RELACOUNT), 9);
     },
     "DT_RELACOUNT counts relocations that are not relative\n"},
    {"half a relocation", in_entry(DT_PLTRELSZ, 0x61), "DT_JMPREL ends in the middle of a relocation\n"},
    {"relocations of another size", in_entry(DT_RELAENT, 16), "DT_RELA is of an unknown form\n"},
    {"relocations without a size", [](Library& l) { l.drop(DT_RELASZ); }, "DT_RELA is of an unknown form\n"},
    {"lazy relocations of another form", in_entry(DT_PLTREL, DT_REL), "DT_JMPREL is of an unknown form\n"},
    {"thread-local storage without place", in_segment<std::uint64_t>(PT_TLS, offsetof(Elf64_Phdr, p_vaddr), k_far),
     "PT_TLS is not in what is mapped of the file\n"},
    {"thread-local storage of 4 GB",
     in_segment<std::uint64_t>(PT_TLS, offsetof(Elf64_Phdr, p_memsz), std::uint64_t{1} << 32),
     "PT_TLS has 4294967296 bytes for each thread, and 8 in the file\n"},
    {"thread-local storage with a large alignment",
     in_segment<std::uint64_t>(PT_TLS, offsetof(Elf64_Phdr, p_align), std::uint64_t{1} << 40),
     "PT_TLS has an alignment of 1099511627776\n"},
    {"no thread-local storage", in_segment<std::uint32_t>(PT_TLS, 0, PT_NULL),
     "a relocation is about thread-local storage, of which the file has none\n"},
    {"notes elsewhere", in_segment<std::uint64_t>(PT_NOTE, offsetof(Elf64_Phdr, p_vaddr), k_far),
     "a segment of notes is not in what is mapped of the file\n"},
    {"a note of 2 GB",
     [](Library& l) { l.set<std::uint32_t>(l.get<Elf64_Phdr>(l.segment(PT_NOTE)).p_offset + 4, 1u << 31); },
     "a note is longer than its segment\n"},
    {"properties elsewhere",
     [](Library& l) {
       l.set<std::uint32_t>(l.segment(PT_GNU_EH_FRAME), PT_GNU_PROPERTY);
       l.set<std::uint64_t>(l.segment(PT_GNU_PROPERTY) + offsetof(Elf64_Phdr, p_vaddr), k_far);
     },
     "a segment of notes is not in what is mapped of the file\n"},
    {"program headers elsewhere", in_segment<std::uint32_t>(PT_GNU_EH_FRAME, 0, PT_PHDR),
     "PT_PHDR is elsewhere than the program headers\n"},
    {"code that becomes read-only",
     [](Library& l) { l.set<std::uint64_t>(l.segment(PT_GNU_RELRO) + offsetof(Elf64_Phdr, p_vaddr), 0x1000); },
     "PT_GNU_RELRO leaves the segment that may be written\n"},
    {"a dynamic section that is read-only, and said to be writable",
     [](Library& l) { l.set<std::uint64_t>(l.segment(PT_DYNAMIC) + offsetof(Elf64_Phdr, p_vaddr), 0x100); },
     "PT_DYNAMIC may be written, and is where nothing may be written\n"},
    {"an entry that is no code",
     [](Library& l) {
       for (std::size_t i = 0; i < 11; ++i) l.set<std::uint64_t>(l.table(DT_SYMTAB) + i * sizeof(Elf64_Sym) + 8, 0x100);
     },
     "berth_library_entry_v1 is where there is no code\n"},
    {"an init function that is no code",
     [](Library& l) {
       l.set<std::int64_t>(l.entry(DT_PLTGOT) - 8, DT_INIT);
       l.set<std::uint64_t>(l.entry(DT_INIT), 0x100);
     },
     "DT_INIT is where there is no code\n"},
    {"init functions that nothing has placed",
     [](Library& l) {
       l.set<std::int64_t>(l.entry(DT_PLTGOT) - 8, DT_INIT_ARRAY);
       l.set<std::uint64_t>(l.entry(DT_INIT_ARRAY), 0x100);
       l.set<std::int64_t>(l.entry(DT_FLAGS_1) - 8, DT_INIT_ARRAYSZ);
       l.set<std::uint64_t>(l.entry(DT_INIT_ARRAYSZ), 16);
     },
     "DT_INIT_ARRAY calls what no relocation has set\n"},
    {"init functions that are data",
     [](Library& l) {
       l.set<std::int64_t>(l.entry(DT_PLTGOT) - 8, DT_INIT_ARRAY);
       l.set(l.entry(DT_INIT_ARRAY), l.get<std::uint64_t>(l.table(DT_RELA)));
       l.set<std::int64_t>(l.entry(DT_FLAGS_1) - 8, DT_INIT_ARRAYSZ);
       l.set<std::uint64_t>(l.entry(DT_INIT_ARRAYSZ), 8);
     },
     "DT_INIT_ARRAY calls what is no code\n"},
};

TEST(BrokenTables, AreNamed) {
  ASSERT_EQ(Library().defects(), "");
  for (const Case& one : k_cases) {
    Library library;
    one.change(library);
    const std::string said = library.defects();
    EXPECT_NE(said.find(one.says), std::string::npos) << one.name << ": \"" << said << "\"";
  }
}

TEST(BrokenTables, AreRefusedByACodeOfTheirOwn) {
  ElfBuilder builder;
  builder.needed = {"libc.so.6"};
  builder.version_needs = {{"libgone.so.1", "GONE_1.0"}};
  PluginFile file;
  const std::string bytes = builder.build();
  judge_elf(as_bytes(bytes), HostMachine::of_this_process(), file);
  ASSERT_EQ(file.findings.size(), 1u);
  EXPECT_EQ(file.findings[0].code, "P027");
  EXPECT_EQ(file.findings[0].evidence[0], "DT_VERNEED asks for versions of libgone.so.1, which is not among DT_NEEDED");
}

}  // namespace
}  // namespace berth::loader
