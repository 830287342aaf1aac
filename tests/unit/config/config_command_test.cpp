// SPDX-License-Identifier: Apache-2.0
#include "app/commands/config_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "test_plugins.hpp"

namespace berth::config::test {
namespace {

/// A configuration file that goes away with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              ("berth_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml")) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

app::PluginAccess bundled() {
  return {[](const RawConfiguration&) { return Result<PluginCatalog>(bundled_plugins()); }, {}};
}

struct Outcome {
  int status;
  std::string out, err;
};

Outcome check(const std::vector<std::string>& files, const app::PluginAccess& access) {
  std::ostringstream out, err;
  const int status = app::run_config_check(files, access, out, err);
  return {status, out.str(), err.str()};
}

TEST(ConfigCheck, SumsUpAGoodFileInOneLine) {
  const TemporaryFile file(scheduler_configuration("percentageOfNodesToScore: 0\n"));
  const Outcome run = check({file.path()}, bundled());
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, file.path() +
                         ": good: 1 profile (default-scheduler), 20 plugins, an "
                         "adaptive share of the nodes is considered\n");
  EXPECT_EQ(run.err, "");
}

TEST(ConfigCheck, PrintsAllProblemsInTheOrderOfTheFile) {
  const TemporaryFile file(
      scheduler_configuration("profiles:\n- plugins: {score: {enabled: [{name: X}]}}\nparallelism: 0\n"));
  const Outcome run = check({file.path()}, bundled());
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  const auto plugin = run.err.find(":4:31: "), parallelism = run.err.find(":5:14: parallelism");
  ASSERT_NE(plugin, std::string::npos) << run.err;
  ASSERT_NE(parallelism, std::string::npos) << run.err;
  EXPECT_LT(plugin, parallelism);
  EXPECT_NE(run.err.find("2 problems\n"), std::string::npos) << run.err;
}

TEST(ConfigCheck, ChecksEveryFileEvenAfterABadOne) {
  const TemporaryFile good(scheduler_configuration(""));
  const Outcome run = check({"/nonexistent", good.path()}, bundled());
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err, "/nonexistent: cannot be read (is it there, a file, and readable?)\n1 problem\n");
  EXPECT_EQ(run.out.substr(0, good.path().size() + 6), good.path() + ": good");
}

TEST(ConfigCheck, PassesOnWhatTheLoaderAndThePluginsSay) {
  const TemporaryFile file(scheduler_configuration("parallelism: 0"));
  app::PluginAccess broken = bundled();
  broken.load = [](const RawConfiguration&) { return Result<PluginCatalog>(Error{"BERTH-P003 owner unsafe"}); };
  const Outcome unloadable = check({file.path()}, broken);
  EXPECT_EQ(unloadable.status, 1);
  EXPECT_NE(unloadable.err.find("parallelism"), std::string::npos);
  EXPECT_NE(unloadable.err.find("BERTH-P003 owner unsafe\n"), std::string::npos);

  const TemporaryFile good(scheduler_configuration(""));
  app::PluginAccess picky = bundled();
  picky.try_out = [](const Configuration&) {
    text::Diagnostics diagnostics;
    diagnostics.add("plugin X refused its args");
    return diagnostics;
  };
  const Outcome refused = check({good.path()}, picky);
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err, "plugin X refused its args\n1 problem\n");
}

Outcome convert(const std::string& file, bool modern) {
  std::ostringstream out, err;
  const int status = app::run_config_convert(file, modern, out, err);
  return {status, out.str(), err.str()};
}

TEST(ConfigConvert, PrintsWhatAnOldFileMeans) {
  const TemporaryFile file("kind: Policy\napiVersion: v1\npriorities: [{name: ImageLocalityPriority, weight: 3}]\n");
  const Outcome then = convert(file.path(), false), today = convert(file.path(), true);
  EXPECT_EQ(then.status, 0);
  EXPECT_EQ(then.err, "");
  EXPECT_NE(then.out.find("- name: ImageLocalityPriority\n            weight: 3\n"), std::string::npos) << then.out;
  EXPECT_NE(today.out.find("- name: ImageLocality\n            weight: 3\n"), std::string::npos) << today.out;
  EXPECT_EQ(today.out.substr(0, 7), "# line ");
}

TEST(ConfigConvert, SaysThatAFileIsOfTodayAlready) {
  const TemporaryFile file(scheduler_configuration("parallelism: 2\n"));
  const Outcome run = convert(file.path(), false);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, scheduler_configuration("parallelism: 2\n"));
  EXPECT_EQ(run.err, file.path() + ": is of today's version already\n");
}

TEST(ConfigConvert, PrintsNothingOfAFileThatIsWrong) {
  const TemporaryFile file("kind: Policy\napiVersion: v1\npredicates: [{name: x}]\n");
  const Outcome run = convert(file.path(), false);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("Predicate type not found for \"x\"\n1 problem\n"), std::string::npos) << run.err;
}

TEST(ConfigDefaults, PrintsAFileThatChecksAsGood) {
  std::ostringstream out, err;
  EXPECT_EQ(app::run_config_defaults(bundled(), out, err), 0);
  EXPECT_EQ(err.str(), "");
  const TemporaryFile file(out.str());
  const Outcome run = check({file.path()}, bundled());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
}

}  // namespace
}  // namespace berth::config::test
