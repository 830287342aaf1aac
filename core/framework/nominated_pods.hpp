// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <vector>

#include "cache/node_row.hpp"
#include "model/pod.hpp"

namespace berth::framework {

/// Pods that are nominated to a node, as far as one incoming pod has to make room for them, in order of nomination.
using NominatedPods = std::map<cache::Slot, std::vector<model::PodPtr>>;

}  // namespace berth::framework
