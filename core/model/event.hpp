// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

/// Cluster events as the queue and plugins speak of them.
/// Source: kubernetes v1.36 staging/src/k8s.io/kube-scheduler/framework/types.go (names, bits, matching rule).
namespace berth::model {

enum class EventResource : std::uint32_t {
  pod = 1,
  node = 2,
  persistent_volume = 3,
  persistent_volume_claim = 4,
  csi_node = 5,
  csi_driver = 6,
  volume_attachment = 7,
  csi_storage_capacity = 8,
  storage_class = 9,
  resource_claim = 10,
  resource_slice = 11,
  device_class = 12,
  pod_group = 13,
  assigned_pod = 14,       // incoming only
  unschedulable_pod = 15,  // incoming only
  any = 255,
  first_watch = 256,  // + number of a plugin-declared watch
};

using EventActions = std::uint32_t;
namespace actions {
inline constexpr EventActions add = 1, remove = 2, update_node_allocatable = 4, update_node_label = 8,
                              update_node_taint = 16, update_node_condition = 32, update_node_annotation = 64,
                              update_node_declared_feature = 128, update_pod_label = 256, update_pod_scale_down = 512,
                              update_pod_toleration = 1024, update_pod_scheduling_gates_eliminated = 2048,
                              update_pod_generated_resource_claim = 4096, update = 8188, all = 8191;
}  // namespace actions

/// What happened. `label` overrides the printed name ("UnschedulableTimeout", "ForceActivate").
struct ClusterEvent {
  EventResource resource = EventResource::any;
  EventActions actions = actions::all;
  std::string_view label = {};  // static storage

  bool wildcard() const noexcept { return resource == EventResource::any && actions == actions::all; }
  /// "AssignedPodDelete", "NodeUpdateNodeTaint", "storage.k8s.io/CSINodeAdd"; the label when set.
  std::string name() const;
};

/// True when a registration for `registered` is to hear of `incoming`.
bool matches(const ClusterEvent& registered, const ClusterEvent& incoming) noexcept;

/// The object of an event before and after; at most one kind is set, null before an add and after a delete.
struct EventObjects {
  PodPtr old_pod, new_pod;
  NodePtr old_node, new_node;
  ObjectPtr old_object, new_object;
};

}  // namespace berth::model
