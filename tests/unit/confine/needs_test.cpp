// SPDX-License-Identifier: Apache-2.0
#include "confine/needs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/child_process.hpp"

namespace berth::confine {
namespace {

bool has(const std::vector<std::string>& folders, const std::string& folder) {
  return std::find(folders.begin(), folders.end(), folder) != folders.end();
}

class FoldersTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory.path() + "/" + name; }
  void folder(const std::string& name) const { std::filesystem::create_directories(at(name)); }
  void link(const std::string& name, const std::string& target) const {
    ASSERT_EQ(::symlink(target.c_str(), at(name).c_str()), 0);
  }

  const tests::TemporaryDirectory directory;
};

TEST_F(FoldersTest, AFileThatIsReplacedStaysReadableByItsFolder) {
  EXPECT_EQ(folders_of(directory.write("ca.crt", "a")), std::vector{directory.path()});
  EXPECT_EQ(folders_of(at("absent")), std::vector{directory.path()});
}

TEST_F(FoldersTest, AMountedSecretIsTheFolderOfTheMount) {
  folder("..2026");
  directory.write("..2026/token", "t");
  link("..data", "..2026");
  link("token", "..data/token");
  EXPECT_TRUE(has(folders_of(at("token")), directory.path()));
  // Named through the link that is turned.
  EXPECT_TRUE(has(folders_of(at("..data/token")), directory.path()));
}

TEST_F(FoldersTest, ALinkBringsTheFolderOfWhatItLeadsTo) {
  folder("own");
  folder("store/v1");
  directory.write("store/v1/ca.crt", "a");
  link("store/current", "v1");
  link("own/ca.crt", at("store/current/ca.crt"));
  const std::vector<std::string> folders = folders_of(at("own/ca.crt"));
  EXPECT_TRUE(has(folders, at("own")));
  EXPECT_TRUE(has(folders, at("store"))) << "v2 will be there";
  EXPECT_FALSE(has(folders, directory.path()));
}

TEST_F(FoldersTest, LinksThatLeadInACircleEnd) {
  link("a", "b");
  link("b", "a");
  EXPECT_EQ(folders_of(at("a")), std::vector{directory.path()});
}

TEST(SystemFilesTest, AreNoFoldersWithSecrets) {
  for (const char* wide : {"/", "/etc", "/etc/ssl", "/proc", "/home", "/root", "/run", "/var", "/tmp"})
    EXPECT_FALSE(has(system_files(), wide));
}

}  // namespace
}  // namespace berth::confine
