// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"
#include "net/write_fence.hpp"

namespace berth::cluster::kube {

/// Whether this process may write as the leader, at this moment: from the request that won the lease, as long as it is
/// confirmed in time, and never again after that. Time alone ends it: no thread has to run for that.
///
/// Place:    LeaderElector begins, confirms and ends it; clients of writes ask it right before they send.
/// Lifetime: the clock outlives it.
/// Threads:  any.
class Reign final : public net::WriteFence {
 public:
  /// `length_ns`: how long a confirmation holds.
  Reign(const Clock& clock, std::int64_t length_ns) : clock_(clock), length_ns_(length_ns) {}

  /// The lease is ours, by a request that was sent at `sent_ns` of the clock. False when that is too long ago.
  bool begin(std::int64_t sent_ns) noexcept {
    until_ns_ = sent_ns + length_ns_;
    generation_.fetch_add(1);
    return holds();
  }
  /// For who leads without a lease: until end().
  void begin_without_lease() noexcept {
    until_ns_ = std::numeric_limits<std::int64_t>::max();
    generation_.fetch_add(1);
  }
  /// The same for a renewal. False, and nothing changes, when the reign was over before the answer came.
  bool confirm(std::int64_t sent_ns) noexcept {
    if (!holds()) return false;
    until_ns_ = std::max(until_ns_.load(), sent_ns + length_ns_);
    return holds();
  }
  void end() noexcept { ended_ = true; }

  bool holds() const noexcept { return !ended_ && generation_.load() != 0 && clock_.monotonic_ns() < until_ns_.load(); }
  /// Until it is over without another confirmation.
  std::int64_t left_ns() const noexcept { return holds() ? until_ns_.load() - clock_.monotonic_ns() : 0; }
  /// What a decision of now carries; 0: this process does not lead.
  std::uint64_t ticket() const noexcept override { return holds() ? generation_.load() : 0; }
  /// False for what was decided outside of this reign.
  bool admits(std::uint64_t ticket) const noexcept override {
    return ticket != 0 && ticket == generation_.load() && holds();
  }

 private:
  const Clock& clock_;
  const std::int64_t length_ns_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::int64_t> until_ns_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace berth::cluster::kube
