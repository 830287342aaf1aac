// SPDX-License-Identifier: Apache-2.0
// Animals that load, and misbehave later: shown to the whole program, with one pod to place. Expected texts as in
// zoo_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "zoo/zoo_files.hpp"

namespace berth::zoo {
namespace {

namespace fs = std::filesystem;

/// Without the line of times: "read … s, decided N in … s, R/s".
std::string without_times(const std::string& output) {
  std::istringstream lines(output);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("read ", 0) != 0) kept += line + "\n";
  }
  return kept;
}

class ZooInHost : public testing::TestWithParam<const char*> {};

TEST_P(ZooInHost, IsNamedInWhatTheProgramSays) {
  const std::string name = GetParam();
  const PluginFolder folder;
  folder.add(name);
  for (const char* const needed : {"priority_sort.so", "default_binder.so"}) {
    folder.write(content_of(fs::path(BERTH_PLUGINS) / needed), needed);
  }
  const std::string decisions = (folder.path().parent_path() / "decisions.json").string();
  std::vector<std::string> words = {BERTH_PROGRAM,  "simulate",
                                    "--cluster",    BERTH_ZOO_HOST "/cluster.yaml",
                                    "--plugin-dir", folder.path().string(),
                                    "--config",     BERTH_ZOO_HOST "/config.yaml",
                                    "--decisions",  decisions};
  // A single pass decides without binding.
  if (name != "crash_in_pre_bind") words.emplace_back("--single-pass");
  const Ending ending = run(words, Capture::errors_only);
  const std::string seen = normalised(without_times(ending.output) + ending.how + "\n" + content_of(decisions), folder);
  const fs::path expected = fs::path(BERTH_ZOO_EXPECTED) / ("in_host_" + name + ".txt");
  if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(expected) << seen;
  EXPECT_EQ(seen, content_of(expected));
}

INSTANTIATE_TEST_SUITE_P(Animal, ZooInHost,
                         testing::Values("good", "throws_in_create", "refuses_create", "throws_in_filter",
                                         "score_out_of_range", "crash_in_filter", "abort_in_filter",
                                         "crash_in_pre_bind"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ZooDrafts, WithoutThemBerthsOwnPluginsLoadAndThoseOfAnotherMinorDoNot) {
  const PluginFolder folder;
  for (const auto& file : fs::directory_iterator(BERTH_PLUGINS))
    if (file.path().extension() == ".so") folder.write(content_of(file.path()), file.path().filename().string());
  const auto simulate = [&](const char* config) {
    return run({BERTH_PROGRAM, "simulate", "--cluster", BERTH_ZOO_HOST "/cluster.yaml", "--plugin-dir",
                folder.path().string(), "--config", std::string(BERTH_ZOO_HOST "/") + config},
               Capture::all);
  };
  const Ending own = simulate("no_drafts.yaml");
  EXPECT_EQ(own.how, "exit 0") << own.output;
  folder.add("needs_draft");
  const Ending refused = simulate("no_drafts_animal.yaml");
  EXPECT_EQ(refused.how, "exit 1") << refused.output;
  EXPECT_NE(refused.output.find("BERTH-P044"), std::string::npos) << refused.output;
}

/// Four pods of one class and sixteen nodes, with and without verdicts that are checked.
Ending simulate_reuse(const PluginFolder& folder, const char* config, const std::vector<std::string>& more = {}) {
  for (const char* const needed : {"priority_sort.so", "default_binder.so"})
    folder.write(content_of(fs::path(BERTH_PLUGINS) / needed), needed);
  std::vector<std::string> words = {BERTH_PROGRAM,  "simulate",
                                    "--cluster",    BERTH_ZOO_HOST "/equal_pods.yaml",
                                    "--plugin-dir", folder.path().string(),
                                    "--config",     std::string(BERTH_ZOO_HOST "/") + config};
  words.insert(words.end(), more.begin(), more.end());
  return run(words, Capture::all);
}

TEST(ZooReuse, AnInputThatIsNotDeclaredIsNamedAndFailsTheRun) {
  const PluginFolder folder;
  folder.add("hidden_input");
  const Ending ending = simulate_reuse(folder, "verify.yaml");
  EXPECT_EQ(ending.how, "exit 1") << ending.output;
  EXPECT_NE(ending.output.find("berth: plugin zoo.example.com/Animal: filter of node "), std::string::npos)
      << ending.output;
  EXPECT_NE(ending.output.find(" for pod batch/job-2: the kept answer was \"fits\", a fresh one is \"does not fit\""),
            std::string::npos)
      << ending.output;
}

TEST(ZooTraps, APluginThatReadsPodFieldsItDidNotAskForIsNamed) {
  const PluginFolder folder;
  folder.add("reads_unasked_field");
  const Ending trapped = simulate_reuse(folder, "verify.yaml");
  EXPECT_EQ(trapped.how, "killed by SIGSEGV") << trapped.output;
  EXPECT_NE(trapped.output.find("SIGSEGV in plugin zoo.example.com/Animal 1.2.0"), std::string::npos) << trapped.output;
  EXPECT_NE(trapped.output.find(" filter, pod batch/job-"), std::string::npos) << trapped.output;
  EXPECT_NE(trapped.output.find(", reads pod fields that it did not ask for in create()"), std::string::npos)
      << trapped.output;
  const PluginFolder same;
  same.add("reads_unasked_field");
  EXPECT_EQ(simulate_reuse(same, "config.yaml").how, "exit 0") << "outside of checks it sees a pod without labels";
}

TEST(ZooReuse, APluginThatDeclaresWhatItReadsPasses) {
  const PluginFolder folder;
  folder.add("declared_input");
  const Ending ending = simulate_reuse(folder, "verify.yaml");
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
}

/// Records decisions that reuse verdicts, and decides them again, which reuses none.
Ending replay_of(const PluginFolder& folder) {
  const std::string recording = (folder.path().parent_path() / "recording").string();
  const Ending recorded = simulate_reuse(folder, "config.yaml", {"--record", recording});
  EXPECT_EQ(recorded.how, "exit 0") << recorded.output;
  return run({BERTH_PROGRAM, "replay", "--plugin-dir", folder.path().string(), recording}, Capture::all);
}

TEST(ZooReplay, AnInputThatIsNotDeclaredMakesADecisionComeOutDifferently) {
  const PluginFolder folder;
  folder.add("hidden_input");
  const Ending ending = replay_of(folder);
  EXPECT_EQ(ending.how, "exit 1") << ending.output;
  EXPECT_NE(ending.output.find(" batch/job-2 (attempt 1)\n  recorded: node a of 16 that fit\n  replayed: node a of 15 "
                               "that fit\n"),
            std::string::npos)
      << ending.output;
  EXPECT_NE(ending.output.find("4 decisions: 1 came out the same, 3 did not"), std::string::npos) << ending.output;
}

TEST(ZooReplay, OneThatIsDeclaredDoesNot) {
  const PluginFolder folder;
  folder.add("declared_input");
  const Ending ending = replay_of(folder);
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
  EXPECT_NE(ending.output.find("4 decisions: 4 came out the same, 0 did not"), std::string::npos) << ending.output;
}

}  // namespace
}  // namespace berth::zoo
