// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <vector>

#include "cache/snapshot.hpp"
#include "queue/nomination.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::cycle {

/// Pods that are promised to a node, as far as one incoming pod has to make room for them: equal or higher priority, another
/// uid. By slot, in order of nomination.
using Nominated = std::map<cache::Slot, std::vector<model::PodPtr>>;

inline Nominated nominated_for(const queue::SchedulingQueue& queue, const cache::Snapshot& snapshot,
                               const model::Pod& pod) {
  Nominated found;
  if (!queue.has_nominations()) return found;
  for (queue::NominatedPod& nominated : queue.nominations()) {
    if (nominated.pod->uid == pod.uid || nominated.pod->priority < pod.priority) continue;
    const cache::Slot slot = nominated.node == k_no_symbol ? cache::k_no_slot : snapshot.find(nominated.node);
    if (slot != cache::k_no_slot) found[slot].push_back(std::move(nominated.pod));
  }
  return found;
}

}  // namespace berth::cycle
