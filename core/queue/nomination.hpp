// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/symbols.hpp"
#include "model/pod.hpp"

namespace berth::queue {

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
  model::PodPtr pod;
};

/// Which pods are nominated to which node, as decisions see it: the queue, which owns nominations, or a list that stays
/// as it is.
class Nominations {
 public:
  virtual ~Nominations() = default;
  /// False while no pod is nominated to a node; costs the queue one load.
  virtual bool has_nominations() const = 0;
  /// All pods nominated to a node; those of one node in order of nomination.
  virtual std::vector<NominatedPod> nominations() const = 0;
  /// The pod has got a node.
  virtual void remove_nomination(const model::Pod& pod) = 0;
};

/// A list that no decision changes. Threads: the owner's.
class FixedNominations final : public Nominations {
 public:
  bool has_nominations() const noexcept override { return !list.empty(); }
  std::vector<NominatedPod> nominations() const override { return list; }
  void remove_nomination(const model::Pod&) override {}

  std::vector<NominatedPod> list;
};

}  // namespace berth::queue
