// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace berth::isolation {

/// A number that the other process changes, and whether this side sleeps until it does.
struct Turn {
  std::atomic<std::uint32_t>& number;
  std::atomic<std::uint32_t>& sleeps;
};

/// Nanoseconds for which a side looks again and again before it sleeps. None on a machine with one processor, where the
/// other side could not run meanwhile.
std::int64_t spin_ns() noexcept;

/// Until the number is another than `was`, or `until_ns` (monotonic; INT64_MAX: for ever), or a wake-up for
/// another reason. Answers the number.
std::uint32_t await_turn(Turn turn, std::uint32_t was, std::int64_t until_ns) noexcept;

/// Sets the number and wakes who sleeps.
void give_turn(Turn turn, std::uint32_t number) noexcept;

/// Wakes who sleeps, and changes nothing.
void wake_all(std::atomic<std::uint32_t>& number) noexcept;

/// CLOCK_MONOTONIC, which the two sides share.
std::int64_t now_ns() noexcept;

}  // namespace berth::isolation
