// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/plugins/plugin_library.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "extender/configured_extenders.hpp"
#include "report/decision.hpp"
#include "scheduler/scheduler.hpp"
#include "text/diagnostics.hpp"

namespace berth::app {

/// Every pending pod once, in queue order, against the cluster of the manifests: what would be decided now.
///
/// A placed pod is assumed and reserved, and its pre-bind plugins write to an imagined cluster, so later pods see it and what
/// was done for it. Nothing else is written: no pod is bound, evicted or retried, the nominations of the manifests hold to
/// the end, and none is added to them. Only a pod's own scheduling gates hold it back. What post-filter plugins write for a
/// pod that fits nowhere is carried out only where some claim is allocated for nodes that are all gone; otherwise a pass
/// gives nothing up. Threads: one.
class SinglePass {
 public:
  struct Options {
    bool explain_all = false;
    std::string explain_pod;  // "namespace/name"; explained although not all are
    std::function<void(std::size_t done, std::size_t all)> progress = {};
    std::function<bool()> is_too_late = {};  // asked before each decision: true ends the pass. Empty: never
  };
  /// Called with every decision, in order of attempts.
  using Watcher = std::function<void(report::Decision decision)>;

  /// wall_ns: what time it is. recorder: gets what decisions depend on; null: nothing is recorded. Fails with what
  /// plugins and extenders say that cannot be used. symbols, configuration and plugins outlive it.
  static Result<std::unique_ptr<SinglePass>, text::Diagnostics> make(SymbolTable& symbols,
                                                                     const config::Configuration& configuration,
                                                                     const PluginLibrary& plugins,
                                                                     std::int64_t wall_ns = 0,
                                                                     recording::Recorder* recorder = nullptr);
  ~SinglePass();

  /// Takes the cluster over: nodes and placed pods into the cache, pending pods into the queue, the rest to the
  /// plugins. A pending pod of the manifests becomes the cluster's own, as it is there.
  void load(cluster::Manifests& manifests);
  /// How many pods were pending when it was loaded.
  std::size_t pending_pods() const noexcept;
  /// Decides about every pending pod. What is kept for classes of pods is given up at the end.
  void run(const Options& options, const Watcher& watcher);

  scheduler::ManualScheduler& scheduler() noexcept { return *scheduler_; }
  cluster::EmbeddedCluster& cluster() noexcept;

 private:
  struct World;
  class Feed;
  SinglePass(SymbolTable& symbols, std::unique_ptr<World> world,
             std::unique_ptr<extender::ConfiguredExtenders> extenders,
             std::unique_ptr<scheduler::ManualScheduler> scheduler);
  /// The pod that is kept for it.
  model::PodPtr load(model::PodPtr pod);

  SymbolTable& symbols_;
  const std::unique_ptr<World> world_;
  const std::unique_ptr<extender::ConfiguredExtenders> extenders_;
  const std::unique_ptr<scheduler::ManualScheduler> scheduler_;
  const scheduler::DecisionParts deciding_;
  const ingest::IngestParts intake_;
  const std::unique_ptr<Feed> feed_;
  bool gives_up_ = false;  // what post-filter plugins write is carried out
};

}  // namespace berth::app
