// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "cluster/embedded/embedded_cluster.hpp"
#include "model/pod.hpp"

namespace berth::app {

inline constexpr std::string_view k_claims = "resource.k8s.io/v1/resourceclaims";
inline constexpr std::string_view k_slices = "resource.k8s.io/v1/resourceslices";

/// The pod's resource claims as they stand in the cluster, as a JSON list: in the order of spec.resourceClaims, then the one that
/// was made for extended resources. Empty when it has none. Shares have random ids, which stand as "*".
std::string claims_json(const model::Pod& pod, const cluster::EmbeddedCluster& cluster);

/// True when claims may be made for pods that ask for extended resources: devices are what these stand for.
bool has_device_classes(const cluster::EmbeddedCluster& cluster);

/// True when some claim is allocated for nodes that are all gone.
bool has_stranded_claim(const cluster::EmbeddedCluster& cluster, const std::function<bool(std::string_view)>& has_node);

}  // namespace berth::app
