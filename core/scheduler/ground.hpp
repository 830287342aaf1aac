// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "binding/evictions.hpp"
#include "binding/executor.hpp"
#include "binding/explained_events.hpp"
#include "binding/timers.hpp"
#include "binding/waiting_pods.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/pod_groups.hpp"
#include "cache/snapshot.hpp"
#include "cluster/binding_gate.hpp"
#include "cluster/cluster_writer.hpp"
#include "config/profile.hpp"
#include "cycle/group_cycle.hpp"
#include "extender/extenders.hpp"
#include "framework/framework.hpp"
#include "framework/open_calls.hpp"
#include "framework/points/bind.hpp"
#include "framework/services/object_store.hpp"
#include "ingest/ingest.hpp"
#include "metrics/event_handling_metrics.hpp"
#include "metrics/hint_metrics.hpp"
#include "metrics/scheduler_metrics.hpp"
#include "observe/call_counters.hpp"
#include "observe/metric_registry.hpp"
#include "preemption/preemption.hpp"
#include "queue/nomination.hpp"
#include "recording/recorder.hpp"
#include "scheduler/decision_recording.hpp"
#include "scheduler/plugin_ports.hpp"
#include "scheduler/plugin_queue.hpp"
#include "scheduler/recorded_cluster.hpp"
#include "text/diagnostics.hpp"

namespace berth::scheduler {

/// Objects on their way from the cluster to the plugins. Threads: as the store. The store outlives it.
class StoreFeed : public ingest::ObjectFeed {
 public:
  explicit StoreFeed(framework::ObjectStore& store) : store_(store) {}
  void store(const model::Object& object) override { store_.apply(object); }
  void remove(const model::Object& object) override { store_.remove(object); }
  std::vector<std::uint32_t> watches(std::string_view resource) const override { return store_.watches_of(resource); }

 private:
  framework::ObjectStore& store_;
};

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
  binding::Timers& timers;
  const Clock& clock;
  queue::Nominations* nominations = nullptr;         // what decisions see; null: those of the queue
  std::optional<std::int64_t> leftover_age_ns = {};  // how long a pod waits for an event; absent: five minutes
  /// Pods that plugins and evictions want retried are, as soon as the executor has a thread. Without it they are before
  /// and after each decision, and when apply_activations() is called.
  bool retries_between_decisions = false;
  extender::Extenders* extenders = nullptr;  // null: none are configured
  framework::OpenCalls* watch = nullptr;     // sees calls into plugins that do not return; null: they are not watched
  std::optional<std::int64_t> hint_patience_ns = {};  // as HintThreadsOptions
  ExtenderBinding extender_binding = ExtenderBinding::outside;
  cluster::BindingGate* gate = nullptr;                 // what bindings pass; null: they just go
  std::size_t bindings_in_flight_max = 0;               // as BinderOptions; for schedule_next()
  std::int64_t plan_limit_ns = cycle::k_plan_limit_ns;  // how long a plan for a pod group may take
  /// Only a pod's own scheduling gates hold it back: all others are tried, whatever pre-enqueue plugins say.
  bool opens_gates = false;
  recording::Recorder* recorder = nullptr;  // gets decisions, what they depend on and what is written; null: nothing
  binding::ExplainedEvents* explained = nullptr;  // as FailureHandler
  cycle::ClassCacheBudget verdicts = {};
  bool traps_unasked_fields = false;  // as FrameworkParts; for checks, not for a scheduler that serves
  framework::Withheld withheld = {};  // likewise
};

/// What plugins stand on, and what they reach: all of a scheduler that is there before them.
///
/// Place:    made first; then the plugins on it, then queue, cycle and binding on both.
/// Lifetime: outlives the plugins. Threads: each part as it says.
struct Ground {
  explicit Ground(SchedulerParts given);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  const SchedulerParts parts;
  const std::unique_ptr<RecordedWriter> recorded_writer;  // null: nothing is recorded
  cluster::ClusterWriter& writer;                         // that one, or the one that was given
  std::unique_ptr<DecisionRecording> recording;           // null: nothing is recorded; outlives the cache
  cache::ClusterCache cache;
  cache::PodGroups groups;
  cache::Snapshot snapshot;
  const framework::BindLookups bind_lookups;
  PluginQueue queue;
  framework::ObjectStore objects;
  StoreFeed feed;  // objects on their way from the cluster to the plugins
  observe::CallCounters counters;
  observe::MetricRegistry metrics;
  binding::WaitingPods waiting;
  metrics::SchedulerMetrics recorded;
  PluginWrites writes;
  PluginEvents events;
  PluginTasks tasks;
  GroupMembers group_members;
  binding::EvictionsUnderWay evictions;
  metrics::HintMetrics hints;
  metrics::HandlingTimes handling_times;
  preemption::Preemption preemption;
};

/// The plugins of the configuration, at work on that ground. Fails with what each of them says that refuses to be made.
Result<std::unique_ptr<framework::Framework>, text::Diagnostics> make_framework(Ground& ground);

}  // namespace berth::scheduler
