// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>

#include "loader/needed_libraries.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

class Loading : public testing::Test {
 protected:
  Loading() {
    std::string pattern = (fs::temp_directory_path() / "berth-loading-XXXXXX").string();
    folder_ = fs::canonical(::mkdtemp(pattern.data()));
    ::chmod(folder_.c_str(), 0755);
    ::unsetenv("BERTH_ZOO_RAN");
  }
  ~Loading() override { fs::remove_all(folder_); }
  void add(const std::string& name, const fs::path& from = BERTH_GOOD_PLUGIN) const {
    fs::copy_file(from, folder_ / name);
    ::chmod((folder_ / name).c_str(), 0644);
  }
  static fs::path animal(const std::string& name) { return fs::path(BERTH_ANIMALS) / (name + ".so"); }
  /// Who has left a mark while it was loaded.
  static std::string who_ran() {
    const char* const mark = std::getenv("BERTH_ZOO_RAN");
    return mark == nullptr ? "neither" : mark;
  }
  /// Does it right before the first file is mapped, after all were judged.
  static LoadHooks meanwhile(std::function<void()> act) {
    LoadHooks hooks;
    hooks.before = [act = std::move(act)](LoadStage stage, const char*, const char*) {
      if (stage == LoadStage::constructors) act();
    };
    return hooks;
  }
  static std::string codes(const LoadOutcome& outcome) {
    std::string all;
    for (const Finding& finding : outcome.report.findings()) all += finding.code + " ";
    return all;
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

TEST_F(Loading, RunsTheJudgedFileWhenAnotherTakesItsPlace) {
  // B-TOCTOU by rename: constructors of the other file must not run.
  add("animal.so", animal("says_who_ran"));
  const LoadHooks hooks = meanwhile([&] {
    add("other", animal("says_b_ran"));
    fs::rename(folder_ / "other", folder_ / "animal.so");
  });
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(request());
  EXPECT_TRUE(outcome.report.ok()) << outcome.report.render();
  EXPECT_EQ(who_ran(), "a");
}

TEST_F(Loading, RunsTheJudgedBytesWhenTheFileIsOverwritten) {
  // B-TOCTOU in place: the same inode, other content.
  add("animal.so", animal("says_who_ran"));
  const LoadHooks hooks = meanwhile([&] {
    std::ifstream other(animal("says_b_ran"), std::ios::binary);
    std::ofstream(folder_ / "animal.so", std::ios::binary) << other.rdbuf();
  });
  LoadRequest pinned = request();
  pinned.strict = pinned.require_digest = true;
  std::ifstream file(animal("says_who_ran"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  pinned.files = {{"animal.so", sha256_hex(std::as_bytes(std::span(bytes.data(), bytes.size()))), "berth.yaml"}};
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(pinned);
  EXPECT_TRUE(outcome.report.ok()) << outcome.report.render();
  EXPECT_EQ(who_ran(), "a");
}

TEST_F(Loading, MapsOneFileOnceHoweverOftenItIsAskedFor) {
  add("one.so");
  const LoadOutcome first = PluginLoader({"berth", {}}).load(request());
  const LoadOutcome again = PluginLoader({"berth", {}}).load(request());
  ASSERT_TRUE(first.report.ok() && again.report.ok());
  EXPECT_EQ(first.plugins.libraries().front().entry, again.plugins.libraries().front().entry);

  // Another file of the same content is a library of its own, and its plugins have the same names.
  add("two.so");
  EXPECT_EQ(codes(PluginLoader({"berth", {}}).load(request())), "P041 ");
  fs::remove(folder_ / "one.so");
  const LoadOutcome other = PluginLoader({"berth", {}}).load(request());
  ASSERT_TRUE(other.report.ok()) << other.report.render();
  EXPECT_NE(first.plugins.libraries().front().entry, other.plugins.libraries().front().entry);
  EXPECT_EQ(other.plugins.libraries().front().path, (folder_ / "two.so").string());
}

TEST_F(Loading, MapsEachOfSeveralFiles) {
  add("animal.so");
  LoadRequest both = request();
  add("marked.so", animal("says_who_ran"));
  both.strict = true;  // the two offer the same name
  both.files = {{"animal.so", "", ""}};
  const LoadOutcome one = PluginLoader({"berth", {}}).load(both);
  both.files = {{"marked.so", "", ""}};
  const LoadOutcome two = PluginLoader({"berth", {}}).load(both);
  ASSERT_TRUE(one.report.ok()) << one.report.render();
  ASSERT_TRUE(two.report.ok()) << two.report.render();
  EXPECT_NE(one.plugins.libraries().front().entry, two.plugins.libraries().front().entry);
  EXPECT_EQ(who_ran(), "a");
}

TEST_F(Loading, NoticesAFileThatIsExchangedWhenTheKernelKeepsNoCopy) {
  add("good.so");
  const LoadHooks hooks = meanwhile([&] {
    add("other");
    fs::rename(folder_ / "other", folder_ / "good.so");
  });
  LoadRequest lenient = request();
  lenient.kernel_seals = false;
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(lenient);
  EXPECT_EQ(codes(outcome), "P025 ") << outcome.report.render();
  ASSERT_EQ(outcome.report.warnings().size(), 1u);
  EXPECT_EQ(outcome.report.warnings()[0].rfind("BERTH-P026 ", 0), 0u);
}

// What is mapped already has the judged content, wherever it was mapped from: nothing was exchanged.
TEST_F(Loading, TakesTheSealedCopyOfBeforeWhenTheKernelKeepsNone) {
  add("good.so");
  const LoadOutcome first = PluginLoader({"berth", {}}).load(request());
  ASSERT_TRUE(first.report.ok()) << first.report.render();
  LoadRequest unsealed = request();
  unsealed.kernel_seals = false;
  const LoadOutcome again = PluginLoader({"berth", {}}).load(unsealed);
  ASSERT_TRUE(again.report.ok()) << again.report.render();
  EXPECT_EQ(first.plugins.libraries().front().entry, again.plugins.libraries().front().entry);
}

/// A plugin and a library in its folder.
class LoadingWithALibrary : public Loading {
 protected:
  LoadingWithALibrary() {
    add("animal.so", animal("needs_bundled"));
    add(k_library, fs::canonical(BERTH_BUNDLED_LIBRARY));
  }
  static constexpr const char* k_library = "libzoo_bundled.so.1";
};

// The first test that loads the library leaves it in the process; the others are refused before or look at another.
TEST_F(LoadingWithALibrary, RefusesAWritableOne) {
  ::chmod((folder_ / k_library).c_str(), 0666);
  const LoadOutcome outcome = PluginLoader({"berth", {}}).load(request());
  EXPECT_EQ(codes(outcome), "P003 ");
  ASSERT_FALSE(outcome.report.findings().empty());
  EXPECT_EQ(outcome.report.findings()[0].evidence.back(), "needed by " + (folder_ / "animal.so").string());
  EXPECT_EQ(who_ran(), "neither");
}

TEST_F(LoadingWithALibrary, RefusesOneThatIsNotPinnedWhenAllMustBe) {
  LoadRequest strict = request();
  strict.strict = true;
  strict.files = {{"animal.so", "", "berth.yaml:3"}};
  EXPECT_EQ(codes(PluginLoader({"berth", {}}).load(strict)), "P004 ");
  strict.files.push_back({k_library, std::string(64, '0'), "berth.yaml:4"});
  EXPECT_EQ(codes(PluginLoader({"berth", {}}).load(strict)), "P004 P004 ") << "once for the pin, once for the need";
  EXPECT_EQ(who_ran(), "neither");
}

TEST_F(LoadingWithALibrary, SaysWhenThereIsNone) {
  fs::remove(folder_ / k_library);
  EXPECT_EQ(codes(PluginLoader({"berth", {}}).load(request())), "P020 ");
}

TEST_F(LoadingWithALibrary, RefusesOneOutsideOfTheDirectory) {
  fs::rename(folder_ / k_library, folder_.parent_path() / (folder_.filename().string() + "-library"));
  fs::create_symlink("../" + folder_.filename().string() + "-library", folder_ / k_library);
  EXPECT_EQ(codes(PluginLoader({"berth", {}}).load(request())), "P002 ");
  fs::remove(folder_.parent_path() / (folder_.filename().string() + "-library"));
}

TEST_F(LoadingWithALibrary, TakesTheOneThatWasJudged) {
  LoadRequest strict = request();
  strict.strict = true;
  strict.files = {{"animal.so", "", "berth.yaml:3"}, {k_library, "", "berth.yaml:4"}};
  const LoadHooks hooks = meanwhile([&] { std::ofstream(folder_ / k_library) << "no library any more"; });
  const LoadOutcome outcome = PluginLoader({"berth", {}}, hooks).load(strict);
  EXPECT_TRUE(outcome.report.ok()) << outcome.report.render();
  EXPECT_EQ(who_ran(), "bundled");
}

TEST(LibraryCache, NamesTheLibrariesOfTheSystem) {
  if (!fs::exists("/etc/ld.so.cache")) GTEST_SKIP() << "no ldconfig here";
  const auto libraries = read_library_cache("/etc/ld.so.cache");
  EXPECT_NE(libraries.find("libc.so.6"), libraries.end());
  for (const auto& [name, path] : libraries) EXPECT_EQ(path.front(), '/') << name;
}

TEST(LibraryCache, SurvivesAnyBytes) {
  std::string pattern = (fs::temp_directory_path() / "berth-cache-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  std::string bytes = "glibc-ld.so.cache1.1" + std::string(200, '\xff');
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    std::ofstream(folder / "cache", std::ios::binary) << bytes.substr(0, size);
    EXPECT_TRUE(read_library_cache(folder / "cache").empty());
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace berth::loader
