// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "base/clock.hpp"
#include "binding/executor.hpp"
#include "binding/timers.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "extender/configured_extenders.hpp"
#include "ingest/ingest.hpp"
#include "report/decision.hpp"
#include "scheduler/recorded_cluster.hpp"
#include "scheduler/scheduler.hpp"
#include "text/diagnostics.hpp"

namespace berth::app {

/// The whole scheduler against a cluster in memory, on a clock that moves when told to.
///
/// Place:   behind `berth simulate`, case files and property tests.
///          Ingest, queue, cycle and binding are the live ones;
///          only the API server and time are imagined.
/// Threads: one.
class Simulation {
 public:
  struct Options {
    bool explain_all = false;
    std::string explain_pod;  // "namespace/name": its attempts are explained
    std::int64_t start_wall_ns = 0;
    bool record_writes = true;
    /// Stand-ins bind and provision volumes and make claims; without them the objects are as they were put.
    bool has_controllers = true;
    /// Writes that the cluster refuses: EmbeddedCluster::Options::refuse.
    std::function<std::optional<Error>(cluster::RecordedWrite::Kind kind, std::string_view key)> refuse = {};
    /// Asked before each decision: true ends run_until_idle() and run_to_the_end() where they are. Empty: never.
    std::function<bool()> is_too_late = {};
    framework::Withheld withheld = {};        // from one plugin while it is made; for checks
    recording::Recorder* recorder = nullptr;  // gets all that happens; null: nothing is recorded
  };
  /// Called with every decision, at the time of the clock.
  using Watcher = std::function<void(report::Decision decision)>;

  /// Fails with what plugins and extenders say that cannot be used. symbols, configuration and plugins outlive it.
  static Result<std::unique_ptr<Simulation>, text::Diagnostics> make(SymbolTable& symbols,
                                                                     const config::Configuration& configuration,
                                                                     const PluginLibrary& plugins, Options options);
  ~Simulation();

  /// Decides about everything that may be decided now, and carries it out; the clock stands still. Returns how many.
  std::size_t run_until_idle(const Watcher& watcher);
  /// Moves the clock, stopping wherever a back-off, a leftover scan or a time-out is due, and decides at each stop.
  std::size_t advance(std::chrono::nanoseconds duration, const Watcher& watcher);
  /// Moves the clock for as long as that may still place a pod. Pods that only time could bring back for the same
  /// answer are left pending.
  std::size_t run_to_the_end(const Watcher& watcher);

  /// Lets cache, queue and plugins know the cluster as it is, and decides nothing.
  void take_in();

  cluster::EmbeddedCluster& cluster() noexcept { return world_->cluster; }
  scheduler::ManualScheduler& scheduler() noexcept { return *scheduler_; }
  const SymbolTable& symbols() const noexcept { return symbols_; }
  ManualClock& clock() noexcept { return world_->clock; }

 private:
  /// What is imagined, and there before the scheduler.
  struct World {
    World(SymbolTable& symbols, const Options& options);

    ManualClock clock;
    binding::Timers timers;
    binding::InlineExecutor executor;
    cluster::EmbeddedCluster cluster;
  };
  Simulation(SymbolTable& symbols, Options options, std::unique_ptr<World> world,
             std::unique_ptr<extender::ConfiguredExtenders> extenders,
             std::unique_ptr<scheduler::ManualScheduler> scheduler);
  void move_clock_to(std::int64_t monotonic_ns);
  bool is_too_late() const { return options_.is_too_late && options_.is_too_late(); }
  bool decide_one(const Watcher& watcher);
  /// True while some placed pod is not bound yet: time alone may decide about it.
  bool binding_waits() const;
  /// Lets the time-outs of waiting pods decide, and tries no pod again.
  void end_waiting();

  SymbolTable& symbols_;
  const Options options_;
  const std::unique_ptr<World> world_;
  const std::unique_ptr<extender::ConfiguredExtenders> extenders_;
  const std::unique_ptr<scheduler::ManualScheduler> scheduler_;
  const scheduler::DecisionParts deciding_;
  ingest::Ingest ingest_;
  std::optional<scheduler::RecordedSink> recorded_sink_;  // with a recorder
};

}  // namespace berth::app
