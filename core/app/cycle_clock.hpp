// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <mutex>

#include "base/clock.hpp"

namespace berth::app {

/// For how long the scheduling thread has been at one decision. Time in which it waited for extenders does not count:
/// that wait has a limit of its own, so it is no sign of a thread that hangs.
/// Threads: any.
class CycleClock {
 public:
  explicit CycleClock(const Clock& clock) : clock_(clock) {}

  void begin() {
    const std::lock_guard lock(mutex_);
    began_ns_ = clock_.monotonic_ns();
    waited_ns_ = 0;
    is_open_ = true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  /// A wait for extenders begins or ends.
  void wait(bool waits) {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (waits)
      wait_began_ns_ = now_ns;
    else
      waited_ns_ += now_ns - wait_began_ns_;
    waits_ = waits;
  }
  /// 0 between decisions.
  std::int64_t age_ns() const {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return 0;
    const std::int64_t until_ns = waits_ ? wait_began_ns_ : clock_.monotonic_ns();
    return until_ns - began_ns_ - waited_ns_;
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards all below
  bool is_open_ = false, waits_ = false;
  std::int64_t began_ns_ = 0, wait_began_ns_ = 0, waited_ns_ = 0;
};

}  // namespace berth::app
