// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "app/shadow/cluster_change.hpp"
#include "cache/cluster_cache.hpp"

namespace berth::app {

/// The cluster as it would be without some of what came around a decision, and always without the pod itself and what came
/// after that time. From one question to the next only those pods are moved that are there for the one and not for the
/// other; at its end, also when what is asked throws, all is as it was.
///
/// Lifetime: changes and cache outlive it and are not changed by others meanwhile. Threads: those of the cache's owner.
/// Failure:  a pod that cannot be moved is logged and stays where it is.
class RewoundCluster {
 public:
  /// A pod that came or went around the decision.
  struct Near {
    const ClusterChange* change;
    std::int64_t off_ns;  // from the decision, either way
    cache::Slot node;
    std::size_t pod;  // in pods_
  };
  /// By index of near(): 1 where the change has not been.
  using Undone = std::vector<std::uint8_t>;
  using SlotOf = std::function<cache::Slot(Symbol node)>;

  RewoundCluster(const std::deque<ClusterChange>& changes, cache::ClusterCache& cache, const ForeignDecision& decision,
                 const SlotOf& slot_of);
  RewoundCluster(const RewoundCluster&) = delete;
  RewoundCluster& operator=(const RewoundCluster&) = delete;
  ~RewoundCluster();

  /// In order of time.
  std::span<const Near> near() const noexcept { return near_; }
  void rewind(const Undone& undone);

 private:
  struct Moved {
    model::PodPtr pod;
    bool is_there_now = false, is_there = false, is_wanted = false;
    bool stays = false;  // when all that came later is undone
  };
  std::size_t moved(const model::PodPtr& pod);
  void move(Moved& pod, bool is_wanted);

  cache::ClusterCache& cache_;
  bool has_begun_ = false;
  std::vector<Near> near_;
  std::vector<Moved> pods_;
  std::vector<std::size_t> near_pods_;                   // of near_, each once
  std::unordered_map<std::string, std::size_t> by_uid_;  // in pods_
};

}  // namespace berth::app
