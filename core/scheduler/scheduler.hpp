// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "binding/binder.hpp"
#include "binding/evictions.hpp"
#include "binding/failure_handler.hpp"
#include "cycle/group_cycle.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "framework/points/group.hpp"
#include "ingest/ingest.hpp"
#include "queue/plugin_policy.hpp"
#include "queue/scheduling_queue.hpp"
#include "scheduler/ground.hpp"

namespace berth::scheduler {

/// A scheduler as reports and pages see it: parts to look at, none to change it by. All of it lives as long as the
/// scheduler. Threads: each part as it says.
struct SchedulerViews {
  const SymbolTable& symbols;
  const queue::QueueView& queue;
  const binding::BindingView& bindings;
  const binding::WaitingPods& waiting;
  const framework::Framework& framework;
  const framework::ObjectStore& objects;
  const framework::DebugPages& debug_pages;
  const cache::ClusterCache& cache;
  const cache::ResourceTable& resources;
  const metrics::SchedulerMetrics& recorded;
  const metrics::HintMetrics& hints;
  const observe::MetricRegistry& registry;
  const observe::CallCounters& counters;
  const extender::Extenders* extenders;  // null: none are configured
};

/// What a decision is made with. All of it lives as long as the scheduler.
struct DecisionParts {
  framework::Framework& framework;
  queue::SchedulingQueue& queue;
  cycle::SchedulingCycle& cycle;
  cache::ClusterCache& cache;
  cache::Snapshot& snapshot;                   // of that cache
  const framework::BindLookups& bind_lookups;  // what bind plugins may ask about the cluster
  /// Kept answers that a fresh look did not confirm; the first of them, if there are many.
  const std::vector<cycle::UndeclaredInput>& undeclared_inputs;
  DecisionRecording* recording;  // null: nothing is recorded
};

/// The whole host but the cluster: everything between "something changed" and "please write this".
///
/// make() and the constructor are the wiring diagram: the ground, the plugins on it, then queue, cycle and binding, in
/// this order. Threads: schedule_one() and schedule_next() belong to one thread; ingest may run on another.
class Scheduler {
 public:
  /// Fails with what each plugin says that refuses to be made.
  static Result<std::unique_ptr<Scheduler>, text::Diagnostics> make(SchedulerParts parts);
  ~Scheduler();

  /// Pops one pod and decides about it; false when no pod may be tried now.
  bool schedule_one();
  /// For reports: before an attempt, with its outcome before that is carried out, and in between, where pods get nodes
  /// together, each time that one of them is the next. Any may be empty.
  struct Watch {
    std::function<void(const model::PodPtr& pod)> before;
    std::function<void(const model::PodPtr& pod, const cycle::Outcome& outcome)> after;
    std::function<void(const model::PodPtr& pod)> comes_to = {};
  };
  bool schedule_one(const Watch& watch);
  /// Waits for a pod that may be tried, in real time, and decides about it; false once the queue is closed and empty.
  bool schedule_next(const Watch& watch);
  /// What a plan of these members is asked for. Requires: they have a group, the same one.
  cycle::GroupRequest group_request(std::span<const queue::Ticket> tickets, std::uint32_t needed);
  /// A plan for pods that get nodes together. Threads: that of schedule_one(); a caller that decides by itself holds no
  /// lock.
  cycle::GroupOutcome plan(const cycle::GroupRequest& request, cycle::PlanLimits limits = {}) UNCHECKED_LOCKS;
  /// Judges every node for a pod as it stands, between two decisions. Threads: any; waits for the decision under way,
  /// and those that follow wait for it.
  cycle::Explanation explain(const model::PodPtr& pod, cycle::ExplainWith with = {});
  /// Where a node stands among those that fit; as explain().
  cycle::Standing stand(const model::PodPtr& pod, cache::Slot node, const cycle::StandingWith& with);
  /// Decides about a pod as it stands, up to permit and without post-filters, and gives everything back after `look`; as
  /// explain(). For pods that others decide about.
  void try_pod(const model::PodPtr& pod, const std::function<void(const cycle::Attempt& tried)>& look);
  /// Calls `look` with an up-to-date snapshot; as explain().
  void inspect(const std::function<void(const cache::Snapshot& snapshot)>& look);
  /// Says and writes nothing any more about attempts that fail, and tries them no more: another process decides from now
  /// on. A plan for a group is given up. Threads: any; takes no lock.
  void stop_reporting() noexcept {
    gives_plans_up_ = true;
    failures_.stop_reporting();
  }
  /// No decision begins any more but about pods that are ready; schedule_next() ends then. A plan for a group is given
  /// up, and so is what extenders are asked. Threads: any.
  void stop_deciding();
  /// Asks plugins to end the bindings under way and waits for them, at most that long. True when none is left.
  bool drain(std::chrono::milliseconds limit) { return binder_.drain(limit); }
  /// At the end of the process: waits for the bindings under way, and gives up those that a plugin does not answer.
  void end_bindings(std::chrono::milliseconds limit);
  /// Retries what plugins and evictions asked for. Threads: any.
  void apply_activations() { ground_->queue.apply(); }
  /// Records the whole cluster; `others`: as DecisionRecording. Requires: SchedulerParts::recorder. Threads: any.
  void record_state(recording::WholeCluster others) const { ground_->recording->add_state(std::move(others)); }

