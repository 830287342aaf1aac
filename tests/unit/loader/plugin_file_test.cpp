// SPDX-License-Identifier: Apache-2.0
#include "loader/plugin_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "loader/dynamic_library.hpp"
#include "loader/plugin_loader.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

TEST(Sha256, IsTheOneOfTheStandard) {
  const std::string text = "abc";
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(text.data(), text.size()))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DlopenError, IsTranslated) {
  struct Case {
    std::string sentence;
    std::string code;
    std::string evidence;
  };
  PluginFile file;
  file.path = "/plugins/a.so";
  for (const Case& given :
       {Case{"/lib/libc.so.6: version `GLIBC_2.38' not found (required by /plugins/a.so)", "P022", "needs GLIBC_2.38"},
        Case{"/plugins/a.so: undefined symbol: _ZN1a1bEv, version V1", "P021", "needs a::b()"},
        Case{"/plugins/a.so: undefined symbol: tie", "P021", "needs tie"},
        Case{"libfoo.so.3: cannot open shared object file: No such file or directory", "P020",
             "needs libfoo.so.3, which is in none of the places where the system looks for libraries"},
        Case{"/plugins/a.so: cannot allocate memory in static TLS block", "P023",
             "dlopen: /plugins/a.so: cannot allocate memory in static TLS block"},
        Case{"/plugins/a.so: cannot open shared object file: Permission denied", "P024",
             "dlopen: /plugins/a.so: cannot open shared object file: Permission denied"},
        Case{"something new", "P024", "dlopen: something new"}}) {
    const Finding finding = translate_dlopen_error(file, given.sentence);
    EXPECT_EQ(finding.code, given.code) << given.sentence;
    ASSERT_FALSE(finding.evidence.empty());
    EXPECT_EQ(finding.evidence.front(), given.evidence);
    EXPECT_EQ(finding.evidence.back(), "dlopen: " + given.sentence);
  }
}

class PluginDirectoryTest : public testing::Test {
 protected:
  PluginDirectoryTest() {
    std::string pattern = (fs::temp_directory_path() / "berth-loader-XXXXXX").string();
    top_ = fs::canonical(::mkdtemp(pattern.data()));
  }
  ~PluginDirectoryTest() override { fs::remove_all(top_); }
  fs::path top_;
};

TEST_F(PluginDirectoryTest, IsTheFirstThatIsGiven) {
  fs::create_directories(top_ / "installed");
  fs::create_directories(top_ / "built");
  PluginDirectoryChoice choice{"flag",        "configured",       "berth.yaml:3:4",
                               "environment", top_ / "installed", top_ / "built"};
  EXPECT_EQ(choose(choice).path, "flag");
  choice.flag.clear();
  EXPECT_EQ(choose(choice).path, "configured");
  EXPECT_EQ(choose(choice).where, "berth.yaml:3:4");
  choice.configured.clear();
  EXPECT_EQ(choose(choice).path, "environment");
  choice.environment.clear();
  EXPECT_EQ(choose(choice).path, top_ / "installed");
  fs::remove(top_ / "installed");
  EXPECT_EQ(choose(choice).path, top_ / "built");
  EXPECT_EQ(choose(choice).chosen_by, "build tree");
  fs::remove(top_ / "built");
  EXPECT_EQ(choose(choice).path, top_ / "installed");
}

TEST_F(PluginDirectoryTest, MayBeStickyAndOfRoot) {
  // /tmp itself: everybody may write there, but not exchange what belongs to others.
  struct stat info {};
  ASSERT_EQ(::stat("/tmp", &info), 0);
  if ((info.st_mode & S_ISVTX) == 0 || info.st_uid != 0) GTEST_SKIP() << "/tmp is no sticky directory of root here";
  fs::copy_file(BERTH_GOOD_PLUGIN, top_ / "good.so");
  ::chmod((top_ / "good.so").c_str(), 0644);
  FileRules rules;
  rules.machine = HostMachine::of_this_process();
  rules.compare_services = false;
  const PluginFile file = judge_in_directory(top_ / "good.so", "/tmp", "", "", rules);
  EXPECT_TRUE(file.findings.empty()) << render(file.findings.front());
}

TEST_F(PluginDirectoryTest, RefusesGroupWritableDirectoriesOnTheWay) {
  fs::create_directories(top_ / "a" / "b");
  ::chmod(top_.c_str(), 0755);
  ::chmod((top_ / "a").c_str(), 0775);
  ::chmod((top_ / "a" / "b").c_str(), 0755);
  fs::copy_file(BERTH_GOOD_PLUGIN, top_ / "a" / "b" / "good.so");
  ::chmod((top_ / "a" / "b" / "good.so").c_str(), 0444);
  FileRules rules;
  rules.machine = HostMachine::of_this_process();
  rules.compare_services = false;
  const PluginFile file = judge_in_directory(top_ / "a" / "b" / "good.so", top_, "", "", rules);
  ASSERT_EQ(file.findings.size(), 1u);
  EXPECT_EQ(file.findings[0].code, "P003");
  EXPECT_EQ(file.findings[0].evidence,
            std::vector<std::string>{(top_ / "a").string() + ": mode 0775 lets its group write"});
}

}  // namespace
}  // namespace berth::loader
