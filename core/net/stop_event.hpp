// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/check.hpp"

// Internal to HTTP clients.
namespace berth::net {

/// Something that happens once and that a thread in poll() wakes up for. Threads: any.
class StopEvent {
 public:
  StopEvent() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    BERTH_CHECK(fd_ >= 0, "no file descriptor is left: error {}", errno);
  }
  ~StopEvent() { ::close(fd_); }
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  void set() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);  // it is set already if this fails
  }
  bool is_set() const noexcept {
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  /// Readable once it was set.
  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace berth::net
