// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

// Internal to core/serving.
namespace berth::serving {

/// A file descriptor that is kept for the time when there is no other: a connection that cannot be served is accepted with
/// it and closed. In the kernel's queue it would wake the acceptor for ever. Threads: one.
class SpareDescriptor {
 public:
  SpareDescriptor() { take(); }
  ~SpareDescriptor() { give_up(); }
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  /// Accepts one caller and hangs up. Requires: `listening` does not block.
  void close_one(int listening) noexcept {
    give_up();
    if (const int caller = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC); caller >= 0) ::close(caller);
    take();
  }

 private:
  void take() noexcept { descriptor_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
  void give_up() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_ = -1;
};

}  // namespace berth::serving
