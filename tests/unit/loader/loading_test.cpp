// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "loader/plugin_loader.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

class Loading : public testing::Test {
 protected:
  Loading() {
    std::string pattern = (fs::temp_directory_path() / "berth-loading-XXXXXX").string();
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
  }
  ~Loading() override { fs::remove_all(folder_); }
  void add(const std::string& name) const {
    fs::copy_file(BERTH_GOOD_PLUGIN, folder_ / name);
    ::chmod((folder_ / name).c_str(), 0644);
  }
  LoadRequest request() const {
    LoadRequest request;
    request.directory = {folder_, "the test", {}};
    request.wanted = {{"zoo.example.com/Animal", {}}};
    return request;
  }
  fs::path folder_;
};

TEST_F(Loading, GivesWhatTheFileDescribes) {
  add("good.so");
  std::vector<LoadStage> stages;
  LoadHooks hooks;
  hooks.before = [&](LoadStage stage, const char* path, const char* build_id) {
    stages.push_back(stage);
    EXPECT_EQ(path, (folder_ / "good.so").string());
    EXPECT_STRNE(build_id, "");
  };
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(request());
  ASSERT_TRUE(outcome.report.ok()) << outcome.report.render();
  ASSERT_EQ(outcome.plugins.libraries().size(), 1u);
  const LoadedLibrary& library = outcome.plugins.libraries().front();
  EXPECT_EQ(library.sha256.size(), 64u);
  const auto found = outcome.plugins.find("zoo.example.com/Animal");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->library, &library);
  EXPECT_STREQ(found->plugin->version, "1.2.0");
  EXPECT_EQ(stages, (std::vector<LoadStage>{LoadStage::constructors, LoadStage::entry_symbol}));
  ASSERT_EQ(outcome.report.notes().size(), 1u);
  EXPECT_EQ(outcome.report.notes()[0].rfind("loaded ", 0), 0u);
}

TEST_F(Loading, LeavesUnwantedFilesAloneAndListsThem) {
  add("good.so");
  LoadRequest nothing = request();
  nothing.wanted.clear();
  LoadHooks hooks;
  hooks.before = [](LoadStage, const char*, const char*) { FAIL() << "code of an unwanted file would run"; };
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(nothing);
  EXPECT_TRUE(outcome.report.ok());
  EXPECT_TRUE(outcome.plugins.libraries().empty());
  ASSERT_EQ(outcome.report.notes().size(), 1u);
  EXPECT_EQ(outcome.report.notes()[0].rfind("available, not used: ", 0), 0u);
}

TEST_F(Loading, NoticesAFileThatIsExchangedMeanwhile) {
  add("good.so");
  LoadHooks hooks;
  hooks.before = [&](LoadStage stage, const char*, const char*) {
    if (stage != LoadStage::constructors) return;
    add("other");
    fs::rename(folder_ / "other", folder_ / "good.so");
  };
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(request());
  ASSERT_EQ(outcome.report.findings().size(), 1u);
  EXPECT_EQ(outcome.report.findings()[0].code, "P025") << outcome.report.render();
}

}  // namespace
}  // namespace berth::loader
