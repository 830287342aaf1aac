// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/shadow/shadow_report.hpp"
#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "cluster/cluster_reader.hpp"
#include "config/profile.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// Decides about each pod at the moment when the scheduler in charge has bound it, about the cluster without that
/// binding, and compares.
///
/// Place:    between the cluster and a scheduler that binds nothing. All that comes is passed on.
/// Causes:   what the scheduler in charge saw is not said anywhere. A node that is worse here is held for k_window and
///           judged again with what came within k_window before and after the binding: with the pods that were before it
///           in the queue, whenever they were bound; without the pods that went to that node, and, if need be, without
///           those that went to others; with pods that left other nodes; with one pod after the other on the nodes that
///           are better, first on all of them at once, then on the best alone, up to k_steps_max times, since the other
///           scheduler knows of a binding before it is written, leaving out nodes to which others were nominated then;
///           as the cluster was at k_moments_max moments around it; with the pods that had not ended yet at one of
///           k_ends_max moments before; with pods of the same labels, which count for spread and affinity, or without
///           them; and all of that without what is kept for nominated pods, of which nothing is known for that time.
///           Where it is one of the best then, the cause is a race. Else it may be the best of a sample, where the
///           scheduler in charge takes samples; or a policy here rejects it, which is said. What is left is unexplained.
/// Bounds:   k_changes_max changes and k_held_max differences are remembered, the places in the queue of k_queued_max
///           pods, and the report's differences. The cluster's changes wait for explanations: one takes k_explaining_ns
///           at most, and all together half of the time, beyond the first k_explaining_ahead_ns. What is not explained by
///           then stays unexplained, and the difference says so. Where more changes come within k_window, the oldest are
///           forgotten, and a race may be called unexplained.
/// Threads:  as ClusterSink; report() any. Sink, scheduler, configuration and clock outlive it.
/// Failure:  a decision that fails is a node that no policy here accepts, with its message. What throws is logged, and
///           that decision is counted as failed; the sink hears of the change all the same.
class Shadow final : public cluster::ClusterSink {
 public:
  static constexpr std::int64_t k_window_ns = 5'000'000'000;
  static constexpr std::int64_t k_binding_ns = 1'000'000'000;     // from a decision to its binding, at most
  static constexpr std::int64_t k_settling_ns = 50'000'000;       // of each change that comes in
  static constexpr std::int64_t k_explaining_ns = 2'000'000'000;  // of one difference, and the judgement under way
  static constexpr std::int64_t k_explaining_ahead_ns = 10'000'000'000;
  static constexpr std::size_t k_changes_max = 4'096, k_held_max = 1'024, k_moments_max = 16, k_ends_max = 48,
                               k_steps_max = 32, k_alike_max = 24, k_queued_max = 65'536;

  Shadow(cluster::ClusterSink& sink, scheduler::Scheduler& scheduler, const config::Configuration& configuration,
         const Clock& clock);

  void pod_added(const model::PodPtr& pod) override;
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override;
  void pod_deleted(const model::PodPtr& pod) override;
  void node_added(const model::NodePtr& node) override;
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override;
  void node_deleted(const model::NodePtr& node) override;
  void object_added(const model::ObjectPtr& object) override { sink_.object_added(object); }
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override {
    sink_.object_updated(old_object, new_object);
  }
  void object_deleted(const model::ObjectPtr& object) override { sink_.object_deleted(object); }
  void synced() override;

  /// Says of the differences that are held what they are as far as is known; of those that this has no time for, that
  /// they wait. Requires: nothing comes any more.
  void finish(std::int64_t limit_ns);
  ShadowReport report() const;

 private:
  struct Change {
    std::int64_t at_ns = 0;
    model::PodPtr pod;    // null: the node changed
    model::NodePtr node;  // null: the pod came or went
    bool came = false;
    Symbol nominated_to = k_no_symbol;  // what came or went is this: the pod has no node yet
    std::uint64_t queued = 0;           // since when it waited: a lower number is earlier; 0: not known
  };
  static constexpr std::int64_t k_not_among_the_best = std::numeric_limits<std::int64_t>::max();
  class Rewound;
  struct Held {
    std::int64_t at_ns = 0;
    std::uint64_t queued = 0;
    model::PodPtr pod;    // as it was before it was bound
    model::PodPtr bound;  // and now
    ShadowDifference difference;
    bool counts_nominated = true;  // when it is judged again
    std::int64_t explain_until_ns = 0;
    Rewound* rewound = nullptr;  // while a cause is searched
    bool is_cut_short = false;   // the search for a cause, by that time
  };
  /// What is thought of a node for a pod.
  struct Judgement {
    bool is_known = false, fits = false;
    std::int64_t score = 0, best = 0;
    std::size_t feasible = 0, not_better = 0;  // nodes that fit; of these, with no more than that score
    std::string plugin, why;                   // it does not fit, or the best node's advantage
    std::vector<std::string> better;           // nodes with more than that score, the best first
  };

