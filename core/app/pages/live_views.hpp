// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/shadow/shadow_report.hpp"
#include "base/symbols.hpp"
#include "binding/binding_view.hpp"
#include "binding/explained_events.hpp"
#include "binding/thread_pool.hpp"
#include "cache/cluster_cache.hpp"
#include "cluster/binding_gate.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cycle/scheduling_cycle.hpp"
#include "extender/extenders.hpp"
#include "framework/framework.hpp"
#include "framework/open_calls.hpp"
#include "framework/slow_calls.hpp"
#include "metrics/hint_metrics.hpp"
#include "metrics/scheduler_metrics.hpp"
#include "queue/queue_view.hpp"
#include "recording/recorder.hpp"

namespace berth::app {

/// A running scheduler as pages and dumps see it: parts to look at, none to change it by. All of it outlives the pages.
/// Threads: any.
struct LiveViews {
  const SymbolTable& symbols;
  const queue::QueueView& queue;
  const binding::BindingView& bindings;
  const framework::Framework& framework;
  const framework::ObjectStore& objects;
  const cache::ClusterCache& cache;
  const cache::ResourceTable& resources;
  const cluster::kube::KubeReader& reader;
  const cluster::BindingGate& gate;
  const framework::DebugPages& plugin_pages;
  const extender::Extenders* extenders;  // null: none are configured
  const metrics::SchedulerMetrics& recorded;
  const metrics::HintMetrics& hints;
  const observe::MetricRegistry& registry;
  const observe::CallCounters& counters;
  const framework::SlowCalls& slow_calls;
  const recording::Recorder* recorder;  // null: nothing is recorded
  /// Judges every node for a pod, with details, between two cycles.
  std::function<cycle::Explanation(const model::PodPtr& pod)> explain;
  /// Calls `look` with an up-to-date snapshot, between two cycles.
  std::function<void(const std::function<void(const cache::Snapshot& snapshot)>& look)> inspect;
  std::function<std::vector<framework::OpenCall>()> open_calls;  // into plugins, longest first
  std::function<Status()> plugin_calls_return;                   // fails when one has lasted too long
  std::function<std::int64_t()> cycle_age_ns;                    // 0: between cycles
  std::function<binding::ThreadPool::Counts()> binding_threads;
  std::function<std::optional<ShadowReport>()> shadow = {};  // absent: this scheduler is none
  const binding::ExplainedEvents* explained = nullptr;       // null: events do not say what would make pods fit
};

}  // namespace berth::app
