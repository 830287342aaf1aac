// SPDX-License-Identifier: Apache-2.0
// `berth plugin verify` and `berth plugin bench`: plugins that are each wrong in one way fail by the number of the check that
// is about it, whatever they do to the process, and those that are right pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "text/diagnostics.hpp"
#include "text/parse.hpp"
#include "zoo/zoo_files.hpp"

namespace berth::zoo {
namespace {

namespace fs = std::filesystem;
using Numbers = std::set<std::string>;

std::string animal(const std::string& name) { return std::string(BERTH_ZOO_ANIMALS) + "/" + name + ".so"; }

std::vector<std::string> words(const std::string& command, const std::string& file,
                               std::vector<std::string> more = {}) {
  std::vector<std::string> all = {BERTH_PROGRAM, "plugin", command, file, "--plugin-dir", BERTH_PLUGINS};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct Verified {
  Ending ending;
  Numbers failed, passed;
};

Verified verify(const std::string& file, std::vector<std::string> more = {}) {
  more.push_back("--json");
  Verified verified;
  verified.ending = run(words("verify", file, more));
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(verified.ending.output, "verify", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << verified.ending.output;
  if (documents.empty()) return verified;
  const text::Value* const checks = documents.front().root().find("checks");
  if (checks == nullptr) return verified;
  for (const text::Value& check : checks->elements())
    (check.find("passed")->boolean() ? verified.passed : verified.failed).emplace(check.find("number")->text());
  return verified;
}

struct Wrong {
  const char* animal;
  const char* check;  // that has to fail; others may, after it
  const char* says;   // somewhere in the output
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.animal; }

class PluginVerify : public testing::TestWithParam<Wrong> {};

TEST_P(PluginVerify, NamesTheCheckThatAWrongPluginFails) {
  const Wrong& wrong = GetParam();
  std::vector<std::string> only;
  if (std::string(wrong.check) != "V01") only = {"--checks", wrong.check};
  // Only what hangs is to be ended for its time: a machine may be slow.
  if (std::string(wrong.animal).starts_with("hangs")) only.insert(only.end(), {"--time-limit-seconds", "5"});
  const Verified verified = verify(animal(wrong.animal), only);
  EXPECT_EQ(verified.ending.how, "exit 1");
  EXPECT_EQ(verified.failed, Numbers{wrong.check}) << verified.ending.output;
  EXPECT_NE(verified.ending.output.find(wrong.says), std::string::npos) << verified.ending.output;
}

INSTANTIATE_TEST_SUITE_P(
    Animal, PluginVerify,
    testing::Values(
        Wrong{"no_note", "V01", "BERTH-P0"}, Wrong{"other_major", "V01", "BERTH-P0"},
        Wrong{"crashing_constructor", "V02", "killed by SIGSEGV"}, Wrong{"refuses_create", "V02", ""},
        Wrong{"throws_in_create", "V02", ""}, Wrong{"hangs_in_filter", "V04", "did not end within 5 s"},
        Wrong{"crash_in_filter", "V04", "killed by SIGSEGV"}, Wrong{"abort_in_filter", "V04", "killed by SIGABRT"},
        Wrong{"throws_in_filter", "V04", ""}, Wrong{"overflow_in_filter", "V04", "killed by SIGSEGV"},
        Wrong{"score_out_of_range", "V04", "invalid score 101"}, Wrong{"wild_pointer", "V04", ""},
        Wrong{"reads_unasked_field", "V04", ""}, Wrong{"crash_in_pre_bind", "V04", "killed by SIGSEGV"},
        Wrong{"hidden_input", "V07", "zoo.example.com/Animal"}, Wrong{"never_answers", "V08", "is not bound"},
        Wrong{"answers_twice", "V08", "was completed twice"},
        Wrong{"answers_after_destroy", "V02", "threads are left after destroy()"},
        Wrong{"leaves_descriptors", "V02", "file descriptors are left after destroy()"},
        Wrong{"takes_any_args", "V03", "{noSuchField: 1} are accepted"},
        Wrong{"exits_in_filter", "V04", "zoo.example.com/Animal"},
        Wrong{"writes_past_end", "V04", "wrote past the end"}, Wrong{"changes_its_mind", "V05", "by a new instance"},
        Wrong{"judges_by_slot", "V06", "with the nodes in the opposite order"},
        Wrong{"leaks_in_filter", "V09", "memory grows"}, Wrong{"works_long_in_filter", "V10", "more for each node"},
        Wrong{"small_table", "V11", "zoo.example.com/Animal"}, Wrong{"ignores_no_column", "V12", "killed by SIGSEGV"},
        Wrong{"keeps_reservations", "V13", "after attempts that were given up"},
        Wrong{"counts_rows", "V14", "in a block of"}, Wrong{"shares_state", "V15", "imagined away and back"},
        Wrong{"matches_in_filter", "V16", "match() of berth.labels/1 was denied in"},
        Wrong{"allocates_per_node", "V17",
              "filter of zoo.example.com/Animal allocates 1500 times in an attempt with 2000 nodes"}),
    [](const auto& test) { return std::string(test.param.animal); });

TEST(PluginVerify, PassesAGoodPlugin) {
  const Verified verified = verify(animal("good"));
  EXPECT_EQ(verified.ending.how, "exit 0") << verified.ending.output;
  EXPECT_EQ(verified.passed.size(), 17u) << verified.ending.output;
}

TEST(PluginVerify, PassesThePoliciesOfBerth) {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(BERTH_PLUGINS)) {
    // Five of the legacy policies cannot be made without args: a configuration gives them.
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".so" || name == "legacy.so") continue;
    const Verified verified =
        verify(entry.path().string(), {"--checks", "V02,V03,V04,V05,V06,V07,V08,V09,V12,V13,V14,V15,V16,V17"});
    EXPECT_EQ(verified.ending.how, "exit 0") << name << '\n' << verified.ending.output;
    ++seen;
  }
  EXPECT_GE(seen, 20u);
  const std::vector<std::string> configured = {"--config", BERTH_ZOO_HOST "/legacy.yaml"};
  const Verified legacy = verify(std::string(BERTH_PLUGINS) + "/legacy.so", configured);
  EXPECT_EQ(legacy.ending.how, "exit 0") << legacy.ending.output;
}

TEST(PluginVerify, SaysWhatACallAllocates) {
  const Verified verified = verify(animal("allocates_five_times"), {"--checks", "V17"});
  EXPECT_EQ(verified.ending.how, "exit 0") << verified.ending.output;
  EXPECT_NE(verified.ending.output.find("filter 5 (692 bytes) per call"), std::string::npos) << verified.ending.output;
  const Verified none = verify(animal("good"), {"--checks", "V17"});
  EXPECT_NE(none.ending.output.find("filter 0 per call"), std::string::npos) << none.ending.output;
}

TEST(PluginVerify, RefusesAnUnknownCheck) {
  EXPECT_EQ(run(words("verify", animal("good"), {"--checks", "V99"})).how, "exit 2");
}

TEST(PluginBench, SaysWhatANodeCosts) {
  const Ending ending = run(words("bench", animal("good"), {"--nodes", "200", "--rounds", "3", "--json"}));
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(ending.output, "bench", diagnostics);
  ASSERT_FALSE(documents.empty()) << ending.output;
  for (const char* const field : {"decisionNs", "decisionWithoutNs", "reusedNs", "reusedWithoutNs"}) {
    const text::Value* const ns = documents.front().root().find(field);
    ASSERT_NE(ns, nullptr) << ending.output;
    EXPECT_GT(ns->real().value_or(0), 0) << field;
  }
}

TEST(PluginBench, SaysWhatACallAllocates) {
  const Ending ending =
      run(words("bench", animal("allocates_five_times"), {"--nodes", "100", "--rounds", "3", "--json"}));
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(ending.output, "bench", diagnostics);
  ASSERT_FALSE(documents.empty()) << ending.output;
  const text::Value* const allocations = documents.front().root().find("allocations");
  ASSERT_NE(allocations, nullptr) << ending.output;
  bool is_there = false;
  for (const text::Value& at : allocations->elements()) {
    if (at.find("point")->text() != "filter") continue;
    is_there = true;
    EXPECT_EQ(at.find("plugin")->text(), "zoo.example.com/Animal");
    EXPECT_GT(at.find("calls")->real().value_or(0), 0);
    EXPECT_EQ(at.find("perCall")->real().value_or(0), 5);
    EXPECT_EQ(at.find("bytesPerCall")->real().value_or(0), 692);
  }
  EXPECT_TRUE(is_there) << ending.output;
}

}  // namespace
}  // namespace berth::zoo
