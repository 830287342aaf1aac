// SPDX-License-Identifier: Apache-2.0
/// Everything about a pod's claims that does not depend on one node: made in pre-filter, then each node is a few bit
/// tests.
///
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go.
#pragma once
#include "candidates.hpp"

namespace volume_binding {

/// Why a node does not suit; several may apply, and are named in this order.
enum Conflict : std::uint32_t {
  k_node_conflict = 1u << 0,   // reason 1
  k_bind_conflict = 1u << 1,   // reason 2
  k_no_space = 1u << 2,        // reason 3
  k_volume_missing = 1u << 3,  // reason 4
};

/// A claim that has its volume: where that volume can be used.
struct BoundClaim {
  bool missing = false;        // the volume is not there
  storage::NodeBits plain;     // by the volume's own affinity
  storage::NodeBits migrated;  // nodes where its CSI driver has taken over; empty: nowhere
  storage::NodeBits translated;
  std::string error;  // there the volume cannot be translated
};

/// Shared by the claims of one class, or of one class and size.
using SharedBits = std::shared_ptr<const storage::NodeBits>;

/// A claim that gets its volume with the pod.
struct DelayedClaim {
  storage::Claim claim;
  berth::Id selected_node = 0;  // the provisioner was told already
  std::string selector_error;   // of the claim's selector: ends the attempt
  Candidates candidates;
  // Provisioning.
  std::string error;        // ends the attempt
  bool provisions = false;  // the class has a provisioner
  SharedBits topology;      // where `provisions`
  bool checks_capacity = false;
  SharedBits capacity;  // where `checks_capacity`
};

struct Plan {
  std::vector<BoundClaim> bound;
  std::vector<DelayedClaim> delayed;                // in the pod's order
  std::vector<std::uint32_t> by_size;               // those of `delayed` that look for a volume, smallest first
  std::shared_ptr<const AffinityIndex> affinities;  // of the volumes in the pools; null: no claim looks for one
  bool all_bound = false;                           // nothing is left to do

  /// True when every node can be judged by bitmaps alone: nothing can fail, no volume is searched for.
  bool by_words() const {
    return std::all_of(bound.begin(), bound.end(), [](const BoundClaim& b) { return b.error.empty(); }) &&
           std::all_of(delayed.begin(), delayed.end(), [](const DelayedClaim& d) {
             return d.selected_node == 0 && d.error.empty() && d.selector_error.empty() && d.candidates.empty();
           });
  }
};

/// 64 nodes by conflict: bit i of the index is Conflict 1 << i. Requires: plan.by_words().
struct WordConflicts {
  std::array<std::uint64_t, 4> of{};
  std::uint64_t any() const noexcept { return of[0] | of[1] | of[2] | of[3]; }
};
inline WordConflicts judge_word(const Plan& plan, std::size_t word) {
  const auto bits = [&](const storage::NodeBits& nodes) { return word < nodes.size() ? nodes[word] : 0; };
  WordConflicts out;
  std::uint64_t left = ~std::uint64_t{0};  // no problem with a bound claim yet
  for (const BoundClaim& bound : plan.bound) {
    if (bound.missing) {
      out.of[3] |= left;
      break;
    }
    const std::uint64_t migrated = bits(bound.migrated);
    const std::uint64_t bad = left & ~((migrated & bits(bound.translated)) | (~migrated & bits(bound.plain)));
    out.of[0] |= bad;
    left &= ~bad;
  }
  left = ~std::uint64_t{0};  // provisioned so far
  for (const std::uint32_t index : plan.by_size) {
    const DelayedClaim& claim = plan.delayed[index];
    const std::uint64_t without = claim.provisions ? left & ~bits(*claim.topology) : left;
    out.of[1] |= without;
    left &= ~without;
    if (!claim.checks_capacity) continue;
    const std::uint64_t full = left & ~bits(*claim.capacity);
    out.of[2] |= full;
    left &= ~full;
  }
  return out;
}

/// What a node would do about the delayed claims.
struct Choice {
  struct Binding {
    VolumePtr volume;
    const storage::Claim* claim;
  };
  std::vector<Binding> bindings;
  std::vector<const storage::Claim*> provisions;
};

/// One node of the snapshot, as far as claims look at it.
struct NodeView {
  berth::Slot slot;
  berth::Id name;
  std::span<const berth::Label> labels;
};

/// Conflicts of one node. Throws berth::Failure where upstream fails. choice: filled when not null.
inline std::uint32_t judge(const Plan& plan, const NodeView& node, Search& search, Choice* choice) {
  const berth::Slot slot = node.slot;
  std::uint32_t conflicts = 0;
  for (const BoundClaim& bound : plan.bound) {
    if (bound.missing) {
      conflicts |= k_volume_missing;
      break;
    }
    const bool migrated = storage::test(bound.migrated, slot);
    if (migrated && !bound.error.empty()) throw berth::Failure("could not translate pv: " + bound.error);
    if (!storage::test(migrated ? bound.translated : bound.plain, slot)) {
      conflicts |= k_node_conflict;
      break;
    }
  }
  for (const DelayedClaim& claim : plan.delayed)
    if (claim.selected_node != 0 && claim.selected_node != node.name) return conflicts | k_bind_conflict;
  search.start(plan.affinities.get(), node.labels);
  const auto provision = [&](const DelayedClaim& claim) -> std::uint32_t {
    if (!claim.error.empty()) throw berth::Failure(claim.error);
    if (!claim.provisions || !storage::test(*claim.topology, slot)) return k_bind_conflict;
    if (claim.checks_capacity && !storage::test(*claim.capacity, slot)) return k_no_space;
    if (choice != nullptr) choice->provisions.push_back(&claim.claim);
    return 0;
  };
  std::uint32_t provisioning = 0;
  for (const DelayedClaim& claim : plan.delayed)
    if (claim.selected_node != 0 && provisioning == 0) provisioning = provision(claim);
  // All matches come before the first provisioning fails the node, since an error among them ends the attempt.
  for (const std::uint32_t index : plan.by_size) {
    const DelayedClaim& claim = plan.delayed[index];
    if (!claim.selector_error.empty()) throw berth::Failure(claim.selector_error);
    if (const VolumePtr* volume = claim.candidates.pick(slot, search)) {
      search.take(volume->get());
      if (choice != nullptr) choice->bindings.push_back({*volume, &claim.claim});
    } else if (provisioning == 0) {
      provisioning = provision(claim);
    }
  }
  return conflicts | provisioning;
}

}  // namespace volume_binding
