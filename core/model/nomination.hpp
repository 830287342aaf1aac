// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/symbols.hpp"
#include "model/pod.hpp"

namespace berth::model {

/// What an attempt says about the node a pod is nominated to.
struct Nomination {
  enum class Mode : std::uint8_t {
    keep,  // leave what the pod's status says
    set,   // `node` replaces it; an empty node clears it
  };
  Mode mode = Mode::keep;
  Symbol node = k_no_symbol;

  static Nomination clear() noexcept { return {Mode::set, k_no_symbol}; }
  static Nomination to(Symbol node) noexcept { return {Mode::set, node}; }
};

/// A pod expected to land on a node. A pod that is in no sub-queue (in flight, say) appears as a stub: namespace, name
/// and uid only, priority 0, no requests.
struct NominatedPod {
  Symbol node = k_no_symbol;
  PodPtr pod;
};

}  // namespace berth::model
