// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/guarded.hpp"
#include "base/symbols.hpp"
#include "cache/interned_lists.hpp"
#include "cache/resource_table.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

/// What one node looks like to scheduling: the row from which columns are computed.
namespace berth::cache {

using Slot = std::uint32_t;  // dense, stable while the node exists
inline constexpr Slot k_no_slot = 0xffffffff;
using PodHandle = std::uint32_t;  // index into the cache's pod store; reused only after a snapshot refresh
using ShapeId = std::uint32_t;

struct ShapeCount {
  ShapeId shape = 0;
  std::uint32_t count = 0;
};

/// An image on a node, with the number of nodes that had it when this row was last refreshed.
struct ImageState {
  Symbol name = 0;
  std::uint32_t node_count = 0;
  std::int64_t size_bytes = 0;
  friend bool operator==(const ImageState&, const ImageState&) = default;
};

/// Holds any sum of amounts.
__extension__ typedef __int128 WideAmount;  // NOLINT: a using-declaration takes no __extension__

/// What pods on a node ask for of a resource that no node offers.
struct UnofferedAmount {
  Symbol name = 0;
  WideAmount requested = 0;
};

/// A sum that an int64 does not hold; what stands in its place is the nearest that one does.
struct WideSum {
  static constexpr ResourceIndex k_nonzero_cpu = k_no_resource - 1, k_nonzero_memory = k_no_resource - 2;
  ResourceIndex of = 0;  // of NodeRow::requested, or one of the two above
  WideAmount sum = 0;
};

/// Resources, pods, ports and shapes of one node; cheap to copy (numbers and small vectors whose capacity is reused).
/// Source: kubernetes v1.36 pkg/scheduler/framework/types.go (NodeInfo). Departs: ports and images are numbers of
/// shared lists.
struct NodeRow {
  model::NodePtr node;                    // null: free slot, or a ghost that still has pods
  std::vector<std::int64_t> allocatable;  // by ResourceIndex; shorter than the table means 0
  std::vector<std::int64_t> requested;
  std::vector<UnofferedAmount> unoffered;  // by name
  std::vector<WideSum> wide_sums;          // usually none; while there are some, the node takes no pods
  std::int64_t allowed_pods = 0;
  std::int64_t nonzero_cpu_milli = 0;
  std::int64_t nonzero_memory_bytes = 0;
  std::vector<PodHandle> pods;  // removal swaps the last one into the hole, as upstream
  std::vector<ShapeCount> shapes;
  std::vector<model::HostPort> ports;  // a set without counts: see lifecycle of used ports upstream
  std::uint32_t port_set = 0;
  std::uint32_t taint_set = 0;
  std::uint32_t label_set = 0;
  std::uint32_t feature_set = 0;
  std::uint32_t image_set = 0;
  std::uint32_t volume_set = 0;         // volumes of the node's pods, sorted, one entry per pod and volume
  std::uint64_t image_generation = 0;   // of the image table when image_set was computed; 0: never
  std::uint64_t static_generation = 0;  // changes with the node object
  bool lists_changed = false;           // the cache's: pods with ports or volumes came or went since the sets were made

  std::int64_t allocatable_of(ResourceIndex r) const noexcept { return r < allocatable.size() ? allocatable[r] : 0; }
  std::int64_t requested_of(ResourceIndex r) const noexcept { return r < requested.size() ? requested[r] : 0; }
};

/// The tables that rows refer to by number. Owned by the cache, shared with everything that reads rows.
struct SharedLists {
  InternedLists<model::Taint> taints;
  InternedLists<model::Label> labels;
  InternedLists<Symbol> features;
  InternedLists<ImageState> images;
  InternedLists<model::HostPort> ports;
  InternedLists<model::NodeVolume> volumes;
  std::atomic<std::uint64_t> recycled{1};  // grows when numbers of lists may have been given back
  Mutex foreign_mutex;                     // guards the next; held while numbers are given back
  std::vector<const NodeRow*> foreign_rows
      GUARDED_BY(foreign_mutex);  // rows outside of cache and snapshot whose numbers are to stay
};

/// Charges a pod to a row, or takes it away again: amounts, ports, volumes, nothing else. For what-if rows.
void charge(NodeRow& row, const model::Pod& pod, const ResourceTable& resources, SharedLists& lists, int sign);
/// The same without the sets of ports and volumes: those are made when a plugin is to see them, as a list is made for
/// each of them. For the cache.
void charge_amounts(NodeRow& row, const model::Pod& pod, const ResourceTable& resources, int sign);

/// Ports of the pod that the row has already.
std::vector<model::HostPort> shared_ports(const NodeRow& row, const model::Pod& pod);
void put_port(NodeRow& row, const model::HostPort& port);

/// Nodes offer the resource from now on, as that number: what pods asked for of it moves there. True when there was
/// some.
bool number_resource(NodeRow& row, Symbol name, ResourceIndex number);
/// The same for what the row's own node offers. True when the node names the resource.
bool number_offer(NodeRow& row, Symbol name, ResourceIndex number);
/// No node offers it any more. True when there was something at the number.
bool unnumber_resource(NodeRow& row, Symbol name, ResourceIndex number);

/// Fills the parts of a row that come from the node object (not image_set). Resources without a number are left out.
void describe(NodeRow& row, const model::NodePtr& node, const ResourceTable& resources, SharedLists& lists);

inline std::size_t hash_value(const ImageState& v) noexcept {
  return (v.name * 0x9E3779B1u) ^ (std::size_t{v.node_count} << 20) ^ static_cast<std::size_t>(v.size_bytes);
}

}  // namespace berth::cache

namespace berth::model {
inline std::size_t hash_value(const Taint& v) noexcept {
  return (std::size_t{v.key} << 32) ^ (std::size_t{v.value} << 3) ^ static_cast<std::size_t>(v.effect);
}
inline std::size_t hash_value(const Label& v) noexcept { return (std::size_t{v.key} << 32) ^ v.value; }
inline std::size_t hash_value(const NodeVolume& v) noexcept {
  return (std::size_t{v.ns} << 40) ^ (std::size_t{v.source} << 8) ^ (std::size_t{v.pod_uid} << 20) ^ v.kind;
}
inline std::size_t hash_value(const HostPort& v) noexcept {
  return (std::size_t{v.ip} << 32) ^ (std::size_t{v.protocol} << 20) ^ static_cast<std::size_t>(v.port);
}
}  // namespace berth::model
