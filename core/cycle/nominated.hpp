// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "cache/snapshot.hpp"
#include "framework/nominated_pods.hpp"
#include "queue/nomination.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::cycle {

/// Which pods are nominated to which node. Functions, so that the live queue and a fixed list look alike to the cycle.
struct Nominations {
  std::function<bool()> any;
  std::function<std::vector<queue::NominatedPod>()> all;
  std::function<void(const model::Pod& pod)> placed;  // the pod got a node: its nomination is over

  static Nominations of(queue::SchedulingQueue& queue) {
    return {[&queue] { return queue.has_nominations(); }, [&queue] { return queue.nominations(); },
            [&queue](const model::Pod& pod) { queue.remove_nomination(pod); }};
  }
};

/// Equal or higher priority than the incoming pod, another uid.
using Nominated = framework::NominatedPods;

inline Nominated nominated_for(const Nominations& nominations, const cache::Snapshot& snapshot, const model::Pod& pod) {
  Nominated found;
  if (!nominations.any()) return found;
  for (queue::NominatedPod& nominated : nominations.all()) {
    if (nominated.pod->uid == pod.uid || nominated.pod->priority < pod.priority) continue;
    const cache::Slot slot = nominated.node == k_no_symbol ? cache::k_no_slot : snapshot.find(nominated.node);
    if (slot != cache::k_no_slot) found[slot].push_back(std::move(nominated.pod));
  }
  return found;
}

}  // namespace berth::cycle
