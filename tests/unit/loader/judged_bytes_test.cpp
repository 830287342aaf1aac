// SPDX-License-Identifier: Apache-2.0
#include "loader/judged_bytes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace berth::loader {
namespace {

/// A memory file that is busy: it has a writable mapping.
class BusyFile {
 public:
  BusyFile() : file_(::memfd_create("busy", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(file_.fd(), k_bytes), 0);
    mapping_ = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
    EXPECT_NE(mapping_, MAP_FAILED);
  }
  BusyFile(const BusyFile&) = delete;
  BusyFile& operator=(const BusyFile&) = delete;
  ~BusyFile() { free(); }
  void free() {
    if (mapping_ != MAP_FAILED) ::munmap(mapping_, k_bytes);
    mapping_ = MAP_FAILED;
  }
  int fd() const { return file_.fd(); }

 private:
  static constexpr std::size_t k_bytes = 4096;
  OpenFile file_;
  void* mapping_ = MAP_FAILED;
};

TEST(Seal, TriesAgainWhileTheFileIsBusy) {
  BusyFile file;
  int waits = 0;
  const Status sealed = seal(file.fd(), [&] {
    if (++waits == k_seal_attempts - 1) file.free();
  });
  EXPECT_TRUE(sealed.ok()) << sealed.error().message;
  EXPECT_EQ(waits, k_seal_attempts - 1);
  EXPECT_EQ(::write(file.fd(), "x", 1), -1);
}

TEST(Seal, GivesUpOnAFileThatStaysBusy) {
  BusyFile file;
  int waits = 0;
  const Status sealed = seal(file.fd(), [&] { ++waits; });
  ASSERT_FALSE(sealed.ok());
  EXPECT_EQ(sealed.error().message, "Device or resource busy");
  EXPECT_EQ(waits, k_seal_attempts - 1);
}

TEST(Seal, TriesNothingTwiceThatIsNotBusy) {
  const OpenFile unsealable(::memfd_create("unsealable", MFD_CLOEXEC));
  int waits = 0;
  EXPECT_FALSE(seal(unsealable.fd(), [&] { ++waits; }).ok());
  EXPECT_EQ(waits, 0);
}

}  // namespace
}  // namespace berth::loader
