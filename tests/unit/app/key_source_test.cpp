// SPDX-License-Identifier: Apache-2.0
#include "app/live/key_source.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/read_file.hpp"
#include "support/child_process.hpp"

namespace berth::app {
namespace {

class KeySourceTest : public testing::Test {
 protected:
  serving::ServingKeys keys() { return *(*KeySource::make(options, flags, clock)).read(); }

  const tests::TemporaryDirectory directory;
  const SystemClock clock{};
  RunOptions options;
  FlagValues flags;
};

TEST_F(KeySourceTest, KeysOfNoFileAreMadeOnce) {
  const Result<KeySource> source = KeySource::make(options, flags, clock);
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE(source->has_files());
  const serving::ServingKeys first = *source->read();
  EXPECT_TRUE(first.any.certificate.starts_with("-----BEGIN CERTIFICATE-----"));
  EXPECT_EQ(*source->read(), first);
}

TEST_F(KeySourceTest, KeysOfACertificateDirectoryAreMadeThereAndUsedAgain) {
  options.cert_dir = directory.path() + "/new";
  const serving::ServingKeys made = keys();
  struct stat key {};
  ASSERT_EQ(::stat((options.cert_dir + "/kube-scheduler.key").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600U);
  const serving::ServingKeys again = keys();
  EXPECT_EQ(again.any.certificate, made.any.certificate);
  EXPECT_EQ(again.any.key, made.any.key);
}

TEST_F(KeySourceTest, AKeyIsWrittenNeitherThroughALinkNorIntoAFileThatOthersRead) {
  options.cert_dir = directory.path();
  const std::string key = options.cert_dir + "/kube-scheduler.key",
                    certificate = options.cert_dir + "/kube-scheduler.crt";
  const std::string elsewhere = directory.write("elsewhere", "of another program");
  ASSERT_EQ(::symlink(elsewhere.c_str(), key.c_str()), 0);
  const serving::ServingKeys made = keys();
  EXPECT_EQ(*read_file(elsewhere), "of another program");
  struct stat seen {};
  ASSERT_EQ(::lstat(key.c_str(), &seen), 0);
  EXPECT_TRUE(S_ISREG(seen.st_mode));
  EXPECT_EQ(seen.st_mode & 0777, 0600U);
  EXPECT_EQ(*read_file(key), made.any.key);

  // A file that was there, readable for all and held open by another program.
  ASSERT_EQ(::unlink(certificate.c_str()), 0);
  ASSERT_EQ(::chmod(directory.write("kube-scheduler.key", "old").c_str(), 0644), 0);
  std::ifstream open_before(key, std::ios::binary);
  const serving::ServingKeys renewed = keys();
  EXPECT_EQ(*read_file(key), renewed.any.key);
  ASSERT_EQ(::lstat(key.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600U);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open_before), {}), "old");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(options.cert_dir)) ++files;
  EXPECT_EQ(files, 3U) << "nothing is left over";
}

TEST_F(KeySourceTest, FilesAreReadAgainEachTime) {
  options.tls_cert_file = directory.write("crt", "certificate");
  options.tls_private_key_file = directory.write("key", "key");
  flags.named_keys = {{directory.write("named.crt", "named"), options.tls_private_key_file, {"a.example"}}};
  const Result<KeySource> source = KeySource::make(options, flags, clock);
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(source->has_files());
  EXPECT_EQ(source->read()->any, (serving::KeyPair{"certificate", "key", {}}));
  directory.write("crt", "newer");
  directory.write("named.crt", "newer too");
  const serving::ServingKeys newer = *source->read();
  EXPECT_EQ(newer.any.certificate, "newer");
  EXPECT_EQ(newer.named, (std::vector<serving::NamedKeys>{{{"a.example"}, serving::KeyPair{"newer too", "key", {}}}}));
}

TEST_F(KeySourceTest, AFileThatCannotBeReadIsNamedWithItsFlag) {
  const std::string there = directory.write("there", "x"), none = directory.path() + "/none";
  flags.named_keys = {{there, none, {}}};
  options.tls_cert_file = options.tls_private_key_file = there;
  const Result<serving::ServingKeys> named = KeySource::make(options, flags, clock)->read();
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().message, "--tls-sni-cert-key: " + none + " cannot be read: No such file or directory");
  options.tls_cert_file = options.tls_private_key_file = "";
  options.cert_dir = there + "/below-a-file";
  const Result<KeySource> unwritten = KeySource::make(options, flags, clock);
  ASSERT_FALSE(unwritten.ok());
  EXPECT_EQ(unwritten.error().message, "cannot write " + options.cert_dir + "/kube-scheduler.key: Not a directory");
}

}  // namespace
}  // namespace berth::app