  void compare(const model::PodPtr& pod, const model::PodPtr& bound, std::uint64_t queued);
  /// `left_out`: nodes that are not compared with.
  Judgement judge(const model::PodPtr& pod, const std::string& node, cycle::ExplainWith with,
                  const std::vector<std::string>& left_out = {});
  void settle(Held& held);
  /// Whether pods of the time around the binding explain the difference; then the difference says how. What explains most
  /// is tried first, with and without nominated pods.
  bool is_race(Held& held);
  std::string likely_cause(Held& held);  // empty: none is found
  std::string rare_cause(Held& held);
  /// The judgement of the node without the changes that are undone; the pod itself has not come then.
  Judgement judge_without(const Held& held, const std::function<bool(const Change& change)>& undone,
                          const std::vector<std::string>& left_out = {});
  /// Whether a pod was nominated to the node, or no longer, within the window around the binding.
  bool had_nomination(const Held& held, Symbol node) const;
  /// How many more points the best node has; k_not_among_the_best where the node does not fit, or no time is left.
  std::int64_t points_to_best(Held& held, const std::function<bool(const Change& change)>& undone);
  bool was_best(Held& held, const std::function<bool(const Change& change)>& undone);
  bool has_time(Held& held) const;
  enum class Reach : std::uint8_t { all_better, best };  // of one step
  /// Whether it was once pods of the better nodes, bound later, were there already, those that ended earlier still were,
  /// and those of the node itself were not: the nearest first. It begins with some changes undone; a step is about all
  /// better nodes, or the best of them.
  bool was_best_step_by_step(Held& held, Reach reach, const std::function<bool(const Change& change)>& undone);
  /// Whether it was with or without some of the k_alike_max nearest pods that share a label with it, wherever they went,
  /// or went to its node: one after the other, each time that which brings the node nearest to the best.
  bool was_best_with_others_alike(Held& held);
  /// The moment nearest to the binding at which the node was one of the best: with the pods bound until then, or those
  /// that had not ended by then, or both.
  std::optional<std::int64_t> best_moment_ns(Held& held);
  /// Of a pod that came: whether the scheduler in charge took it from its queue after the held one, as far as their places
  /// there say and they were bound within k_binding_ns; else whether it was bound later. Of one that ended: whether that
  /// was at end_ns or later.
  static bool is_after_in_queue(const Held& held, const Change& change, std::int64_t end_ns);
  /// The last end of a pod before the binding at which the node was one of the best: with the pods that were decided
  /// before, or bound before, and those that had not ended by then; at the end that brings it nearest, also with one pod
  /// after the other as was_best_step_by_step() takes them.
  std::optional<std::int64_t> best_end_ns(Held& held);
  bool may_be_sampled(const model::Pod& pod, const Judgement& judgement) const;
  void see(const model::PodPtr& pod);
  void see_gone(const model::PodPtr& pod);
  void see_waiting(const model::PodPtr& pod);
  void count_queued(bool is_left_out);
  std::uint64_t leaves_queue(const model::PodPtr& pod);  // what its place was
  void see_nomination(const model::PodPtr& pod, Symbol node, bool came);
  /// The time of changes: it stands still while causes are searched, as what comes then is seen at once afterwards.
  std::int64_t now_ns() const;
  void note(Change change);
  void settle_due();
  /// Of the differences until `due_ns`, as many as there is time for.
  void settle_until(std::int64_t due_ns, std::int64_t end_ns);
  void settle_first();
  template <typename Step>
  void guarded(std::string_view step_name, Step&& step);
  void count(ShadowDifference difference);

  cluster::ClusterSink& sink_;
  scheduler::Scheduler& scheduler_;
  const config::Configuration& configuration_;
  const Clock& clock_;
  bool is_synced_ = false;
  std::deque<Change> changes_;
  std::deque<Held> held_;
  std::unordered_map<std::string, std::uint64_t> queued_;  // by uid, of the pods without a node
  std::uint64_t last_queued_ = 0;
  const std::int64_t began_ns_;
  std::int64_t explained_ns_ = 0;  // so long searches for causes took
  mutable Mutex mutex_;
  ShadowReport report_ GUARDED_BY(mutex_);
};

}  // namespace berth::app
