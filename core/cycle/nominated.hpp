// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cache/snapshot.hpp"
#include "framework/nominated_pods.hpp"
#include "queue/nomination.hpp"

namespace berth::cycle {

/// Equal or higher priority than the incoming pod, another uid.
using Nominated = framework::NominatedPods;

inline Nominated nominated_for(const queue::Nominations& nominations, const cache::Snapshot& snapshot,
                               const model::Pod& pod) {
  Nominated found;
  if (!nominations.has_nominations()) return found;
  for (queue::NominatedPod& nominated : nominations.nominations()) {
    if (nominated.pod->uid == pod.uid || nominated.pod->priority < pod.priority) continue;
    const cache::Slot slot = nominated.node == k_no_symbol ? cache::k_no_slot : snapshot.find(nominated.node);
    if (slot != cache::k_no_slot) found[slot].push_back(std::move(nominated.pod));
  }
  return found;
}

}  // namespace berth::cycle
