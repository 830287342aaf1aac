// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

// Internal to cluster/kube.
namespace berth::cluster::kube {

/// How long may still be waited for a sign of life. Bytes are none: a connection may live, and drip, while nothing is
/// told. Threads: one.
class SilenceLimit {
 public:
  SilenceLimit(const Clock& clock, std::chrono::nanoseconds limit)
      : clock_(clock), limit_ns_(limit.count()), heard_ns_(clock.monotonic_ns()) {}
  /// There was one.
  void heard() noexcept { heard_ns_ = clock_.monotonic_ns(); }
  /// 0 when it is over, and not before.
  std::chrono::milliseconds left() const noexcept {
    const std::int64_t left_ns = heard_ns_ + limit_ns_ - clock_.monotonic_ns();
    return std::chrono::milliseconds(left_ns <= 0 ? 0 : (left_ns + 999'999) / 1'000'000);
  }

 private:
  const Clock& clock_;
  const std::int64_t limit_ns_;
  std::int64_t heard_ns_;
};

}  // namespace berth::cluster::kube
