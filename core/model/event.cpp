// SPDX-License-Identifier: Apache-2.0
#include "model/event.hpp"

namespace berth::model {
namespace {

std::string resource_name(EventResource resource) {
  switch (resource) {
    case EventResource::pod:
      return "Pod";
    case EventResource::node:
      return "Node";
    case EventResource::persistent_volume:
      return "PersistentVolume";
    case EventResource::persistent_volume_claim:
      return "PersistentVolumeClaim";
    case EventResource::csi_node:
      return "storage.k8s.io/CSINode";
    case EventResource::csi_driver:
      return "storage.k8s.io/CSIDriver";
    case EventResource::volume_attachment:
      return "storage.k8s.io/VolumeAttachment";
    case EventResource::csi_storage_capacity:
      return "storage.k8s.io/CSIStorageCapacity";
    case EventResource::storage_class:
      return "storage.k8s.io/StorageClass";
    case EventResource::resource_claim:
      return "resource.k8s.io/ResourceClaim";
    case EventResource::resource_slice:
      return "resource.k8s.io/ResourceSlice";
    case EventResource::device_class:
      return "resource.k8s.io/DeviceClass";
    case EventResource::pod_group:
      return "scheduling.k8s.io/PodGroup";
    case EventResource::assigned_pod:
      return "AssignedPod";
    case EventResource::unschedulable_pod:
      return "UnschedulablePod";
    case EventResource::any:
      return "*";
    case EventResource::first_watch:
      break;
  }
  return "watch " +
         std::to_string(static_cast<std::uint32_t>(resource) - static_cast<std::uint32_t>(EventResource::first_watch));
}

/// Combinations have no name, except the two that upstream names.
std::string_view action_name(EventActions actions) {
  switch (actions) {
    case actions::add:
      return "Add";
    case actions::remove:
      return "Delete";
    case actions::update_node_allocatable:
      return "UpdateNodeAllocatable";
    case actions::update_node_label:
      return "UpdateNodeLabel";
    case actions::update_node_taint:
      return "UpdateNodeTaint";
    case actions::update_node_condition:
      return "UpdateNodeCondition";
    case actions::update_node_annotation:
      return "UpdateNodeAnnotation";
    case actions::update_node_declared_feature:
      return "UpdateNodeDeclaredFeature";
    case actions::update_pod_label:
      return "UpdatePodLabel";
    case actions::update_pod_scale_down:
      return "UpdatePodScaleDown";
    case actions::update_pod_toleration:
      return "UpdatePodToleration";
    case actions::update_pod_scheduling_gates_eliminated:
      return "UpdatePodSchedulingGatesEliminated";
    case actions::update_pod_generated_resource_claim:
      return "UpdatePodGeneratedResourceClaim";
    case actions::update:
      return "Update";
    case actions::all:
      return "All";
    default:
      return "";
  }
}

bool resource_matches(EventResource registered, EventResource incoming) noexcept {
  if (registered == EventResource::any || registered == incoming) return true;
  return registered == EventResource::pod &&
         (incoming == EventResource::assigned_pod || incoming == EventResource::unschedulable_pod);
}

}  // namespace

std::string ClusterEvent::name() const {
  if (!label.empty()) return std::string(label);
  return resource_name(resource).append(action_name(actions));
}

bool matches(const ClusterEvent& registered, const ClusterEvent& incoming) noexcept {
  if (registered.wildcard()) return true;
  // A general Update does not reach a registration of one update bit, hence the comparison as numbers.
  return resource_matches(registered.resource, incoming.resource) && (registered.actions & incoming.actions) != 0 &&
         incoming.actions <= registered.actions;
}

}  // namespace berth::model
