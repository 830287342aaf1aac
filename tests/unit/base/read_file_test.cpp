// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

class ReadFile : public testing::Test {
 protected:
  ReadFile() {
    std::string name = testing::TempDir() + "read_file_XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ReadFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path(const char* name) const { return directory_ + "/" + name; }
  std::string file_of(std::size_t bytes) const {
    std::ofstream(path("file"), std::ios::binary) << std::string(bytes, 'x');
    return path("file");
  }

  std::string directory_;
};

TEST_F(ReadFile, HoldsEverythingUpToTheLimit) {
  const Result<std::string> all = read_file_bytes(file_of(100'000), {100'000});
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(*all, std::string(100'000, 'x'));
  const Result<std::string> less = read_file_bytes(path("file"), {99'999});
  ASSERT_FALSE(less.ok());
  EXPECT_EQ(less.error().message, "it is larger than 99999 bytes");
}

// A directory in the place of a file is what a mount without its source becomes; a stream of it throws.
TEST_F(ReadFile, RefusesADirectory) {
  const Result<std::string> read = read_file_bytes(directory_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "Is a directory");
  EXPECT_EQ(read_file(directory_).error().message, directory_ + " cannot be read: Is a directory");
}

TEST_F(ReadFile, RefusesADeviceWithoutAnEnd) {
  ASSERT_FALSE(read_file_bytes("/dev/zero").ok());
  EXPECT_EQ(read_file_bytes("/dev/zero", {100, true}).error().message, "it is not a regular file");
}

TEST_F(ReadFile, DoesNotWaitForAPipeWithoutAWriter) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Result<std::string> read = read_file_bytes(path("pipe"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, "");
  EXPECT_FALSE(read_file_bytes(path("pipe"), {100, true}).ok());
}

TEST_F(ReadFile, SaysWhatIsNotThereAndWhatIsEmpty) {
  EXPECT_EQ(read_file(path("none")).error().message, path("none") + " cannot be read: No such file or directory");
  EXPECT_EQ(read_file(file_of(0)).error().message, path("file") + " is empty");
}

}  // namespace
}  // namespace berth
