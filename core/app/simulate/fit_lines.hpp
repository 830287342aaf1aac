// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "base/clock.hpp"
#include "binding/explained_events.hpp"
#include "cache/cluster_cache.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "config/profile.hpp"
#include "decode/object_decoder.hpp"
#include "model/pod.hpp"

namespace berth::app {

/// What `berth explain` says would make a pod fit, in one line, within a scheduler that runs: other instances of its policies are
/// asked, about a copy of its cluster, and everything is given back before a call returns.
///
/// Place:   behind events of pods that wait for long (LiveHostOptions).
/// Threads: any one at a time. All that is given outlives it.
/// Failure: policies that refuse to be made are an exception, as is what else goes wrong. Extenders are not asked: where there
///          are some and the pod fits without them, there is nothing to say.
class FitLines {
 public:
  FitLines(SymbolTable& symbols, const config::Configuration& configuration, const PluginLibrary& plugins,
           const Clock& clock);

  /// About the cluster of this moment. Empty: there is nothing to say.
  std::string line(const cache::ClusterCache& cache, const cluster::kube::KubeReader& reader, const model::PodPtr& pod,
                   const binding::GoesOn& goes_on) const;
  /// `cluster`: nodes first, pods last.
  std::string line(const std::vector<decode::Decoded>& cluster, const model::PodPtr& pod,
                   const binding::GoesOn& goes_on) const;

 private:
  SymbolTable& symbols_;
  config::Configuration configuration_;
  const bool has_extenders_;
  const PluginLibrary& plugins_;
  const Clock& clock_;
};

}  // namespace berth::app
