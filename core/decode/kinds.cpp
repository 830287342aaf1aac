// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "decode/object_decoder.hpp"

namespace berth::decode {
namespace {

struct Kind {
  std::string_view group;  // "" is core
  std::string_view kind;
  bool namespaced = false;
};
/// What kube-scheduler's informers and its plugins watch. Source: kubernetes v1.36 pkg/scheduler/eventhandlers.go.
constexpr std::array<Kind, 22> k_known = {{
    {"", "Pod", true},
    {"", "Node"},
    {"", "Namespace"},
    {"", "Service", true},
    {"", "ReplicationController", true},
    {"", "PersistentVolume"},
    {"", "PersistentVolumeClaim", true},
    {"apps", "ReplicaSet", true},
    {"apps", "StatefulSet", true},
    {"policy", "PodDisruptionBudget", true},
    {"scheduling.k8s.io", "PriorityClass"},
    {"scheduling.k8s.io", "PodGroup", true},
    {"scheduling.k8s.io", "Workload", true},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "CSINode"},
    {"storage.k8s.io", "CSIDriver"},
    {"storage.k8s.io", "CSIStorageCapacity", true},
    {"storage.k8s.io", "VolumeAttachment"},
    {"resource.k8s.io", "ResourceClaim", true},
    {"resource.k8s.io", "ResourceClaimTemplate", true},
    {"resource.k8s.io", "ResourceSlice"},
    {"resource.k8s.io", "DeviceClass"},
}};

const Kind* find_kind(std::string_view api_version, std::string_view kind) noexcept {
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view{} : api_version.substr(0, slash);
  const auto found = std::find_if(k_known.begin(), k_known.end(),
                                  [&](const Kind& known) { return known.group == group && known.kind == kind; });
  return found == k_known.end() ? nullptr : &*found;
}

}  // namespace

bool is_known_kind(std::string_view api_version, std::string_view kind) noexcept {
  return find_kind(api_version, kind) != nullptr;
}

bool is_namespaced_kind(std::string_view api_version, std::string_view kind) noexcept {
  const Kind* known = find_kind(api_version, kind);
  return known != nullptr && known->namespaced;
}

// Source of the plural: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/api/meta/restmapper.go
// (UnsafeGuessKindToResource).
std::string resource_of(std::string_view api_version, std::string_view kind) {
  std::string out = api_version.find('/') == std::string_view::npos ? "core/" : "";
  out.append(api_version).push_back('/');
  std::string plural(kind);
  std::transform(plural.begin(), plural.end(), plural.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (plural.ends_with("endpoints")) return out + plural;
  if (plural.ends_with('s')) return out + plural + "es";
  if (plural.ends_with('y')) {
    plural.pop_back();
    return out + plural + "ies";
  }
  return out + plural + "s";
}

}  // namespace berth::decode
