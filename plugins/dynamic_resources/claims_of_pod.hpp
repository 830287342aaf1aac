// SPDX-License-Identifier: Apache-2.0
/// Which claims a pod means.
/// Source: kubernetes v1.36 staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/claim.go.
#pragma once
#include "../shared/devices/device_cluster.hpp"

namespace devices {

/// Appends the pod's claims in the order of its spec, as `cluster` knows them. Empty, or why they are not there.
inline std::string find_claims(const DeviceCluster& cluster, std::string_view ns, berth::Pod pod,
                               std::vector<ClaimPtr>& claims) {
  const auto key = [&](std::string_view name) { return std::string(ns) + '/' + std::string(name); };
  for (const berth_pod_claim_v1& entry : pod.claims()) {
    std::string_view name = berth::view(entry.claim);
    const bool is_own = name.empty();
    if (is_own) {
      if (entry.claim_template.len == 0)
        return "pod \"" + key(pod.name()) + "\", spec.resourceClaim \"" + std::string(berth::view(entry.name)) +
               "\": none of the supported fields are set";
      if ((entry.flags & BERTH_POD_CLAIM_HAS_STATUS) == 0)
        return "pod \"" + key(pod.name()) + "\": ResourceClaim not created yet";
      name = berth::view(entry.generated);
      if (name.empty()) continue;  // none is needed
    }
    ClaimPtr claim = cluster.claim(ns, name);
    if (claim == nullptr) return "could not find ResourceClaim \"" + key(name) + '"';
    if (claim->is_deleting) return "resourceclaim \"" + std::string(name) + "\" is being deleted";
    if (is_own && claim->controller_uid != pod.uid())
      return "ResourceClaim " + key(name) + " was not created for Pod " + key(pod.name()) + " (Pod is not owner)";
    claims.push_back(std::move(claim));
  }
  return {};
}

}  // namespace devices
