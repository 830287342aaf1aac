// SPDX-License-Identifier: Apache-2.0
#include "loader/elf/elf_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "loader/elf/plugin_note.hpp"
#include "unit/loader/elf_builder.hpp"

namespace berth::loader {
namespace {

using namespace std::string_literals;

const std::string k_entries =
    "plugin=example.com/RackSpread\0version=1.2.0\0points=berth.filter/1\0points=berth.score/1\0"
    "service=berth.log/1\0watch=core/v1/services\0rbac=create core/pods/binding\0"
    "sdk=0.1.0\0compiler=gcc 12\0isa=x86-64-v2\0colour=blue\0"s;

ElfFile read(const std::string& bytes) {
  ElfDefect defect;
  std::optional<ElfFile> file = ElfFile::read(as_bytes(bytes), defect);
  EXPECT_TRUE(file.has_value()) << defect.sentence;
  return file.value_or(ElfFile{});
}

ElfDefect defect_of(const std::string& bytes) {
  ElfDefect defect;
  EXPECT_FALSE(ElfFile::read(as_bytes(bytes), defect).has_value());
  return defect;
}

TEST(ElfFile, ReadsWhatTheDynamicTableSays) {
  ElfBuilder builder;
  builder.needed = {"libstdc++.so.6", "libc.so.6"};
  builder.runpath = {"$ORIGIN"};
  builder.exported = {"berth_library_entry_v1", "another"};
  builder.version_needs = {{"libc.so.6", "GLIBC_2.34"}, {"libm.so.6", "GLIBC_2.29"}};
  builder.flags = {DF_TEXTREL | DF_STATIC_TLS};
  const std::string bytes = builder.build();
  const ElfFile file = read(bytes);
  EXPECT_EQ(file.machine, EM_X86_64);
  EXPECT_EQ(file.needed, (std::vector<std::string_view>{"libstdc++.so.6", "libc.so.6"}));
  EXPECT_EQ(file.runpath, "$ORIGIN");
  EXPECT_EQ(file.exported, (std::vector<std::string_view>{"berth_library_entry_v1", "another"}));
  EXPECT_EQ(file.exported_count, 2u);
  ASSERT_EQ(file.version_needs.size(), 2u);
  EXPECT_EQ(file.version_needs[1].library, "libm.so.6");
  EXPECT_EQ(file.version_needs[1].version, "GLIBC_2.29");
  EXPECT_TRUE(file.text_relocations);
  EXPECT_TRUE(file.static_tls);
  EXPECT_FALSE(file.executable_stack);
}

TEST(ElfFile, ReadsBuildIdAndInstructionSets) {
  const std::uint32_t property[] = {0xc0008002u, 4, 0b110, 0};
  ElfBuilder builder;
  builder.note("GNU", NT_GNU_BUILD_ID, "\x9a\x22\xff"s);
  builder.note("GNU", NT_GNU_PROPERTY_TYPE_0, {reinterpret_cast<const char*>(property), sizeof property});
  const std::string bytes = builder.build();
  const ElfFile file = read(bytes);
  EXPECT_EQ(file.build_id, "9a22ff");
  EXPECT_EQ(file.x86_isa_needed, 0b110u);
}

TEST(ElfFile, TakesAnUnsaidStackForAnExecutableOne) {
  ElfBuilder builder;
  builder.has_stack_segment = false;
  EXPECT_TRUE(read(builder.build()).executable_stack);
  builder.has_stack_segment = true;
  builder.stack_flags = PF_R | PF_W | PF_X;
  EXPECT_TRUE(read(builder.build()).executable_stack);
}

TEST(ElfFile, ReadsIdentityNotes) {
  const std::string bytes =
      ElfBuilder().note("other", 1, "plugin=no").berth_note(k_entries).berth_note("plugin=B\0"s).build();
  const PluginNotes notes = read_plugin_notes(read(bytes));
  EXPECT_TRUE(notes.defects.empty());
  ASSERT_EQ(notes.plugins.size(), 2u);
  const PluginNote& note = notes.plugins[0];
  EXPECT_EQ(note.plugin, "example.com/RackSpread");
  EXPECT_EQ(note.version, "1.2.0");
  EXPECT_EQ(note.points, (std::vector<std::string>{"berth.filter/1", "berth.score/1"}));
  EXPECT_EQ(note.services, std::vector<std::string>{"berth.log/1"});
  EXPECT_EQ(note.watches, std::vector<std::string>{"core/v1/services"});
  EXPECT_EQ(note.rbac, std::vector<std::string>{"create core/pods/binding"});
  EXPECT_EQ(note.isa, "x86-64-v2");
  EXPECT_EQ(note.minor_built, BERTH_ABI_MINOR);
  EXPECT_EQ(notes.plugins[1].plugin, "B");
}

TEST(ElfFile, NamesWhatIsWrongWithANote) {
  struct Case {
    std::string entries;
    std::string want;
  };
  for (const Case& given : {Case{"plugin=x"s, "the last entry of the note has no end"},
                            Case{"version=1\0"s, "a note without plugin= entry"},
                            Case{"plugin=x\0plugin=y\0"s, "a note with more than one plugin= entry"},
                            Case{"plugin=x\0isa=v2\0isa=v3\0"s, "a note with more than one isa= entry"},
                            Case{"plugin=x\0hello\0"s, "an entry without '=' in the note: hello"}}) {
    const PluginNotes notes = read_plugin_notes(read(ElfBuilder().berth_note(given.entries).build()));
    EXPECT_TRUE(notes.plugins.empty());
    EXPECT_EQ(notes.defects, std::vector<std::string>{given.want});
  }
  const PluginNotes shortest = read_plugin_notes(read(ElfBuilder().note("berth", 1, "abc").build()));
  EXPECT_EQ(shortest.defects, std::vector<std::string>{"a note of 3 bytes, at least 8 expected"});
}

TEST(ElfFile, ReadsNotesInTheByteOrderOfTheFile) {
  // Only the note is turned: the numbers of the descriptor are what a wrong order would garble.
  ElfFile file;
  const std::string descriptor = "\0\7\0\1\0\1\0\1plugin=x\0"s;
  file.big_endian = true;
  file.notes = {{"berth", 1, as_bytes(descriptor)}};
  const PluginNotes notes = read_plugin_notes(file);
  ASSERT_EQ(notes.plugins.size(), 1u);
  EXPECT_EQ(notes.plugins[0].abi_major, 7);
}

TEST(ElfFile, TellsTruncatedFromForeign) {
  EXPECT_EQ(defect_of("").kind, ElfDefect::Kind::not_elf);
  EXPECT_EQ(defect_of("#!/bin/sh\necho a script").kind, ElfDefect::Kind::not_elf);
  const std::string whole = ElfBuilder().berth_note(k_entries).build();
  EXPECT_EQ(defect_of(whole.substr(0, 40)).kind, ElfDefect::Kind::truncated);
  EXPECT_EQ(defect_of(whole.substr(0, whole.size() - 1)).kind, ElfDefect::Kind::truncated);
  std::string narrow = whole;
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(defect_of(narrow).kind, ElfDefect::Kind::wrong_class);
}

TEST(ElfFile, SurvivesEveryCut) {
  const std::string whole = ElfBuilder().berth_note(k_entries).build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees a read beyond it.
    const std::string cut(whole, 0, size);
    defect_of(cut);
  }
}

TEST(ElfFile, SurvivesChangedBytes) {
  ElfBuilder builder;
  builder.needed = {"libc.so.6"};
  builder.version_needs = {{"libc.so.6", "GLIBC_2.34"}};
  const std::string whole = builder.berth_note(k_entries).build();
  const unsigned seed = 20261120;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int readable = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = whole;
    for (int i = 0; i < 3; ++i)
      changed[random() % changed.size()] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    ElfDefect defect;
    if (const std::optional<ElfFile> file = ElfFile::read(as_bytes(changed), defect)) {
      ++readable;
      read_plugin_notes(*file);
    } else {
      EXPECT_FALSE(defect.sentence.empty());
    }
  }
  EXPECT_GT(readable, 1000);  // most changes hit what does not matter to the reader
}

TEST(PluginName, IsWhatCanBeShownAndFiled) {
  for (const char* const good : {"NodeName", "example.com/RackSpread", "a.b-c_d/E1"})
    EXPECT_TRUE(is_plugin_name(good)) << good;
  for (const char* const bad : {"", "/", "a/", "/b", "a/b/c", "a b", "a\tb", "a\x1b[0m", "ä"})
    EXPECT_FALSE(is_plugin_name(bad)) << bad;
  EXPECT_FALSE(is_plugin_name(std::string(400, 'a')));
}

}  // namespace
}  // namespace berth::loader
