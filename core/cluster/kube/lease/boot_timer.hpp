// SPDX-License-Identifier: Apache-2.0
#pragma once
// Internal to cluster/kube.
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "net/asio.hpp"

namespace berth::cluster::kube {

/// A wait in which the time counts during which the machine is suspended: it ends right after the machine wakes.
/// Threads: one at a time, on the executor. Failure: without a descriptor it waits as other timers do.
class BootTimer {
 public:
  template <typename Executor>
  explicit BootTimer(const Executor& executor) : plain_(executor), descriptor_(executor) {
    const int made = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (made >= 0) descriptor_.assign(made);
  }

  /// Returns when the time is over, or at cancel().
  asio::awaitable<void> wait(std::int64_t duration_ns) {
    duration_ns = std::max<std::int64_t>(duration_ns, 1);
    itimerspec due{};
    due.it_value.tv_sec = duration_ns / 1'000'000'000;
    due.it_value.tv_nsec = duration_ns % 1'000'000'000;
    if (!descriptor_.is_open() || ::timerfd_settime(descriptor_.native_handle(), 0, &due, nullptr) != 0) {
      plain_.expires_after(std::chrono::nanoseconds(duration_ns));
      co_await plain_.async_wait(net::k_await);
      co_return;
    }
    co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, net::k_await);
  }
  void cancel() {
    plain_.cancel();
    if (descriptor_.is_open()) descriptor_.cancel();
  }

 private:
  asio::steady_timer plain_;
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace berth::cluster::kube
