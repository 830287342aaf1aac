// SPDX-License-Identifier: Apache-2.0
// The zoo: every way of being wrong, shown to the loader in a process of its own. What is expected stands in expected/,
// one file per case: all that was printed, then how the process ended. BERTH_UPDATE=1 rewrites them; `git diff` reviews
// them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "zoo/zoo_files.hpp"

namespace berth::zoo {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_animal = "zoo.example.com/Animal";

struct Case {
  std::string name;  // of the case and of its expected text
  std::function<void(const PluginFolder&)> arrange;
  std::vector<std::string> options = {"--want", k_animal};
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// The animal of that name, alone in the directory.
Case animal(const std::string& name, std::vector<std::string> options = {"--want", k_animal}) {
  return {name, [name](const PluginFolder& folder) { folder.add(name); }, std::move(options)};
}

Case made(const std::string& name, std::string (*change)(std::string good)) {
  return {name, [change](const PluginFolder& folder) { folder.write(change(PluginFolder::bytes_of("good"))); }};
}

std::vector<Case> files_that_are_no_plugins() {
  return {
      made("empty_file", [](std::string) { return std::string(); }),
      made("text_file", [](std::string) { return std::string("#!/bin/sh\necho I am a plugin, honestly\n"); }),
      made("cut_in_the_middle", [](std::string good) { return good.substr(0, good.size() / 2); }),
      made("cut_at_the_end", [](std::string good) { return good.substr(0, good.size() - 16); }),
      made("cut_in_the_header", [](std::string good) { return good.substr(0, 40); }),
      made("other_machine",
           [](std::string good) {
             good[18] = static_cast<char>(183), good[19] = 0;
             return good;
           }),  // aarch64
      made("big_endian",
           [](std::string good) {
             // Every number of the header the other way round, as a file from such a machine has it.
             good[5] = 2;
             const auto turn = [&](std::size_t at, std::size_t bytes) {
               for (std::size_t i = 0; i < bytes / 2; ++i) std::swap(good[at + i], good[at + bytes - 1 - i]);
             };
             for (const std::size_t at : {16, 18, 52, 54, 56, 58, 60, 62}) turn(at, 2);
             for (const std::size_t at : {20, 48}) turn(at, 4);
             for (const std::size_t at : {24, 32, 40}) turn(at, 8);
             return good;
           }),
      made("thirty_two_bits",
           [](std::string good) {
             good[4] = 1;
             return good;
           }),
      {"directory_named_so", [](const PluginFolder& folder) { fs::create_directory(folder.path() / "animal.so"); }},
  };
}

std::vector<Case> files_in_unsafe_places() {
  return {
      {"writable_by_others",
       [](const PluginFolder& folder) {
         folder.add("good");
         ::chmod((folder.path() / "animal.so").c_str(), 0666);
       }},
      {"directory_writable_by_others",
       [](const PluginFolder& folder) {
         folder.add("good");
         ::chmod(folder.path().c_str(), 0777);
       }},
      {"link_leads_outside",
       [](const PluginFolder& folder) {
         folder.add("good", "../good.so");
         fs::create_symlink("../good.so", folder.path() / "animal.so");
       }},
      {"link_leads_nowhere",
       [](const PluginFolder& folder) { fs::create_symlink("..data/animal.so", folder.path() / "animal.so"); }},
      {"link_inside_the_directory",
       [](const PluginFolder& folder) {
         fs::create_directory(folder.path() / "..2026_data");
         ::chmod((folder.path() / "..2026_data").c_str(), 0755);
         folder.add("good", "..2026_data/animal.so");
         fs::create_symlink("..2026_data", folder.path() / "..data");
         fs::create_symlink("..data/animal.so", folder.path() / "animal.so");
       }},
      {"sticky_directory",
       [](const PluginFolder& folder) {
         folder.add("good");
         ::chmod(folder.path().c_str(), 01777);
       }},
      {"no_directory", [](const PluginFolder& folder) { fs::remove(folder.path()); }},
      {"empty_directory", [](const PluginFolder&) {}},
  };
}

std::vector<Case> choices_of_files() {
  return {
      {"good", [](const PluginFolder& folder) { folder.add("good"); }},
      {"not_wanted", [](const PluginFolder& folder) { folder.add("hanging_constructor"); }, {}},
      {"duplicate_name",
       [](const PluginFolder& folder) {
         folder.add("good", "one.so");
         folder.add("good", "two.so");
       }},
      {"name_misspelt", [](const PluginFolder& folder) { folder.add("good"); }, {"--want", "zoo.example.com/Aminal"}},
      {"several_problems_at_once",
       [](const PluginFolder& folder) {
         folder.add("good", "fine.so");
         folder.add("no_note", "silent.so");
         folder.write("text", "text.so");
         folder.add("executable_stack", "stack.so");
       },
       {"--want", k_animal, "--want", "example.com/RackSpread", "--pin", "gone.so"}},
      {"wrong_digest",
       [](const PluginFolder& folder) { folder.add("good"); },
       {"--want", k_animal, "--pin", "animal.so=" + std::string(64, '0')}},
      {"digest_required",
       [](const PluginFolder& folder) { folder.add("good"); },
       {"--want", k_animal, "--require-digest"}},
      {"strict_leaves_others_alone",
       [](const PluginFolder& folder) {
         folder.add("good");
         folder.write("text", "text.so");
       },
       {"--want", k_animal, "--strict", "--pin", "animal.so"}},
      {"strict_without_the_file",
       [](const PluginFolder& folder) { folder.add("good"); },
       {"--want", k_animal, "--strict"}},
  };
}

std::vector<Case> animals() {
  std::vector<Case> cases;
  for (const char* const name : {"other_major",
                                 "preview",
                                 "newer_minor",
                                 "other_data_model",
                                 "no_entry",
                                 "mangled_entry",
                                 "no_note",
                                 "other_system",
                                 "cut_note",
                                 "executable_stack",
                                 "relative_runpath",
                                 "fast_math",
                                 "undefined_symbol",
                                 "missing_library",
                                 "throwing_constructor",
                                 "crashing_constructor",
                                 "throwing_entry",
                                 "null_library",
                                 "half_interface",
                                 "struct_size_zero",
                                 "struct_size_huge",
                                 "null_point_id",
                                 "wild_pointer",
                                 "control_characters",
                                 "disagrees",
                                 "missing_service",
                                 "unknown_point",
                                 "newer_header",
                                 "requires_more_than_built",
                                 "no_reasons",
                                 "plugin_flags"}) {
    cases.push_back(animal(name));
  }
  cases.push_back(animal("hanging_constructor", {"--want", k_animal, "--limit-ms", "300"}));
  cases.push_back(animal("reserved_name", {"--want", "scheduling.k8s.io/Animal"}));
  cases.push_back(animal("needs_draft", {"--want", k_animal}));
  for (const char* const name : {"resets_handlers", "crash_in_filter", "abort_in_filter", "overflow_in_filter"}) {
    cases.push_back(animal(name, {"--want", k_animal, "--call-filter"}));
  }
  return cases;
}

std::string expected_text(const std::string& name) {
  std::ifstream file(fs::path(BERTH_ZOO_EXPECTED) / (name + ".txt"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Zoo : public testing::TestWithParam<Case> {};

TEST_P(Zoo, SaysWhatIsWrong) {
  const Case& given = GetParam();
  const PluginFolder folder;
  given.arrange(folder);
  std::vector<std::string> words = {BERTH_ZOO_RUNNER, folder.path().string()};
  words.insert(words.end(), given.options.begin(), given.options.end());
  const Ending ending = run(words);
  const std::string seen = normalised(ending.output, folder) + ending.how + "\n";
  if (std::getenv("BERTH_UPDATE") != nullptr) {
    std::ofstream(fs::path(BERTH_ZOO_EXPECTED) / (given.name + ".txt")) << seen;
  }
  EXPECT_EQ(seen, expected_text(given.name));
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(NoPlugin, Zoo, testing::ValuesIn(files_that_are_no_plugins()), name_of);
INSTANTIATE_TEST_SUITE_P(Place, Zoo, testing::ValuesIn(files_in_unsafe_places()), name_of);
INSTANTIATE_TEST_SUITE_P(Choice, Zoo, testing::ValuesIn(choices_of_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Animal, Zoo, testing::ValuesIn(animals()), name_of);

}  // namespace
}  // namespace berth::zoo
