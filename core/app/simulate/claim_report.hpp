// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "cluster/embedded/embedded_cluster.hpp"
#include "model/pod.hpp"

namespace berth::app {

/// The pod's resource claims as they stand in the cluster, as a JSON list: in the order of spec.resourceClaims, then the one that
/// was made for extended resources. Empty when it has none. Shares have random ids, which stand as "*".
std::string claims_json(const model::Pod& pod, const cluster::EmbeddedCluster& cluster);

}  // namespace berth::app
