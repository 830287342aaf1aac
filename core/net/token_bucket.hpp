// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/guarded.hpp"

namespace berth::net {

/// How many requests may leave: `burst` at once, `qps` per second in the long run. Requests leave in the order in which
/// they asked.
/// Threads: any.
/// Source:  golang.org/x/time/rate (Reserve), which upstream's client uses.
class TokenBucket {
 public:
  /// A negative qps lets everything pass. Requires: clock outlives it.
  TokenBucket(double qps, std::int32_t burst, const Clock& clock)
      : qps_(qps), burst_(std::max(burst, 1)), clock_(clock), tokens_(burst_), last_ns_(clock.monotonic_ns()) {}

  /// Takes a token, and says for how many nanoseconds the request has to wait for it.
  std::int64_t take_ns() {
    if (qps_ < 0) return 0;
    const Lock lock(mutex_);
    const std::int64_t now = clock_.monotonic_ns();
    tokens_ = std::min(burst_, tokens_ + static_cast<double>(now - last_ns_) * 1e-9 * qps_);
    last_ns_ = now;
    tokens_ -= 1;
    return tokens_ >= 0 ? 0 : static_cast<std::int64_t>(-tokens_ / qps_ * 1e9);
  }

 private:
  const double qps_, burst_;
  const Clock& clock_;
  Mutex mutex_;
  double tokens_ GUARDED_BY(mutex_);  // negative: nominated to requests that wait
  std::int64_t last_ns_ GUARDED_BY(mutex_);
};

}  // namespace berth::net
