// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/symbols.hpp"
#include "model/pod.hpp"
#include "recording/record.hpp"

namespace berth::recording {

inline constexpr std::size_t k_cache_line_bytes = 64;

inline constexpr std::int64_t k_no_beginning = INT64_MIN;

/// The attempt of a pod that got a node, in one cache line. All but what is rare: see holds().
struct alignas(k_cache_line_bytes) PlacedAttempt {
  model::PodPtr pod;
  std::int64_t at = 0;  // nanoseconds, or ticks
  std::int64_t began_ns = k_no_beginning;
  std::int32_t total = 0;
  Symbol node =
      k_no_symbol;  // not the node itself: its count of owners would move from processor to processor each time
  std::uint32_t number = 0, evaluated = 0, feasible = 0, rotation = 0;
  // Among the records that come another way, by their numbers, of which these are the low bits.
  std::uint32_t records_before = 0;
  std::uint32_t since_look = 0;  // 1 + how many records came since its look; 0: it has none

  /// What it says of that attempt is all of it.
  static bool holds(const Attempt& attempt) noexcept {
    return attempt.way == Way::alone && (attempt.needed | attempt.members_left) == 0 && attempt.took_ns == 0 &&
           attempt.total == static_cast<std::int32_t>(attempt.total) &&
           attempt.rotation == static_cast<std::uint32_t>(attempt.rotation);
  }
  Attempt attempt() const noexcept {
    Attempt attempt;
    attempt.number = number;
    attempt.evaluated = evaluated;
    attempt.feasible = feasible;
    attempt.rotation = rotation;
    attempt.total = total;
    return attempt;
  }
};
static_assert(sizeof(PlacedAttempt) == k_cache_line_bytes);

/// Attempts on their way from the thread that decides to the one that writes, in their order.
///
/// Cost:    no lock, and of each entry its cache line, which is fetched before it is needed.
/// Threads: one that adds, one that takes; size() any.
/// Memory:  k_entries of them, from the beginning to the end.
class AttemptRing {
 public:
  static constexpr std::size_t k_entries = 8'192;

  // The thread that adds.
  bool has_room() noexcept {
    const std::uint64_t added = this->added();
    if (added - free_from_ < k_entries) return true;
    free_from_ = taken_.load(std::memory_order_acquire);
    return added - free_from_ < k_entries;
  }
  /// How many were added so far.
  std::uint64_t added() const noexcept { return added_.load(std::memory_order_relaxed); }
  /// The next, to be filled: its pod is null, all else is that of an earlier one. Requires: has_room().
  PlacedAttempt& next() noexcept { return at(added()); }
  void add_next() noexcept {
    const std::uint64_t added = this->added() + 1;
    added_.store(added, std::memory_order_release);
    __builtin_prefetch(&at(added + k_prefetched), 1);
  }

  // The thread that takes.
  /// Numbers of entries below it can be taken.
  std::uint64_t end() const noexcept { return added_.load(std::memory_order_acquire); }
  /// The first that was not given back.
  std::uint64_t begin() const noexcept { return taken_.load(std::memory_order_relaxed); }
  PlacedAttempt& operator[](std::uint64_t number) noexcept { return at(number); }
  /// Those below `end` may be overwritten. Requires: they hold no pod any more.
  void give_back(std::uint64_t end) noexcept { taken_.store(end, std::memory_order_release); }

  std::size_t size() const noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    return static_cast<std::size_t>(added_.load(std::memory_order_acquire) - taken);
  }
  static constexpr std::size_t bytes() noexcept { return k_entries * sizeof(PlacedAttempt); }

 private:
  // The writer's processor has the line of an entry, which it emptied the last time.
  static constexpr std::size_t k_prefetched = 4;

  PlacedAttempt& at(std::uint64_t number) noexcept { return entries_[number % k_entries]; }

  const std::unique_ptr<PlacedAttempt[]> entries_ = std::make_unique<PlacedAttempt[]>(k_entries);
  alignas(k_cache_line_bytes) std::atomic<std::uint64_t> added_{0};
  std::uint64_t free_from_ = 0;  // of the thread that adds: what it knows of taken_
  alignas(k_cache_line_bytes) std::atomic<std::uint64_t> taken_{0};
};

}  // namespace berth::recording
