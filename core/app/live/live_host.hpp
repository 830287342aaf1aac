// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/live/cycle_clock.hpp"
#include "app/pages/live_views.hpp"
#include "app/plugins/plugin_library.hpp"
#include "app/shadow/shadow.hpp"
#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/late.hpp"
#include "binding/explained_events.hpp"
#include "binding/thread_pool.hpp"
#include "binding/timers.hpp"
#include "cluster/kube/lease/reign.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "cluster/kube/write/kube_writer.hpp"
#include "extender/configured_extenders.hpp"
#include "framework/open_calls.hpp"
#include "framework/slow_calls.hpp"
#include "ingest/ingest.hpp"
#include "scheduler/recorded_cluster.hpp"
#include "scheduler/scheduler.hpp"
#include "text/diagnostics.hpp"

namespace berth::app {

struct LiveHostOptions {
  std::string host_name;
  std::string user_agent;
  bool dry_run = false;  // decides, and writes nothing
  bool shadow = false;   // decides what another scheduler has decided, and writes nothing
  std::uint64_t seed = 1;
  std::optional<std::int64_t> leftover_age_ns = {};          // as SchedulerParts
  std::function<void(const net::CallReport&)> on_call = {};  // of every client
  std::shared_ptr<const cluster::kube::Reign> reign = {};    // without it nothing is written; null: always
  /// A call into a plugin that lasts longer is a defect: the process is not healthy.
  std::int64_t plugin_call_limit_ns = 60'000'000'000;
  /// One that lasts longer than this is logged while it runs, and counted.
  std::int64_t slow_plugin_threshold_ns = 100'000'000;
  /// Where decisions are recorded, and what the recording says of this process; absent: nothing is. When it cannot be
  /// written, that is logged and everything goes on without it.
  std::optional<recording::RecorderOptions> recorder = {};
  /// Events of pods that have been pending for so long say what would make them fit. 0: none does.
  std::int64_t explain_after_ns = 0;
  /// Finds that out, as binding::FitLine; on a thread of its own. Requires: not empty with explain_after_ns.
  std::function<std::string(const cache::ClusterCache& cache, const cluster::kube::KubeReader& reader,
                            const model::PodPtr& pod, const binding::GoesOn& goes_on)>
      fit_line = {};
};

/// The whole scheduler against an API server, on the system's clock.
///
/// Place:    behind `berth run`: what Simulation is for a cluster in memory; all but the cluster is the same.
/// Lifetime: everything it is given outlives it.
/// Threads:  make(), schedule() and the destructor on one thread; the rest from any. What is read and decoded has
///           threads of its own, hints have others, binding steps have others, and so have writes: what hangs in one of
///           them does not stop the next.
class LiveHost {
 public:
  /// Fails with what plugins and extenders say that cannot be used. `io`: of what is written.
  static Result<std::unique_ptr<LiveHost>, text::Diagnostics> make(
      SymbolTable& symbols, const config::Configuration& configuration, const PluginLibrary& plugins,
      std::shared_ptr<net::Endpoint> endpoint, net::IoThreads& io, const Clock& clock, LiveHostOptions options);
  ~LiveHost();

  /// Begins to follow the cluster; `on_synced` is called once, on an I/O thread, when it is known.
  void follow(std::function<void()> on_synced);
  /// Calls `done` once, on an I/O thread, when everything that was written by now, by any client, is known here too.
  void catch_up(std::function<void()> done) { reader_.catch_up(std::move(done)); }
  /// Decides about pods as they come until stop_scheduling().
  void schedule();
  void stop_scheduling();
  /// A shadow: nothing comes any more, and what it has seen. Requires: LiveHostOptions::shadow.
  ShadowReport end_shadow(std::chrono::milliseconds limit);
  /// Waits for open bindings. True when none is left.
  bool drain(std::chrono::milliseconds limit);
  /// Nothing is written any more; what was under way has failed.
  void stop_writing() noexcept;
  /// Attempts that fail from here on are not reported, and no binding waits any more. Does not block.
  void stop_reporting() noexcept;

  /// What pages and dumps show of it.
  LiveViews views();
  /// Calls into plugins that have not returned, longest first: of the cycle, of binding steps, hints and tasks.
  std::vector<framework::OpenCall> open_calls() const;
  /// Fails when a call into a plugin has lasted longer than the limit. Takes no lock that a plugin may be waited for
  /// under.
  Status plugin_calls_return() const;
  /// Fails when this process should not go on leading: it does not decide, or what it decides is not carried out. A cycle
  /// may take `cycle_limit_ns`, and so may the wait for a thread for binding steps.
  Status may_go_on(std::int64_t cycle_limit_ns) const;

 private:
  class WatchedSink;
  /// What is there once everything is.
  struct Whole {
    scheduler::Scheduler& scheduler;
    const cluster::kube::KubeReader& reader;
  };
  /// What is there before the plugins.
  struct Base {
    Base(SymbolTable& symbols_given, const config::ClientConnection& connection,
         const std::shared_ptr<net::Endpoint>& endpoint, net::IoThreads& io, const Clock& clock_given,
         LiveHostOptions options_given);
    cluster::ClusterWriter& writer() noexcept;
    model::PodPtr find_pod(std::string_view ns, std::string_view name) const;
    void start_recorder();
    void explain_events();

    SymbolTable& symbols;
    const Clock& clock;
    const LiveHostOptions options;
    Late<Whole> whole;
    std::atomic<bool> follows{false};
    framework::OpenCalls open_calls;
    framework::SlowCalls slow_calls;
    binding::Timers timers;
    std::unique_ptr<binding::ThreadPool> pool;
    CycleClock cycle_clock;
    std::unique_ptr<recording::Recorder> recorder;  // null: nothing is recorded; outlives all answers to writes
    std::shared_ptr<cluster::BindingGate> gate;
    cluster::kube::KubeWriter kube_writer;
    std::unique_ptr<cluster::ClusterWriter> dry_writer;   // null: what is written goes to the API server
    std::unique_ptr<binding::ExplainedEvents> explained;  // null: events do not say what would make pods fit
  };
  LiveHost(const config::Configuration& configuration, std::shared_ptr<net::Endpoint> endpoint,
           std::unique_ptr<Base> base, std::unique_ptr<extender::ConfiguredExtenders> extenders,
           std::unique_ptr<scheduler::Scheduler> scheduler);
  cluster::kube::KubeReaderOptions reading_options(const config::Configuration& configuration,
                                                   const net::Endpoint& endpoint) const;
  ingest::IngestParts intake();
  /// Says which calls do not return, and gives back what the heap does not use, until the end.
  void watch_calls();

  const std::unique_ptr<Base> base_;
  const std::unique_ptr<extender::ConfiguredExtenders> extenders_;  // null: none are configured
  const std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::function<void()> on_synced_;
  ingest::Ingest ingest_;
  const std::unique_ptr<Shadow> shadow_;                          // null: decides for itself
  const std::unique_ptr<WatchedSink> sink_;                       // to that, or to ingest
  const std::unique_ptr<scheduler::RecordedSink> recorded_sink_;  // with a recorder
  net::IoThreads reading_;
  cluster::kube::KubeReader reader_;
  const Late<Whole>::Presence is_whole_;
  std::atomic<bool> stopping_{false};

  Mutex watch_mutex_;
  ConditionVariable watch_ends_;
  bool watch_over_ GUARDED_BY(watch_mutex_) = false;
  std::thread timers_thread_, call_watch_, explaining_;
};

}  // namespace berth::app
