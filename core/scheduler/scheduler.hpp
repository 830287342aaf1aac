// SPDX-License-Identifier: Apache-2.0
#pragma once
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
#include "binding/timers.hpp"
#include "binding/waiting_pods.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/pod_groups.hpp"
#include "cache/snapshot.hpp"
#include "config/profile.hpp"
#include "cycle/group_cycle.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "extender/extenders.hpp"
#include "framework/framework.hpp"
#include "framework/points/group.hpp"
#include "framework/services/object_store.hpp"
#include "metrics/hint_metrics.hpp"
#include "metrics/scheduler_metrics.hpp"
#include "observe/call_counters.hpp"
#include "observe/metric_registry.hpp"
#include "preemption/preemption.hpp"
#include "queue/plugin_policy.hpp"
#include "queue/scheduling_queue.hpp"
#include "scheduler/decision_recording.hpp"
#include "scheduler/plugin_ports.hpp"

namespace berth::scheduler {

/// Who writes the binding of a pod that an extender binds.
enum class ExtenderBinding : std::uint8_t {
  outside,   // the extender
  recorded,  // the scheduler, once the extender said it has: the cluster is imagined
  none       // extenders are not asked to bind: nothing may be written
};

/// What a scheduler is given. All of it outlives the scheduler.
struct SchedulerParts {
  SymbolTable& symbols;
  const config::Configuration& configuration;
  std::vector<framework::PluginSource> plugins;
  cluster::ClusterWriter& writer;
  queue::PodLookup lookup;  // the pod as the cluster has it now
  binding::Executor& executor;
  const Clock& clock;
  std::optional<cycle::Nominations> nominations = {};  // absent: those of the queue
  std::optional<std::int64_t> leftover_age_ns = {};    // how long a pod waits for an event; absent: five minutes
  /// Called, on any thread, when pods are to be retried that schedule_next() does not know of: a thread that holds no
  /// lock has to call apply_activations(). Absent: schedule_one() looks by itself.
  std::function<void()> on_activation = {};
  extender::Extenders* extenders = nullptr;  // null: none are configured
  framework::OpenCalls* watch = nullptr;     // sees calls into plugins that do not return; null: they are not watched
  std::optional<std::int64_t> hint_patience_ns = {};  // as HintThreadsOptions
  ExtenderBinding extender_binding = ExtenderBinding::outside;
  cluster::BindingGate* gate = nullptr;    // what bindings pass; null: they just go
  std::size_t bindings_in_flight_max = 0;  // as BinderOptions; for schedule_next()
  /// Only a pod's own scheduling gates hold it back: all others are tried, whatever pre-enqueue plugins say.
  bool opens_gates = false;
  recording::Recorder* recorder = nullptr;  // gets decisions and what they depend on; null: nothing is recorded
  bool traps_unasked_fields = false;        // as FrameworkParts; for checks, not for a scheduler that serves
};

/// The whole host but the cluster: everything between "something changed" and "please write this".
///
/// The constructor is the wiring diagram: cache and snapshot, services, framework, queue, cycle, binding, in this
/// order. Threads: schedule_one() and schedule_next() belong to one thread; ingest may run on another.
class Scheduler {
 public:
  /// Null with complaints when some plugin refused to be made.
  static std::unique_ptr<Scheduler> make(SchedulerParts parts, std::vector<std::string>& complaints);
  ~Scheduler();

  /// Pops one pod and decides about it; false when no pod may be tried now.
  bool schedule_one();
  /// For reports: before an attempt, and with its outcome before that is carried out. Either may be empty.
  struct Watch {
    std::function<void(const model::PodPtr& pod)> before;
    std::function<void(const model::PodPtr& pod, const cycle::Outcome& outcome)> after;
  };
  bool schedule_one(const Watch& watch);
  /// Waits for a pod that may be tried, in real time, and decides about it; false once the queue is closed and empty.
  bool schedule_next(const Watch& watch);
  /// What a plan of these members is asked for. Requires: they have a group, the same one.
  cycle::GroupRequest group_request(std::span<const queue::Ticket> tickets, std::uint32_t needed);
  /// A plan for pods that get nodes together. Threads: that of schedule_one().
  cycle::GroupOutcome plan(const cycle::GroupRequest& request);
  /// Judges every node for a pod as it stands, between two decisions. Threads: any; waits for the decision under way,
  /// and those that follow wait for it.
  cycle::Explanation explain(const model::PodPtr& pod, bool with_details = false);
  /// Decides about a pod as it stands, up to permit and without post-filters, and gives everything back after `look`; as
  /// explain(). For pods that others decide about.
  void try_pod(const model::PodPtr& pod, const std::function<void(const cycle::Attempt& tried)>& look);
  /// Calls `look` with an up-to-date snapshot; as explain().
  void inspect(const std::function<void(const cache::Snapshot& snapshot)>& look);
  /// Says and writes nothing any more about attempts that fail, and tries them no more: another process decides from now
  /// on. Threads: any; takes no lock.
  void stop_reporting() noexcept { failures_->stop_reporting(); }
  /// At the end of the process: waits for the bindings under way, and gives up those that a plugin does not answer.
  void end_bindings(std::chrono::milliseconds limit);
  /// Retries what plugins and evictions asked for. Threads: any.
  void apply_activations() { take_activations(); }

