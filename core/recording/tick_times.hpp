// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "observe/call_counters.hpp"

namespace berth::recording {

/// Moments by the processor's counter, as a clock has them: between two moments at which both were read.
class TickTimes {
 public:
  struct Moment {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
  };

  /// Both at once: where the thread was held up between them, they are read again.
  static Moment read(const Clock& clock) noexcept {
    Moment best;
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t before = observe::ticks();
      const std::int64_t ns = clock.monotonic_ns();
      const std::uint64_t took = observe::ticks() - before;
      if (took >= shortest) continue;
      shortest = took;
      best = {before + took / 2, ns};
    }
    return best;
  }

  explicit TickTimes(Moment now) noexcept : from_(now), to_(now) {}
  /// A later one. ns_of() is then about what came between the last two.
  void note(Moment now) noexcept {
    from_ = to_;
    to_ = now;
  }
  /// The counter may jump, as where the machine goes on elsewhere: never outside of the two.
  std::int64_t ns_of(std::uint64_t ticks) const noexcept {
    const auto whole = static_cast<std::int64_t>(to_.ticks - from_.ticks);
    const auto part = static_cast<std::int64_t>(ticks - from_.ticks);
    if (part <= 0) return from_.ns;
    if (part >= whole) return to_.ns;
    return from_.ns + static_cast<std::int64_t>(static_cast<double>(to_.ns - from_.ns) * static_cast<double>(part) /
                                                static_cast<double>(whole));
  }

 private:
  Moment from_, to_;
};

}  // namespace berth::recording
