// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "model/node.hpp"
#include "model/pod.hpp"

namespace berth::app {

/// Where a pod stood in the queue of the scheduler in charge, as far as that follows from when it came.
struct QueuePlace {
  std::uint64_t number = 0;  // a lower one is earlier; 0: not known
  bool was_tried = false;    // in vain, and has gone to the back: when it was tried again is not known
};

/// Something that came to the cluster or left it, and when. A value.
struct ClusterChange {
  std::int64_t at_ns = 0;
  model::PodPtr pod;    // null: the node changed
  model::NodePtr node;  // null: the pod came or went
  bool came = false;
  Symbol nominated_to = k_no_symbol;  // what came or went is this: the pod has no node yet
  QueuePlace place = {};              // of a pod that came
  std::uint64_t last_place = 0;       // the last that was taken by then
};

/// What another scheduler decided: the pod, the node that it chose, and when that became known.
struct ForeignDecision {
  std::int64_t at_ns = 0;
  model::PodPtr pod;    // as it was before it was bound
  model::PodPtr bound;  // and now
  QueuePlace place;
  std::uint64_t last_place = 0;
};

/// What came this long before and after a decision may explain it.
inline constexpr std::int64_t k_shadow_window_ns = 5'000'000'000;

}  // namespace berth::app