  /// Null: nothing is recorded.
  DecisionRecording* recording() noexcept { return recording_.get(); }
  const DecisionRecording* recording() const noexcept { return recording_.get(); }

  cache::ClusterCache& cache() noexcept { return cache_; }
  cache::PodGroups& groups() noexcept { return groups_; }
  cache::Snapshot& snapshot() noexcept { return snapshot_; }
  framework::Framework& framework() noexcept { return *framework_; }
  framework::ObjectStore& objects() noexcept { return objects_; }
  queue::SchedulingQueue& queue() noexcept { return *queue_; }
  cycle::SchedulingCycle& cycle() noexcept { return *cycle_; }
  binding::WaitingPods& waiting() noexcept { return waiting_; }
  binding::Timers& timers() noexcept { return timers_; }
  binding::Binder& binder() noexcept { return *binder_; }
  const observe::MetricRegistry& metrics() const noexcept { return metrics_; }
  const framework::Framework& framework() const noexcept { return *framework_; }
  const queue::QueueView& queue() const noexcept { return *queue_; }
  const binding::BindingView& bindings() const noexcept { return *binder_; }
  /// What bind plugins may ask about the cluster.
  const framework::BindLookups& bind_lookups() const noexcept { return bind_lookups_; }
  const SymbolTable& symbols() const noexcept { return parts_.symbols; }
  const metrics::SchedulerMetrics& recorded() const noexcept { return recorded_; }
  const observe::CallCounters& counters() const noexcept { return counters_; }
  /// Kept answers that a fresh look did not confirm; the first of them, if there are many. Threads: that of schedule_one().
  const std::vector<cycle::UndeclaredInput>& undeclared_inputs() const noexcept { return undeclared_inputs_; }
  const metrics::HintMetrics& hints() const noexcept { return hints_; }
  const framework::ObjectStore& objects() const noexcept { return objects_; }
  const cache::ClusterCache& cache() const noexcept { return cache_; }

 private:
  explicit Scheduler(SchedulerParts parts);
  bool build(std::vector<std::string>& complaints);
  std::function<void(cache::Assumption)> keep_bound();
  void announce(const model::ObjectPtr& written);
  using Barrier = std::shared_ptr<binding::GroupBarrier>;
  binding::ExtenderBindings extender_bindings() const;
  void place(queue::Ticket ticket, cycle::Placement placement, Barrier barrier = {});
  void take_activations();
  void report(const cycle::UndeclaredInput& input, const model::Pod& pod);
  void decide(queue::Ticket ticket, const Watch& watch);
  /// False, and the ticket is over, when there is nothing to decide about the pod.
  bool wants_decision(queue::Ticket& ticket);
  void decide_alone(queue::Ticket ticket, const Watch& watch);
  void reject(queue::Ticket ticket, const cycle::Rejection& rejection, bool says_once);

  // Pods that get nodes together (scheduler_groups.cpp).
  void decide_group(queue::Ticket ticket, const Watch& watch);
  void plan_group(std::vector<queue::Ticket> tickets, const framework::Quorum& quorum, const Watch& watch);
  /// Where placed members that wait for the rest of their group are, or null.
  Barrier unopened_barrier(const std::string& group);
  /// Carries out what post-filter decided: which pods have to go for this one. Fails only where it waits for them.
  Status preempt(const model::PodPtr& pod, const cycle::Rejection& rejection);

  const SchedulerParts parts_;
  const framework::BindLookups bind_lookups_;
  Mutex deciding_;                                // held by users of snapshot and cycle; comes first
  std::int64_t began_ns_ = 0;                     // the decision under way, in queue time
  std::unique_ptr<DecisionRecording> recording_;  // outlives the cache
  cache::ClusterCache cache_;
  cache::PodGroups groups_;
  cache::Snapshot snapshot_;
  framework::ObjectStore objects_;
  observe::CallCounters counters_;
  observe::MetricRegistry metrics_;
  binding::Timers timers_;
  binding::WaitingPods waiting_;
  metrics::SchedulerMetrics recorded_;
  ActivationRequests activations_;
  PluginWrites writes_;
  PluginEvents events_;
  PluginTasks tasks_;
  GroupMembers group_members_;
  PluginNominations plugin_nominations_;
  binding::Evictions evictions_;
  metrics::HintMetrics hints_;
  preemption::Preemption preemption_;
  std::unique_ptr<framework::Framework> framework_;
  std::unique_ptr<queue::QueuePolicy> policy_;
  std::unique_ptr<queue::SchedulingQueue> queue_;
  std::unique_ptr<cycle::SchedulingCycle> cycle_;
  std::unique_ptr<binding::FailureHandler> failures_;
  std::unique_ptr<binding::Binder> binder_;
  std::vector<cycle::UndeclaredInput> undeclared_inputs_;
  std::map<std::string, std::weak_ptr<binding::GroupBarrier>>
      barriers_;  // by group; the binding cycles keep them alive
};

}  // namespace berth::scheduler
