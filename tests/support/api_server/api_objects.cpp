// SPDX-License-Identifier: Apache-2.0
#include "support/api_server/api_objects.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>

namespace berth::tests {

const std::vector<ApiResource>& built_in_resources() {
  static const std::vector<ApiResource> k_all = {
      {"", "v1", "namespaces", "Namespace"},
      {"", "v1", "nodes", "Node"},
      {"", "v1", "pods", "Pod", true},
      {"", "v1", "services", "Service", true},
      {"", "v1", "replicationcontrollers", "ReplicationController", true},
      {"", "v1", "persistentvolumes", "PersistentVolume"},
      {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
      {"", "v1", "configmaps", "ConfigMap", true},
      {"", "v1", "events", "Event", true},
      {"apps", "v1", "replicasets", "ReplicaSet", true},
      {"apps", "v1", "statefulsets", "StatefulSet", true},
      {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
      {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"},
      {"storage.k8s.io", "v1", "storageclasses", "StorageClass"},
      {"storage.k8s.io", "v1", "csinodes", "CSINode"},
      {"storage.k8s.io", "v1", "csidrivers", "CSIDriver"},
      {"storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", true},
      {"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"},
      {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true},
      {"resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", true},
      {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice"},
      {"resource.k8s.io", "v1", "deviceclasses", "DeviceClass"},
      {"coordination.k8s.io", "v1", "leases", "Lease", true},
      {"events.k8s.io", "v1", "events", "Event", true},
  };
  return k_all;
}

std::string text_at(const json::value& value, std::string_view pointer) {
  boost::system::error_code missing;
  const json::value* found = value.find_pointer(pointer, missing);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

json::object& object_at(json::object& parent, std::string_view key) {
  json::value& child = parent[key];
  if (!child.is_object()) child = json::object();
  return child.get_object();
}

void merge_patch(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  for (const auto& [key, change] : patch.get_object()) {
    if (change.is_null())
      target.get_object().erase(key);
    else
      merge_patch(target.get_object()[key], change);
  }
}

namespace {

void merge_list(json::value& target, const json::array& patch, std::string_view merge_key) {
  if (!target.is_array()) target = json::array();
  json::array& list = target.get_array();
  for (const json::value& element : patch) {
    const std::string pointer = "/" + std::string(merge_key);
    const std::string id = text_at(element, pointer);
    if (text_at(element, "/$patch") == "delete") {
      for (auto it = list.begin(); it != list.end();) it = text_at(*it, pointer) == id ? list.erase(it) : it + 1;
      continue;
    }
    const auto known =
        std::find_if(list.begin(), list.end(), [&](const json::value& e) { return text_at(e, pointer) == id; });
    if (known == list.end())
      list.push_back(element);
    else
      strategic_merge_patch(*known, element);
  }
}

}  // namespace

void strategic_merge_patch(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  for (const auto& [key, change] : patch.get_object()) {
    const std::string_view name(key);
    if (name.starts_with("$")) continue;
    if (change.is_null())
      target.get_object().erase(key);
    else if (name == "conditions" && change.is_array())
      merge_list(target.get_object()[key], change.get_array(), "type");
    else if (name == "reservedFor" && change.is_array())
      merge_list(target.get_object()[key], change.get_array(), "uid");
    else
      strategic_merge_patch(target.get_object()[key], change);
  }
}

json::value pod_scheduled(std::string_view status, json::value reason, json::value message, std::string_view now) {
  json::object out;
  out["lastProbeTime"] = nullptr;
  out["lastTransitionTime"] = now;
  out["type"] = "PodScheduled";
  out["status"] = status;
  if (!reason.is_null()) out["reason"] = std::move(reason);
  if (!message.is_null()) out["message"] = std::move(message);
  return out;
}

std::string rfc3339(std::int64_t wall_ns) {
  const std::time_t seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void fill_in_new(const ApiResource& resource, json::object& object, std::string_view ns, const std::string& uid,
                 const std::string& now) {
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  json::object& metadata = object_at(object, "metadata");
  if (resource.namespaced) metadata["namespace"] = ns;
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = now;
  if (resource.kind == "Namespace") object_at(metadata, "labels")["kubernetes.io/metadata.name"] = metadata["name"];
  if (resource.kind != "Pod") return;
  metadata["generation"] = 1;
  json::object& spec = object_at(object, "spec");
  if (!spec.contains("schedulerName")) spec["schedulerName"] = "default-scheduler";
  if (!spec.contains("priority")) spec["priority"] = 0;
  json::object& status = object_at(object, "status");
  if (!status.contains("phase")) status["phase"] = "Pending";
  const json::value* gates = spec.if_contains("schedulingGates");
  if (gates != nullptr && gates->is_array() && !gates->get_array().empty() && !status.contains("conditions"))
    status["conditions"] = json::array(
        1, pod_scheduled("False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", now));
}

}  // namespace berth::tests
