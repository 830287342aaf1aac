// SPDX-License-Identifier: Apache-2.0
// Plugins that end the process they run in: the exit status says so, and a message names the plugin.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "zoo/zoo_files.hpp"

namespace berth::zoo {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool says_once(const std::string& text, const std::string& part) {
  return has(text, part) && text.find(part) == text.rfind(part);
}

class EndingTest : public testing::Test {
 protected:
  ~EndingTest() override {
    ::unsetenv("BERTH_ZOO_END");
    ::unsetenv("BERTH_ZOO_WHERE");
  }
  void arrange(const std::string& animal) const {
    folder_.add(animal);
    for (const char* const needed : {"priority_sort.so", "default_binder.so"})
      folder_.write(content_of(fs::path(BERTH_PLUGINS) / needed), needed);
  }
  Ending check() const {
    return run(
        {BERTH_PROGRAM, "config", "check", BERTH_ZOO_HOST "/config.yaml", "--plugin-dir", folder_.path().string()},
        Capture::all);
  }
  Ending simulate() const {
    return run({BERTH_PROGRAM, "simulate", "--cluster", BERTH_ZOO_HOST "/cluster.yaml", "--config",
                BERTH_ZOO_HOST "/config.yaml", "--plugin-dir", folder_.path().string()},
               Capture::all);
  }
  std::string path() const { return (folder_.path() / "animal.so").string(); }
  const PluginFolder folder_;
};
using ConfigCheck = EndingTest;

TEST_F(ConfigCheck, IsGoodWithAPluginThatStays) {
  arrange("ends_the_process");
  const Ending ending = check();
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
  EXPECT_TRUE(has(ending.output, ": good: ")) << ending.output;
}

TEST_F(ConfigCheck, FailsWhenAPluginEndsTheProcess) {
  arrange("ends_the_process");
  for (const char* const where : {"constructor", "entry", "create"}) {
    for (const char* const how : {"exit", "quick_exit", "_exit", "_exit_7", "system_call"}) {
      ::setenv("BERTH_ZOO_WHERE", where, 1);
      ::setenv("BERTH_ZOO_END", how, 1);
      const Ending ending = check();
      EXPECT_EQ(ending.how, "exit 1") << where << " " << how << "\n" << ending.output;
      const std::string name = std::string(where) == "create" ? "zoo.example.com/Animal 1.2.0" : path();
      EXPECT_TRUE(has(ending.output, name)) << where << " " << how << "\n" << ending.output;
      EXPECT_TRUE(says_once(ending.output, "BERTH-P030")) << where << " " << how << "\n" << ending.output;
    }
  }
}

TEST_F(ConfigCheck, NamesWhoResetsTheHandlersAndCrashes) {
  arrange("resets_and_crashes");
  const Ending ending = check();
  EXPECT_EQ(ending.how, "killed by SIGSEGV") << ending.output;
  EXPECT_TRUE(has(ending.output, "BERTH-P030")) << ending.output;
  EXPECT_TRUE(has(ending.output, path())) << ending.output;
}

TEST_F(ConfigCheck, SaysOnceThatAConstructorCrashes) {
  arrange("crashing_constructor");
  const Ending ending = check();
  EXPECT_EQ(ending.how, "killed by SIGSEGV") << ending.output;
  EXPECT_TRUE(says_once(ending.output, "BERTH-P030")) << ending.output;
}

TEST_F(ConfigCheck, SaysOnceThatAConstructorThrows) {
  arrange("throwing_constructor");
  const Ending ending = check();
  EXPECT_EQ(ending.how, "exit 1") << ending.output;
  EXPECT_TRUE(has(ending.output, "a constructor threw: no racks today")) << ending.output;
  EXPECT_TRUE(says_once(ending.output, "BERTH-P030")) << ending.output;
}

using Simulation = EndingTest;

TEST_F(Simulation, FailsWhenAPluginEndsTheProcess) {
  arrange("ends_the_process");
  for (const char* const how : {"exit", "_exit"}) {
    ::setenv("BERTH_ZOO_WHERE", "constructor", 1);
    ::setenv("BERTH_ZOO_END", how, 1);
    const Ending ending = simulate();
    EXPECT_EQ(ending.how, "exit 1") << how << "\n" << ending.output;
    EXPECT_TRUE(has(ending.output, "BERTH-P030")) << how << "\n" << ending.output;
  }
}

TEST_F(Simulation, NamesThePluginThatNeverAnswersAndEndsAllTheSame) {
  arrange("never_answers");
  const Ending ending = simulate();
  EXPECT_EQ(ending.how.rfind("exit ", 0), 0u) << ending.how << "\n" << ending.output;
  EXPECT_TRUE(has(ending.output, "its plugin has not answered")) << ending.output;
  EXPECT_TRUE(has(ending.output, "zoo.example.com/Animal")) << ending.output;
}

TEST_F(Simulation, IsNotHarmedByAPluginThatAnswersTwice) {
  arrange("answers_twice");
  const Ending ending = simulate();
  EXPECT_EQ(ending.how, "exit 0") << ending.output;
  EXPECT_TRUE(has(ending.output, "was completed twice")) << ending.output;
}

TEST_F(Simulation, NamesThePluginThatEndsTheProcessWhileItJudgesNodes) {
  arrange("ends_the_process");
  for (const char* const how : {"exit", "quick_exit"}) {
    ::setenv("BERTH_ZOO_WHERE", "filter", 1);
    ::setenv("BERTH_ZOO_END", how, 1);
    const Ending ending = simulate();
    EXPECT_EQ(ending.how, "exit 1") << how << "\n" << ending.output;
    EXPECT_TRUE(has(ending.output,
                    std::string("BERTH-P030 ") + how + "() in plugin zoo.example.com/Animal 1.2.0 (animal.so) filter"))
        << ending.output;
  }
}

}  // namespace
}  // namespace berth::zoo
