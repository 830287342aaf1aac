// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "model/nomination.hpp"

namespace berth::queue {

/// Which pods are nominated to which node, as decisions see it: the queue, which owns nominations, or a list that stays
/// as it is.
class Nominations {
 public:
  virtual ~Nominations() = default;
  /// False while no pod is nominated to a node; costs the queue one load.
  virtual bool has_nominations() const = 0;
  /// All pods nominated to a node; those of one node in order of nomination.
  virtual std::vector<model::NominatedPod> nominations() const = 0;
  /// The pod has got a node.
  virtual void remove_nomination(const model::Pod& pod) = 0;
};

/// A list that no decision changes. Threads: the owner's.
class FixedNominations final : public Nominations {
 public:
  bool has_nominations() const noexcept override { return !list.empty(); }
  std::vector<model::NominatedPod> nominations() const override { return list; }
  void remove_nomination(const model::Pod&) override {}

  std::vector<model::NominatedPod> list;
};

}  // namespace berth::queue
