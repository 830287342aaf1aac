// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <time.h>

#include "base/clock.hpp"

namespace berth {

/// As SystemClock, but the time in which the machine was suspended counts: a lease runs out meanwhile.
class BootClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }
  std::int64_t wall_ns() const noexcept override { return system_.wall_ns(); }

 private:
  const SystemClock system_{};
};

}  // namespace berth
