// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/symbols.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "recording/state.hpp"

namespace berth::app {

/// What came into a cluster by a recording, for a cluster in memory whose pods are decided about again: nodes, objects
/// and pods come and go as they did, but a pod that waited waits, wherever it went then, and no pod goes for another
/// that evicted it.
///
/// What comes before the whole cluster is known is kept until it is: from the beginning of a run on, or from the end of
/// a whole state. Memory: the cluster once more until then. Threads: one. Cluster and symbols outlive it.
class RecordingFeed {
 public:
  /// `responsible`: for pods of that scheduler name; others go where they went.
  RecordingFeed(cluster::EmbeddedCluster& cluster, SymbolTable& symbols,
                std::function<bool(std::string_view scheduler_name)> responsible)
      : cluster_(cluster), symbols_(symbols), responsible_(std::move(responsible)) {}
  /// The records in their order. `begins_run`: as Reader::begins_run(). False: this one stands for some that are
  /// missing, and the cluster was known, so that what follows does not fit it any more.
  bool take(const recording::Record& record, bool begins_run);
  /// Whether the cluster was ever known as a whole.
  bool is_known() const noexcept { return is_known_; }

 private:
  void apply(const recording::Record& record);
  void wait(const model::PodPtr& pod);
  void place(const model::PodPtr& pod, const std::string& node);
  void remove_pod(const std::string& uid);

  cluster::EmbeddedCluster& cluster_;
  SymbolTable& symbols_;
  const std::function<bool(std::string_view scheduler_name)> responsible_;
  std::unordered_map<std::string, std::pair<std::string, std::string>> names_;  // namespace and name by uid
  std::unordered_set<std::string> waited_, evicted_;                            // uids
  recording::State before_;                                                     // until the cluster is known
  bool is_known_ = false, has_begun_ = false, skips_state_ = false;
};

}  // namespace berth::app
