// SPDX-License-Identifier: Apache-2.0
/// kube-scheduler's order of victims and of nodes: what Preemption::search<P>() needs of a policy that departs from it only in who
/// may go.
///
///     const berth::Preemption::Found found = preemption.search<berth::DefaultVictimOrder>(cycle, request, may_go);
///
/// Threads: any: pure functions. Units: as in ext/preemption.h. Errors: none.
/// Source:  kubernetes v1.36 pkg/scheduler/util/utils.go (MoreImportantPod),
///          pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption).
#pragma once
#include <berth/preemption.hpp>

#include <algorithm>
#include <array>

namespace berth {
inline namespace sdk {

namespace detail {
/// Numbers in the order of their unsigned words.
constexpr std::uint64_t ascending(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}
}  // namespace detail

/// Ties: the node that stands earlier in the list; upstream takes any.
struct DefaultVictimOrder {
  static constexpr std::array<const char*, 5> criteria{
      "fewest violated disruption budgets", "lowest priority of the most important victim",
      "smallest sum of the victims' priorities", "fewest victims", "latest start of the most important victims"};

  /// Higher priority first, then the earlier start. Pods that have not started come last, the later one in the list
  /// first: upstream takes "now" for their start, read again at each comparison.
  static void importance(std::span<const Victim> pods, std::uint64_t* keys) noexcept {
    for (std::size_t i = 0; i < pods.size(); ++i) {
      keys[2 * i] = ~detail::ascending(pods[i].priority);
      keys[2 * i + 1] = pods[i].start_ns == BERTH_NOT_STARTED ? ~std::uint64_t{pods[i].position}
                                                              : detail::ascending(pods[i].start_ns);
    }
  }

  /// Each word is the next criterion. A further victim raises the first three or leaves them, and raises the fourth.
  static void rank(std::span<const berth_victims_v1> nodes, std::uint64_t* ranks) noexcept {
    // Added to every priority, so that of equal negative ones fewer victims are better.
    constexpr std::int64_t k_offset = std::int64_t{1} << 31;
    for (const berth_victims_v1& node : nodes) {
      // The pods stand in the order of importance(): the first victim has the highest priority, and of those with it
      // the earliest start.
      std::uint32_t first = 0;
      while (first < node.count && node.evicted[first] == 0) ++first;
      const Victim most{BERTH_NOT_STARTED, INT32_MIN, 0, 0, 0};
      const Victim& leader = first < node.count ? node.pods[first] : most;
      std::int64_t sum = 0, count = 0;
      for (std::uint32_t i = first; i < node.count; ++i) {
        sum += node.evicted[i] * (node.pods[i].priority + k_offset);
        count += node.evicted[i];
      }
      const std::uint64_t words[] = {node.violations, detail::ascending(leader.priority), detail::ascending(sum),
                                     static_cast<std::uint64_t>(count), ~detail::ascending(leader.start_ns)};
      ranks = std::copy(std::begin(words), std::end(words), ranks);
    }
  }
};

}  // namespace sdk
}  // namespace berth
