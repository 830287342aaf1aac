// SPDX-License-Identifier: Apache-2.0
#include "loader/elf/elf_policy.hpp"

#include <gtest/gtest.h>

#include "unit/loader/elf_builder.hpp"

namespace berth::loader {
namespace {

using namespace std::string_literals;

FileRules rules() {
  FileRules rules;
  rules.machine = {EM_X86_64, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 2, "2.36"};
  rules.product = "berth 0.1.0";
  rules.host_services = {"berth.log/1"};
  return rules;
}

ElfBuilder good() { return ElfBuilder().berth_note("plugin=example.com/A\0version=1.0.0\0isa=x86-64-v2\0"s); }

PluginFile judged(const ElfBuilder& builder, const FileRules& given = rules()) {
  PluginFile file;
  file.path = "/plugins/a.so";
  const std::string bytes = builder.build();
  if (const auto elf = judge_elf(as_bytes(bytes), given.machine, file)) judge_notes(*elf, given, file);
  return file;
}

/// "P008: first evidence; second evidence", one line per finding.
std::string findings_of(const ElfBuilder& builder, const FileRules& given = rules()) {
  std::string text;
  for (const Finding& finding : judged(builder, given).findings) {
    text += finding.code + ":";
    for (const std::string& evidence : finding.evidence) text += " " + evidence + ";";
    text += "\n";
  }
  return text;
}

TEST(ElfPolicy, FindsNothingInAGoodFile) { EXPECT_EQ(findings_of(good()), ""); }

TEST(ElfPolicy, RefusesWhatTheCpuLacks) {
  ElfBuilder builder = ElfBuilder().berth_note("plugin=A\0version=1\0isa=x86-64-v4\0"s);
  EXPECT_EQ(findings_of(builder), "P007: built for x86-64-v4, this CPU has x86-64-v2;\n");
  FileRules newer = rules();
  newer.machine.x86_level = 4;
  EXPECT_EQ(findings_of(builder, newer), "");
}

TEST(ElfPolicy, RefusesWhatThePropertyNoteAsksOfTheCpu) {
  const std::uint32_t property[] = {0xc0008002u, 4, 0b100, 0};
  ElfBuilder builder = good();
  builder.note("GNU", NT_GNU_PROPERTY_TYPE_0, {reinterpret_cast<const char*>(property), sizeof property});
  EXPECT_EQ(findings_of(builder), "P007: built for x86-64-v3, this CPU has x86-64-v2;\n");
}

TEST(ElfPolicy, RefusesUnsafeLinkage) {
  struct Case {
    std::string name;
    void (*change)(ElfBuilder&);
    std::string want;
  };
  const Case cases[] = {
      {"stack", [](ElfBuilder& b) { b.stack_flags |= PF_X; }, "P008: PT_GNU_STACK asks for an executable stack;\n"},
      {"unsaid stack", [](ElfBuilder& b) { b.has_stack_segment = false; },
       "P008: no PT_GNU_STACK: the stack of the process would become executable;\n"},
      {"text relocations", [](ElfBuilder& b) { b.flags = {DF_TEXTREL}; },
       "P008: text relocations (DT_TEXTREL): not built with -fPIC;\n"},
      {"writable code", [](ElfBuilder& b) { b.load_flags = PF_R | PF_W | PF_X; },
       "P008: a segment is writable and executable;\n"},
      {"relative", [](ElfBuilder& b) { b.runpath = {"lib"}; },
       "P008: RUNPATH entry lib is relative to the working directory;\n"},
      {"empty", [](ElfBuilder& b) { b.runpath = {"$ORIGIN:"}; },
       "P008: RUNPATH has an empty entry, which means the working directory;\n"},
      {"leaves", [](ElfBuilder& b) { b.runpath = {"${ORIGIN}/../lib"}; },
       "P008: RUNPATH entry ${ORIGIN}/../lib leaves the plugin directory;\n"},
      {"below $ORIGIN", [](ElfBuilder& b) { b.runpath = {"$ORIGIN/lib"}; }, ""},
  };
  for (const Case& given : cases) {
    ElfBuilder builder = good();
    given.change(builder);
    EXPECT_EQ(findings_of(builder), given.want) << given.name;
  }
}

TEST(ElfPolicy, RefusesWhatWouldLoadLibrariesThatAreNotJudged) {
  struct Case {
    std::string name;
    void (*change)(ElfBuilder&);
    std::string want;
  };
  const std::string other = "the dynamic linker would see another file than is judged here: ";
  const Case cases[] = {
      {"a search path elsewhere", [](ElfBuilder& b) { b.runpath = {"$ORIGIN:/opt/lib"}; },
       "P008: RUNPATH entry /opt/lib is outside of the plugin directory;\n"},
      {"a search path elsewhere, by the old tag",
       [](ElfBuilder& b) {
         b.more_texts = {{DT_RPATH, "/opt/lib"}};
       },
       "P008: RUNPATH entry /opt/lib is outside of the plugin directory;\n"},
      {"both tags",
       [](ElfBuilder& b) {
         b.runpath = {"$ORIGIN"}, b.more_texts = {{DT_RPATH, "/opt/lib"}};
       },
       "P008: RPATH entry /opt/lib is outside of the plugin directory;\n"},
      {"looks like $ORIGIN", [](ElfBuilder& b) { b.runpath = {"$ORIGINAL/x"}; },
       "P008: RUNPATH entry $ORIGINAL/x is relative to the working directory;\n"},
      {"another word of the linker", [](ElfBuilder& b) { b.runpath = {"$ORIGIN/$LIB"}; },
       "P008: RUNPATH entry $ORIGIN/$LIB is relative to the working directory;\n"},
      {"a needed library by its path", [](ElfBuilder& b) { b.needed = {"/tmp/open/libx.so"}; },
       "P008: DT_NEEDED /tmp/open/libx.so is a path: needed libraries are named, not placed;\n"},
      {"a needed library by $LIB", [](ElfBuilder& b) { b.needed = {"$LIB"}; },
       "P008: DT_NEEDED $LIB is a path: needed libraries are named, not placed;\n"},
      {"no name", [](ElfBuilder& b) { b.needed = {""}; }, "P008: DT_NEEDED without a name;\n"},
      {"auxiliary",
       [](ElfBuilder& b) {
         b.more_texts = {{DT_AUXILIARY, "/tmp/libx.so"}};
       },
       "P008: DT_AUXILIARY /tmp/libx.so: loads a library that takes the place of this one;\n"},
      {"filter",
       [](ElfBuilder& b) {
         b.more_texts = {{DT_FILTER, "libx.so"}};
       },
       "P008: DT_FILTER libx.so: loads a library that takes the place of this one;\n"},
      {"audit",
       [](ElfBuilder& b) {
         b.more_texts = {{DT_AUDIT, "libx.so"}};
       },
       "P008: DT_AUDIT libx.so: loads a library that takes the place of this one;\n"},
      {"depaudit",
       [](ElfBuilder& b) {
         b.more_texts = {{DT_DEPAUDIT, "libx.so"}};
       },
       "P008: DT_DEPAUDIT libx.so: loads a library that takes the place of this one;\n"},
      {"dynamic section", [](ElfBuilder& b) { b.dynamic_elsewhere = 8; },
       "P008: " + other + "the dynamic section is at another place in memory than in the file;\n"},
      {"no end", [](ElfBuilder& b) { b.has_end = false; },
       "P008: " + other + "the dynamic section has no end (DT_NULL);\n"},
      {"texts cut", [](ElfBuilder& b) { b.exported = {}, b.needed = {"libc.so.6"}, b.strings_cut = 1; },
       "P011: berth_library_entry_v1 is not exported; the file exports nothing;\n"},
  };
  for (const Case& given : cases) {
    ElfBuilder builder = good();
    given.change(builder);
    const std::string seen = findings_of(builder);
    if (given.name == "texts cut") {
      EXPECT_NE(seen.find(other + "the name of a DT_NEEDED has no end within DT_STRTAB"), std::string::npos) << seen;
    } else {
      EXPECT_EQ(seen, given.want) << given.name;
    }
  }
}

TEST(ElfPolicy, RefusesSegmentsThatTheDynamicLinkerWouldLayOverOneAnother) {
  // The first segment that covers an address is what was judged, the last one is what is in memory.
  ElfBuilder builder = good();
  builder.more_segments = {ElfBuilder::segment(PT_LOAD, PF_R, 0, 64)};
  EXPECT_NE(findings_of(builder).find("segments share a page of memory"), std::string::npos);

  ElfBuilder second = good();
  second.more_segments = {ElfBuilder::segment(PT_DYNAMIC, PF_R, 0, 64)};
  EXPECT_NE(findings_of(second).find("2 dynamic sections"), std::string::npos);

  ElfBuilder moved = good();
  moved.load_elsewhere = 8;
  EXPECT_NE(findings_of(moved).find("mapped from another place than its offset says"), std::string::npos);
}

TEST(ElfPolicy, RefusesANewerCLibraryByItsNewestVersion) {
  ElfBuilder builder = good();
  builder.needed = {"libc.so.6", "libm.so.6", "libstdc++.so.6"};
  builder.version_needs = {{"libc.so.6", "GLIBC_2.34"},
                           {"libc.so.6", "GLIBC_2.38"},
                           {"libm.so.6", "GLIBC_2.37"},
                           {"libstdc++.so.6", "GLIBCXX_3.4.99"}};
  EXPECT_EQ(findings_of(builder), "P022: needs GLIBC_2.38, this system has 2.36;\n");
  FileRules newer = rules();
  newer.machine.glibc_version = "2.38";
  EXPECT_EQ(findings_of(builder, newer), "");
}

TEST(ElfPolicy, RecognisesMusl) {
  ElfBuilder builder = good();
  builder.needed = {"libc.musl-x86_64.so.1"};
  EXPECT_EQ(findings_of(builder), "P020: needs libc.musl-x86_64.so.1: built against musl, this berth uses glibc;\n");
}

TEST(ElfPolicy, RecognisesPluginsOfOtherSystems) {
  ElfBuilder builder;
  builder.note("Go", 4, "build id");
  EXPECT_EQ(findings_of(builder),
            "P010: no note of owner \"berth\" in the file; exports berth_library_entry_v1; it carries a Go build id: "
            "Go plugins "
            "do not run inside berth;\n");
}

TEST(ElfPolicy, RefusesOtherMachinesAndKinds) {
  ElfBuilder builder = good();
  builder.machine = EM_AARCH64;
  builder.type = ET_REL;
  EXPECT_EQ(findings_of(builder), "P006: built for aarch64, this is x86_64; an object file (ELF type 1);\n");
}

TEST(ElfPolicy, StillReadsTheNotesOfOtherMachines) {
  ElfBuilder builder = good();
  builder.machine = EM_AARCH64;
  const PluginFile file = judged(builder);
  ASSERT_EQ(file.notes.size(), 1u);
  EXPECT_EQ(file.notes[0].plugin, "example.com/A");
}

TEST(ElfPolicy, ListsAllMissingServicesAtOnce) {
  const ElfBuilder builder =
      ElfBuilder().berth_note("plugin=A\0version=1\0service=berth.x/1\0service=berth.log/1\0service=berth.y/2\0"s);
  EXPECT_EQ(findings_of(builder), "P013: requires services that berth 0.1.0 does not have: berth.x/1, berth.y/2;\n");
  FileRules alone = rules();
  alone.compare_services = false;
  EXPECT_EQ(findings_of(builder, alone), "");
}

TEST(ElfPolicy, LoadsWhatRequiresNoMoreThanTheHostHasWhateverItWasBuiltWith) {
  FileRules older = rules();
  older.abi_minor = 3;
  const auto built = [](std::uint16_t minor, std::uint16_t required) {
    return ElfBuilder().berth_note("plugin=example.com/A\0version=1\0"s, BERTH_ABI_MAJOR, minor, BERTH_DATA_MODEL,
                                   required);
  };
  EXPECT_EQ(findings_of(built(6, 1), older), "");
  EXPECT_EQ(findings_of(built(6, 3), older), "");
  EXPECT_EQ(findings_of(built(6, 4), older), "P013: requires ABI 1.4, berth 0.1.0 implements 1.3;\n");
  EXPECT_EQ(findings_of(built(99, 1), older), "");
  EXPECT_EQ(findings_of(built(2, 3), older),
            "P017: the note of example.com/A says that it was built for ABI 1.2 and requires 1.3;\n");
}

TEST(ElfPolicy, WithoutDraftsRefusesThoseOfOtherMinors) {
  FileRules strict = rules();
  strict.abi_minor = 6;
  strict.compare_services = false;
  strict.allow_draft_interfaces = false;
  const auto built = [](const std::string& services, std::uint16_t minor) {
    return ElfBuilder().berth_note("plugin=example.com/A\0version=1\0"s + services, BERTH_ABI_MAJOR, minor,
                                   BERTH_DATA_MODEL, 1);
  };
  const std::string drafts = "service=berth.draft.a/0\0service=berth.log/1\0service=berth.draft.b/0\0"s;
  EXPECT_EQ(findings_of(built(drafts, 5), strict),
            "P044: requires berth.draft.a/0, berth.draft.b/0 as of ABI 1.5, berth 0.1.0 implements 1.6;\n");
  EXPECT_EQ(findings_of(built(drafts, 7), strict),
            "P044: requires berth.draft.a/0, berth.draft.b/0 as of ABI 1.7, berth 0.1.0 implements 1.6;\n");
  EXPECT_EQ(findings_of(built(drafts, 6), strict), "") << "as they are in this berth";
  EXPECT_EQ(findings_of(built("points=berth.draft.c/0\0"s, 5), strict),
            "P044: requires berth.draft.c/0 as of ABI 1.5, berth 0.1.0 implements 1.6;\n");
  EXPECT_EQ(findings_of(built("service=berth.log/1\0"s, 5), strict), "");
  strict.allow_draft_interfaces = true;
  EXPECT_EQ(findings_of(built(drafts, 5), strict), "");
}

TEST(ElfPolicy, RefusesNamesThatAreReserved) {
  const auto named = [](const std::string& name) {
    return findings_of(ElfBuilder().berth_note("plugin=" + name + "\0version=1\0"s));
  };
  EXPECT_EQ(named("NodeResourcesFit"), "") << "in the place of one of kube-scheduler's";
  EXPECT_EQ(named("example.com/rack-spread"), "");
  EXPECT_EQ(named("notk8s.io/A"), "");
  EXPECT_EQ(named("rack_spread"),
            "P017: the name \"rack_spread\" has no domain, and is not in CamelCase as those that go without;\n");
  EXPECT_EQ(named("mine/Rack"), "P017: \"mine\" in \"mine/Rack\" is no domain;\n");
  EXPECT_EQ(named("k8s.io/Rack"), "P017: the domain of \"k8s.io/Rack\" is reserved: k8s.io is Kubernetes';\n");
  EXPECT_EQ(named("node.kubernetes.io/Rack"),
            "P017: the domain of \"node.kubernetes.io/Rack\" is reserved: kubernetes.io is Kubernetes';\n");
}

TEST(ElfPolicy, TellsWhatToDoWithAPluginOfAPreview) {
  ElfBuilder builder = ElfBuilder().berth_note("name: x\0service=berth.draft.x/0"s, 0, 6);
  builder.exported = {"berth_library_entry_v0"};
  const PluginFile file = judged(builder);
  ASSERT_EQ(file.findings.size(), 1u);
  EXPECT_EQ(file.findings[0].code, "P015");
  EXPECT_EQ(file.findings[0].evidence[0], "built for ABI 0.6, a preview; berth 0.1.0 implements 1." +
                                              std::to_string(BERTH_ABI_MINOR) + " and loads plugins from 1.0 on");
  EXPECT_EQ(file.findings[0].advice,
            "rebuild the plugin against SDK 1.0 or later: what changed stands in the SDK's CHANGELOG.md");
}

TEST(ElfPolicy, SaysNothingAboutTheEntriesOfAnotherMajor) {
  const ElfBuilder builder = ElfBuilder().berth_note("name: x\0service=berth.x/1"s, 3, 9);
  EXPECT_EQ(findings_of(builder), "P012: built for ABI 3.9, berth 0.1.0 implements " + std::to_string(BERTH_ABI_MAJOR) +
                                      "." + std::to_string(BERTH_ABI_MINOR) + ";\n");
}

}  // namespace
}  // namespace berth::loader
