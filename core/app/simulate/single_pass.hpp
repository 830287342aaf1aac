// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "base/clock.hpp"
#include "binding/executor.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "extender/configured_extenders.hpp"
#include "report/decision.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// Every pending pod once, in queue order, against the cluster of the manifests: what would be decided now.
///
/// A placed pod is assumed and reserved, its pre-bind plugins write to an imagined cluster, and a pod that would evict others is
/// nominated to its node, so later pods see all of that; no pod is bound, evicted or retried. Only a pod's own scheduling
/// gates hold it back. Threads: one.
class SinglePass {
 public:
  struct Options {
    bool explain_all = false;
    std::string explain_pod;  // "namespace/name"; explained although not all are
    std::function<void(std::size_t done, std::size_t all)> progress = {};
  };

  /// Null with complaints when a plugin refused to be made. symbols, configuration and plugins outlive it.
  static std::unique_ptr<SinglePass> make(SymbolTable& symbols, const config::Configuration& configuration,
                                          const PluginLibrary& plugins, std::vector<std::string>& complaints);
  ~SinglePass();

  /// Takes the cluster over: nodes and placed pods into the cache, pending pods into the queue, the rest to the
  /// plugins.
  void load(const cluster::Manifests& manifests);
  /// Decides about every pending pod. Returns the decisions in order of attempts.
  std::vector<report::Decision> run(const Options& options);

  scheduler::Scheduler& scheduler() noexcept { return *scheduler_; }
  cluster::EmbeddedCluster& cluster() noexcept { return cluster_; }

 private:
  explicit SinglePass(SymbolTable& symbols);
  /// Ends the pod's nomination; when `nominated` is not null, it is nominated to that node from here on.
  void nominate(const model::Pod& pod, model::PodPtr nominated, Symbol node);
  void load(model::PodPtr pod);

  SymbolTable& symbols_;
  ManualClock clock_;
  binding::InlineExecutor executor_;
  class Feed;

  cluster::EmbeddedCluster cluster_;                             // objects and what plugins write to them
  std::unordered_map<std::string, model::PodPtr> pending_pods_;  // by namespace/name
  std::vector<queue::NominatedPod> nominated_;
  std::unique_ptr<extender::ConfiguredExtenders> extenders_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<Feed> feed_;
};

}  // namespace berth::app