  /// Where changes of the cluster go: for Ingest, or for a caller that takes its place.
  ingest::IngestParts intake();
  SchedulerViews views() const noexcept;

 private:
  friend class ManualScheduler;
  Scheduler(std::unique_ptr<Ground> ground, std::unique_ptr<framework::Framework> framework);
  template <typename Made>
  static Result<std::unique_ptr<Made>, text::Diagnostics> make_as(SchedulerParts parts);
  queue::Nominations& nominations() noexcept;
  std::function<void(cache::Assumption)> keep_bound();
  using Barrier = std::shared_ptr<binding::GroupBarrier>;
  void place(queue::Ticket ticket, cycle::Placement placement, Barrier barrier = {}) REQUIRES(deciding_);
  void report(const cycle::UndeclaredInput& input, const model::Pod& pod) REQUIRES(deciding_);
  /// Lets the cache bring the snapshot up to date while nothing is decided, unless a page reads it just now.
  void rest();
  void decide(queue::Ticket ticket, const Watch& watch);
  /// False, and the ticket is over, when there is nothing to decide about the pod.
  bool wants_decision(queue::Ticket& ticket);
  void decide_alone(queue::Ticket ticket, const Watch& watch) REQUIRES(deciding_);
  void reject(queue::Ticket ticket, const cycle::Rejection& rejection, bool says_once) REQUIRES(deciding_);

  // Pods that get nodes together.
  void decide_group(queue::Ticket ticket, const Watch& watch) REQUIRES(deciding_);
  void plan_group(std::vector<queue::Ticket> tickets, const framework::Quorum& quorum, const Watch& watch)
      REQUIRES(deciding_);
  /// Where placed members that wait for the rest of their group are, or null.
  Barrier unopened_barrier(const std::string& group) REQUIRES(deciding_);
  /// Carries out what post-filter decided: which pods have to go for this one. Fails only where it waits for them.
  Status preempt(const model::PodPtr& pod, const cycle::Rejection& rejection);

  const std::unique_ptr<Ground> ground_;
  const std::unique_ptr<framework::Framework> framework_;
  const SchedulerParts& parts_;
  Mutex deciding_;                                   // of snapshot and cycle; comes first
  std::int64_t began_ns_ GUARDED_BY(deciding_) = 0;  // the decision under way, in queue time
  std::vector<cycle::UndeclaredInput> undeclared_inputs_ GUARDED_BY(deciding_);
  queue::PluginPolicy policy_;
  queue::SchedulingQueue queue_;
  const std::unique_ptr<queue::Nominations> watched_nominations_;  // with a recorder
  class KeptBound;
  std::shared_ptr<KeptBound> kept_bound_;  // in the mode of v1.16
  cycle::SchedulingCycle cycle_ GUARDED_BY(deciding_);
  binding::FailureHandler failures_;
  binding::Binder binder_;
  binding::Evictions evictions_;
  std::map<std::string, std::weak_ptr<binding::GroupBarrier>> barriers_
      GUARDED_BY(deciding_);  // by group; the binding cycles keep them alive
  std::atomic<bool> gives_plans_up_{false};
  const Late<PluginQueue::Target>::Presence queue_is_there_;  // for plugins
};

/// A scheduler whose owner decides: step by step, with the parts of a decision, or not at all. For simulations, replays
/// and checks. Threads: one, which uses the parts only between two decisions of the scheduler's own.
class ManualScheduler final : public Scheduler {
 public:
  /// As Scheduler::make().
  static Result<std::unique_ptr<ManualScheduler>, text::Diagnostics> make(SchedulerParts parts);
  DecisionParts decision_parts() noexcept UNCHECKED_LOCKS;

 private:
  using Scheduler::Scheduler;
};

}  // namespace berth::scheduler
