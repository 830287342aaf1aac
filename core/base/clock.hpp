// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace berth {

/// Time as everything in berth sees it: injected, so that tests and simulations own it.
/// Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary start; never goes back.
  virtual std::int64_t monotonic_ns() const noexcept = 0;
  /// Nanoseconds since the Unix epoch.
  virtual std::int64_t wall_ns() const noexcept = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const noexcept override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::int64_t wall_ns() const noexcept override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

/// A clock that moves when told to. Starts at `wall_ns`, monotonic 0.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t wall_ns = 0) : wall_start_ns_(wall_ns) {}
  std::int64_t monotonic_ns() const noexcept override { return elapsed_ns_.load(std::memory_order_relaxed); }
  std::int64_t wall_ns() const noexcept override { return wall_start_ns_ + monotonic_ns(); }
  /// Requires: duration >= 0.
  void advance(std::chrono::nanoseconds duration) noexcept {
    elapsed_ns_.fetch_add(duration.count(), std::memory_order_relaxed);
  }

 private:
  const std::int64_t wall_start_ns_;
  std::atomic<std::int64_t> elapsed_ns_{0};
};

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
