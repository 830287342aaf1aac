// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "app/shadow/cluster_change.hpp"
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
/// Causes:   a node that is worse here is held for k_window and then asked about again, by CauseSearch: where it was one of
///           the best with other pods of the time around the binding, the cause is a race. Else it may be the best of a
///           sample, where the scheduler in charge takes samples; or a policy here rejects it, which is said. What is left
///           is unexplained.
/// Bounds:   k_changes_max changes and k_held_max differences are remembered, the places in the queue of k_queued_max
///           pods, and the report's differences. The cluster's changes wait for explanations: one takes k_explaining_ns
///           at most, and all together half of the time, beyond the first k_explaining_ahead_ns. What is not explained by
///           then is searched further, k_explaining_ns at a time, when less than k_quiet_changes_max changes came in the last
///           k_quiet_ns, or at the end, k_searches_max times: for that k_unfinished_max differences are kept, with
///           k_kept_changes_max changes. What is not explained then either, or when a node has changed meanwhile, stays
///           unexplained, and the difference says that time was missing. Where more changes come within k_window, the
///           oldest are forgotten, and a race may be called unexplained.
/// Threads:  as ClusterSink; report() any. Sink, scheduler, configuration and clock outlive it.
/// Failure:  a decision that fails is a node that no policy here accepts, with its message. What throws is logged, and
///           that decision is counted as failed; the sink hears of the change all the same.
class Shadow final : public cluster::ClusterSink {
 public:
  static constexpr std::int64_t k_window_ns = k_shadow_window_ns;
  static constexpr std::int64_t k_settling_ns = 50'000'000;       // of each change that comes in
  static constexpr std::int64_t k_explaining_ns = 2'000'000'000;  // of one difference, and the judgement under way
  static constexpr std::int64_t k_explaining_ahead_ns = 10'000'000'000;
  static constexpr std::int64_t k_quiet_ns = 1'000'000'000;
  static constexpr std::size_t k_changes_max = 4'096, k_held_max = 1'024, k_queued_max = 65'536,
                               k_quiet_changes_max = 8, k_unfinished_max = 128, k_kept_changes_max = 32'768,
                               k_searches_max = 16;

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

  /// Says of the differences that are held what they are as far as is known, and searches those further whose search was
  /// cut short; of those that this has no time for, that they wait. Requires: nothing comes any more.
  void finish(std::int64_t limit_ns);
  ShadowReport report() const;

 private:
  struct Held {
    ForeignDecision decision;
    ShadowDifference difference;
    std::size_t tried_in_vain = 0;  // causes
    std::size_t searches = 0;
  };
  /// What is thought of a node for a pod.
  struct Judgement {
    bool is_known = false, fits = false;
    std::int64_t score = 0, best = 0;
    std::size_t feasible = 0, not_better = 0;  // nodes that fit; of these, with no more than that score
    std::string plugin, why;                   // it does not fit, or the best node's advantage
  };

  void compare(const model::PodPtr& pod, const model::PodPtr& bound, QueuePlace place);
  Judgement judge(const model::PodPtr& pod, const std::string& node, cycle::ExplainWith with);
  /// Says what is known without a search; false: a search is needed.
  bool settle_at_once(Held& held) const;
  void settle(Held held, std::int64_t end_ns);
  /// Once more for what was cut short, until then; the one that waits longest comes first.
  void search_further(std::int64_t end_ns);
  /// As in the report, without a cause.
  void give_up(Held held);
  /// Whether the cluster can still be what it was around that decision, as far as nodes are concerned.
  bool can_be_rewound(const Held& held) const;
  bool is_quiet() const;
  /// That a search may take now.
  std::int64_t explaining_ns() const;
  void forget_changes(std::int64_t now_ns);
  std::deque<Held>::iterator oldest_unfinished();
  bool may_be_sampled(const model::Pod& pod, const Judgement& judgement) const;
  void see(const model::PodPtr& pod);
  void see_gone(const model::PodPtr& pod);
  void see_waiting(const model::PodPtr& pod);
  void count_queued(bool is_left_out);
  /// An attempt for a pod that waits was in vain: it goes to the back.
  void see_failure(const model::PodPtr& old_pod, const model::PodPtr& new_pod);
  QueuePlace leaves_queue(const model::PodPtr& pod);  // what its place was
  void see_nomination(const model::PodPtr& pod, Symbol node, bool came);
  /// The time of changes: it stands still while causes are searched, as what comes then is seen at once afterwards.
  std::int64_t now_ns() const;
  void note(ClusterChange change);
  void note_pod(const model::PodPtr& pod, bool came, QueuePlace place = {});
  void note_node(const model::NodePtr& node, bool came);
  void report_waiting();
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
  std::deque<ClusterChange> changes_;
  std::deque<Held> held_;
  std::deque<Held> unfinished_;                         // their searches were cut short
  std::unordered_map<std::string, QueuePlace> queued_;  // by uid, of the pods without a node
  std::uint64_t last_place_ = 0;
  const std::int64_t began_ns_;
  std::int64_t explained_ns_ = 0;  // so long searches for causes took
  mutable Mutex mutex_;
  ShadowReport report_ GUARDED_BY(mutex_);
};

}  // namespace berth::app
