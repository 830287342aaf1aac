// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

/// Back-off arithmetic.
/// Source: kubernetes v1.36 pkg/scheduler/backend/queue/backoff_queue.go.
namespace berth::queue::backoff {

inline constexpr std::int64_t k_second_ns = 1'000'000'000;

/// How long a pod waits after `count` failed attempts: initial, doubled per attempt, at most max. 0 when count or max
/// is 0.
constexpr std::int64_t duration_ns(std::uint32_t count, std::int64_t initial_ns, std::int64_t max_ns) noexcept {
  if (count == 0 || max_ns == 0) return 0;
  const std::uint32_t doublings = std::min<std::uint32_t>(count - 1, 62);  // beyond, max >> doublings is 0 anyway
  return initial_ns > (max_ns >> doublings) ? max_ns : initial_ns << doublings;
}

/// The whole second that `at_ns` lies in, when back-offs are aligned. Requires: at_ns >= 0.
constexpr std::int64_t align_ns(std::int64_t at_ns, bool aligned) noexcept {
  return aligned ? at_ns - at_ns % k_second_ns : at_ns;
}

/// True until the second (or, unaligned, the nanosecond) of the expiry has passed; never for expiry 0.
constexpr bool backing_off(std::int64_t expiry_ns, std::int64_t now_ns, bool aligned) noexcept {
  return expiry_ns != 0 && expiry_ns >= align_ns(now_ns, aligned);
}

/// The first instant that is not backing off any more. Requires: expiry_ns came from align_ns.
constexpr std::int64_t leaves_at_ns(std::int64_t expiry_ns, bool aligned) noexcept {
  return expiry_ns + (aligned ? k_second_ns : 1);
}

}  // namespace berth::queue::backoff
