// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::app {

/// How a decision of the scheduler in charge compares with the one that is made here.
enum class ShadowResult : std::uint8_t {
  same,         // the same node
  tie,          // another node of the same score
  race,         // the same, or a tie, about the cluster as it was a moment before or after
  sampling,     // the best of as many nodes as the scheduler in charge looks at, but not of all
  rejected,     // a policy here rejects that node
  unexplained,  // that node fits, has a lower score here, and nothing of the above explains it
};
inline constexpr std::size_t k_shadow_results = 6;
/// "same"; as in JSON and metrics.
std::string_view name_of(ShadowResult result) noexcept;

/// A decision that does not come out as the scheduler in charge made it, and is no tie.
struct ShadowDifference {
  ShadowResult result = ShadowResult::unexplained;
  std::int64_t wall_ns = 0;
  std::string pod;                        // "namespace/name"
  std::string node;                       // where the pod was bound
  std::string node_here;                  // empty: no node fits here
  std::string why;                        // a sentence
  std::string plugin;                     // rejected, unexplained: which says so
  std::int64_t score = 0, best_here = 0;  // weighted sums; where the node fits
};

/// What a shadow has seen. A value.
struct ShadowReport {
  static constexpr std::size_t k_differences_max = 1000;

  double seconds = 0;
  std::array<std::uint64_t, k_shadow_results> results{};  // by ShadowResult
  std::uint64_t waiting = 0;                              // differences whose cause is not known yet
  std::uint64_t queued = 0;           // pods without a node whose places in the queue are remembered
  std::uint64_t queued_left_out = 0;  // those that came while there was no room for theirs
  std::uint64_t not_seen_before = 0;  // bound when they were seen first: nothing is said about them
  std::uint64_t failed = 0;           // comparisons that threw: nothing is said about them either
  std::uint64_t cut_short = 0;  // of the rejected, sampled and unexplained: there was no time to ask about all causes
  std::uint64_t without_node = 0;  // of the differences: no node fits here
  std::uint64_t score_lost = 0;    // by all that are no tie: the best score here less that of the node
  std::int64_t decision_ns = 0;    // that decisions here took, without explanations of differences
  std::uint64_t differences_left_out = 0;
  std::vector<ShadowDifference> differences;  // k_differences_max at most, without ties; races go first

  std::uint64_t count(ShadowResult result) const noexcept { return results[static_cast<std::size_t>(result)]; }
  std::uint64_t compared() const noexcept;
};

/// For people: counts, what they mean, and the first differences that no tie explains.
std::string shadow_text(const ShadowReport& report);
/// One object; keys only get more.
std::string shadow_json(const ShadowReport& report);

}  // namespace berth::app
