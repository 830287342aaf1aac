// SPDX-License-Identifier: Apache-2.0
#include "app/shadow/rewound_cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "observe/log.hpp"

namespace berth::app {

RewoundCluster::RewoundCluster(const std::deque<ClusterChange>& changes, cache::ClusterCache& cache,
                               const ForeignDecision& decision, const SlotOf& slot_of)
    : cache_(cache) {
  const std::size_t own = moved(decision.bound);
  pods_[own].stays = false;
  // Back in time: what came goes, and what went comes back.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->at_ns < decision.at_ns - k_shadow_window_ns) break;
    if (change->pod == nullptr || change->nominated_to != k_no_symbol) continue;
    const std::size_t pod = moved(change->pod);
    if (pod == own) continue;
    if (change->at_ns > decision.at_ns + k_shadow_window_ns) {
      if (pods_[pod].stays == change->came) pods_[pod].stays = !change->came;  // else it has come or gone once more
    } else {
      near_.push_back({&*change, std::abs(change->at_ns - decision.at_ns), slot_of(change->pod->node_name), pod});
      near_pods_.push_back(pod);
    }
  }
  std::reverse(near_.begin(), near_.end());
  std::sort(near_pods_.begin(), near_pods_.end());
  near_pods_.erase(std::unique(near_pods_.begin(), near_pods_.end()), near_pods_.end());
}

RewoundCluster::~RewoundCluster() {
  for (Moved& pod : pods_) move(pod, pod.is_there_now);
}

void RewoundCluster::rewind(const Undone& undone) {
  if (!std::exchange(has_begun_, true))
    for (Moved& pod : pods_) move(pod, pod.stays);
  for (const std::size_t pod : near_pods_) pods_[pod].is_wanted = pods_[pod].stays;
  for (std::size_t i = near_.size(); i-- > 0;) {
    Moved& pod = pods_[near_[i].pod];
    const bool came = near_[i].change->came;
    if (undone[i] != 0 && pod.is_wanted == came) pod.is_wanted = !came;
  }
  for (const std::size_t pod : near_pods_) move(pods_[pod], pods_[pod].is_wanted);
}

std::size_t RewoundCluster::moved(const model::PodPtr& pod) {
  const auto [at, is_new] = by_uid_.try_emplace(pod->uid.text(), pods_.size());
  if (is_new) {
    const std::optional<cache::CachedPod> cached = cache_.find_pod(pod->uid);
    const bool is_there = cached.has_value();
    pods_.push_back({cached ? cached->pod : pod, is_there, is_there, is_there, is_there});
  }
  return at->second;
}

void RewoundCluster::move(Moved& pod, bool is_wanted) {
  if (pod.is_there == is_wanted) return;
  const Status done = is_wanted ? cache_.add_pod(pod.pod) : cache_.remove_pod(*pod.pod);
  if (done.ok())
    pod.is_there = is_wanted;
  else
    observe::error("The shadow's cluster is not what it was", {{"err", done.error().message}, {"pod", *pod.pod}});
}

}  // namespace berth::app
