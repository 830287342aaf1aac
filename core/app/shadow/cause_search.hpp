// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/shadow/cluster_change.hpp"
#include "app/shadow/rewound_cluster.hpp"
#include "base/clock.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// Why another scheduler chose a node that is not the best here: what it saw then, which is not said anywhere.
///
/// Causes:   the cluster is asked again, with what came within k_shadow_window_ns before and after the binding: with the
///           pods that were before it in the queue, whenever they were bound; without the pods that went to that node,
///           and, if need be, without those that went to others; with pods that left other nodes; with one pod after the
///           other on the nodes that are better, first on all of them at once, then on the best alone, up to k_steps_max
///           times, since the other scheduler knows of a binding before it is written, leaving out nodes to which others
///           were nominated then; as the cluster was at k_moments_max moments around it; with the pods that had not ended
///           yet at one of k_ends_max moments before; with or without single pods, one after the other, each time the
///           one that brings the node nearest to the best: of k_alike_max with its labels, which count for spread and
///           affinity, or that went to its node, and of k_affine_max that have affinity of their own; with what came and went
///           in the domains of the node's labels in its favour, in the shortest of k_domain_windows_ns that is enough; with
///           or without single pods of k_any_max of any kind. All of that also without what is kept for nominated pods, of
///           which nothing is known for that time.
/// Threads:  those of the scheduler's owner; the cluster stands still meanwhile.
/// Lifetime: all that is given outlives it.
class CauseSearch {
 public:
  static constexpr std::int64_t k_binding_ns = 1'000'000'000;  // from a decision to its binding, at most
  static constexpr std::array<std::int64_t, 5> k_domain_windows_ns{250'000'000, 500'000'000, 1'000'000'000,
                                                                   2'000'000'000, k_shadow_window_ns};
  static constexpr std::size_t k_domain_keys_max = 4;
  static constexpr std::size_t k_moments_max = 16, k_ends_max = 48, k_steps_max = 32, k_alike_max = 24,
                               k_affine_max = 64, k_any_max = 384, k_sideways_max = 8;

  CauseSearch(scheduler::Scheduler& scheduler, const Clock& clock, const std::deque<ClusterChange>& changes,
              const ForeignDecision& decision);

  /// A sentence, or nothing: none is found by that time. Begins behind the first `tried_in_vain` causes, and adds those
  /// that it has tried to them, so that another search goes on there.
  std::string find(std::int64_t end_ns, std::size_t& tried_in_vain);
  /// The last find() had no time for all causes.
  bool is_cut_short() const noexcept { return is_cut_short_; }

 private:
  using Undone = RewoundCluster::Undone;
  using Near = RewoundCluster::Near;
  using Cause = std::string (CauseSearch::*)();
  /// How far the node is from the best: points, and how many nodes are better.
  struct Distance {
    std::int64_t points = std::numeric_limits<std::int64_t>::max();  // that: the node does not fit, or no time is left
    std::size_t better = std::numeric_limits<std::size_t>::max();

    bool is_none() const noexcept { return points == 0; }
    friend bool operator<(const Distance& a, const Distance& b) noexcept {
      return a.points != b.points ? a.points < b.points : a.better < b.better;
    }
  };
  enum class Reach : std::uint8_t { all_better, best };  // of one step

  std::string before_in_queue();
  std::string with_others_at_once();
  std::string with_others_step_by_step();
  std::string at_a_moment();
  std::string before_an_end();
  std::string with_others_of_its_domain();
  std::string with_others_alike();
  std::string with_affine_others();
  std::string with_any_others();

  /// By near(): whether the pod's node has the same value of that label as the chosen one. Empty: no other node has it, or
  /// the nodes of all these pods have.
  std::vector<char> inside_domain(const model::Label& label);
  template <typename Condition>
  Undone where(Condition&& condition) const;
  Undone as_it_was() const;
  Undone without_those_on_it() const;
  Undone all_later() const;
  /// That what the other scheduler took from its queue later is undone, and what ended at end_ns or later.
  Undone in_queue_order(std::int64_t end_ns, bool counts_priority = true) const;
  /// Of a pod that came: as far as their places say; else whether it was bound later.
  bool is_after_in_queue(const ClusterChange& change, bool counts_priority) const;
  bool has_time();
  Distance distance(const Undone& undone);
  bool was_best(const Undone& undone) { return distance(undone).is_none(); }
  /// Whether it was once pods of the better nodes, bound later, were there already, those that ended earlier still were,
  /// and those of the node itself were not: the nearest first. A step is about all better nodes, or the best of them.
  bool was_best_step_by_step(Reach reach, Undone undone);
  /// Whether it was with or without some of the `most` nearest that `is_candidate` says, one after the other, each time
  /// that which brings the node nearest to the best, and up to `sideways_max` in a row that bring it no nearer: where two
  /// pods give another node its points, these stay when the first of them is gone, since scores are scaled to the best.
  bool was_best_with_others(std::size_t most, std::size_t sideways_max,
                            const std::function<bool(const ClusterChange& change)>& is_candidate);
  /// The moment nearest to the binding at which the node was one of the best: with the pods bound until then, or those
  /// that had not ended by then, or both.
  std::optional<std::int64_t> best_moment_ns();
  /// The last end of a pod before the binding at which the node was one of the best: with the pods that were decided
  /// before, or bound before, and those that had not ended by then; at the end that brings it nearest, also step by step.
  std::optional<std::int64_t> best_end_ns();
  /// The nearest whose pod is on the node, or is not, with these undone.
  std::optional<std::size_t> nearest_on(cache::Slot node, bool is_there, const Undone& undone) const;
  /// Whether a pod was nominated to the node, or no longer, around the binding.
  bool had_nomination(cache::Slot node) const;

  scheduler::Scheduler& scheduler_;
  const Clock& clock_;
  const ForeignDecision& decision_;
  cache::Slot node_ = cache::k_no_slot;
  RewoundCluster rewound_;
  std::unordered_map<cache::Slot, std::vector<std::size_t>> near_on_;  // the nearest first
  std::vector<cache::Slot> nominated_;
  bool counts_nominated_ = true;
  bool is_cut_short_ = false;
  std::int64_t end_ns_ = 0;
};

}  // namespace berth::app
