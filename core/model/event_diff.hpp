// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "model/event.hpp"

namespace berth::model {

/// The events that an update of a node raises, in the order in which they are to be handled; often none.
/// Source: kubernetes v1.36 pkg/scheduler/framework/events.go (NodeSchedulingPropertiesChange). Departs: resources that
/// scheduling ignores are not compared, since a Node does not keep them.
std::vector<ClusterEvent> node_update_events(const Node& old_node, const Node& new_node);

/// The events that an update of a pod raises, in order; a plain Update when nothing particular changed.
/// Source: kubernetes v1.36 pkg/scheduler/framework/events.go (PodSchedulingPropertiesChange). Departs: an explicit
/// request of 0 that disappears is no scale-down.
std::vector<ClusterEvent> pod_update_events(const Pod& old_pod, const Pod& new_pod);

}  // namespace berth::model
