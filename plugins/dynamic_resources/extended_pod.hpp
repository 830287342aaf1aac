// SPDX-License-Identifier: Apache-2.0
/// A pod that asks for extended resources which devices stand for: what it asks for, the claim in its name, and that claim's copy
/// for each node.
///
/// Threads: state_of() and claim_of() [cycle]; copy_for() [worker], each slot by one thread at a time.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
#pragma once
#include <berth/plugin.hpp>

#include "cycle_state.hpp"
#include "device_search.hpp"

namespace devices {

class ExtendedPods {
 public:
  static constexpr std::size_t k_resources_max = 64;  ///< of a pod; with more, devices stand for none of them

  ExtendedPods(DeviceCluster& cluster, berth::Intern intern, berth::NodeColumns columns)
      : cluster_(cluster), intern_(intern), columns_(columns) {}

  /// What devices may stand for among the pod's resources; null: nothing.
  std::unique_ptr<ExtendedState> state_of(const berth::Cycle& cycle) const;
  /// The claim that an earlier attempt left, or one that exists in memory only.
  ClaimPtr claim_of(berth::Pod pod) const;

  struct Copy {
    const ExtendedCopy* copy = nullptr;  ///< null: the node does not suit, or has all by itself
    enum class Refusal : std::uint8_t { none, claim_has_requests, not_listed } refusal = Refusal::none;
  };
  /// The copy of the extended claim for a node. Requires: state.extended.
  Copy copy_for(const CycleState& state, berth::Slot slot, DeviceSearch& search) const;

 private:
  AskedContainer container_of(berth::Pod pod, std::size_t i) const;

  DeviceCluster& cluster_;
  const berth::Intern intern_;
  const berth::NodeColumns columns_;
};

}  // namespace devices
