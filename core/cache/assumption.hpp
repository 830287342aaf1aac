// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "cache/node_row.hpp"
#include "model/pod.hpp"

namespace berth::cache {

class ClusterCache;

/// What an assumption is made for: the pod gets the node, or it is only seen what would be if it did.
enum class Assume : std::uint8_t { decided, tried };

/// A pod counted on a node before the API server has said so.
///
/// Made by ClusterCache::assume() at the end of a cycle, carried by the placement, ended by binding.
/// Lifetime: must not outlive the cache.
///           Dropping it without confirm() gives the node its resources back.
/// Threads:  owned by one thread at a time; the cache side is synchronised.
/// Source:   kubernetes v1.36 pkg/scheduler/backend/cache (AssumePod, ForgetPod).
///           Departs: forgetting is the destructor, so no failure path can omit it.
class Assumption {
 public:
  Assumption() = default;
  Assumption(Assumption&& other) noexcept { *this = std::move(other); }
  Assumption& operator=(Assumption&& other) noexcept;
  ~Assumption() { forget(); }

  /// Keeps the pod on the node until the watch delivers the bound pod.
  void confirm() noexcept { cache_ = nullptr; }
  /// The pod that was tried there gets the node.
  void decide() noexcept;
  /// Gives the resources back now. A pod that the watch has meanwhile confirmed or removed is left alone.
  void forget() noexcept;
  bool active() const noexcept { return cache_ != nullptr; }
  const model::PodPtr& pod() const noexcept { return pod_; }
  Symbol node_name() const noexcept { return node_name_; }
  Slot slot() const noexcept { return slot_; }

 private:
  friend class ClusterCache;
  Assumption(ClusterCache& cache, model::PodPtr pod, Symbol node_name, Slot slot, PodHandle handle, Assume how,
             std::vector<model::HostPort> shared_ports)
      : cache_(&cache),
        pod_(std::move(pod)),
        node_name_(node_name),
        slot_(slot),
        handle_(handle),
        how_(how),
        shared_ports_(std::move(shared_ports)) {}
  ClusterCache* cache_ = nullptr;
  model::PodPtr pod_;
  Symbol node_name_ = 0;
  Slot slot_ = 0;
  PodHandle handle_ = 0;
  Assume how_ = Assume::decided;
  std::vector<model::HostPort> shared_ports_;  // of a pod that is tried where another that has them is to go
};

}  // namespace berth::cache
