// SPDX-License-Identifier: Apache-2.0
#include "model/event_diff.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace berth::model {
namespace {

/// Type to status; heartbeats, reasons and messages do not matter to scheduling.
std::map<Symbol, Symbol> statuses(const Node& node) {
  std::map<Symbol, Symbol> out;
  for (const NodeCondition& condition : node.conditions) out[condition.type] = condition.status;
  return out;
}

bool same_amounts(std::vector<ResourceAmount> a, std::vector<ResourceAmount> b) {
  const auto by_name = [](const ResourceAmount& x, const ResourceAmount& y) { return x.name < y.name; };
  std::sort(a.begin(), a.end(), by_name);
  std::sort(b.begin(), b.end(), by_name);
  return a == b;
}

bool asks_for_less(const PodRequests& before, const PodRequests& after) {
  // Both are in the order of the names, as a rule the same ones: each is looked for where the one before was found.
  std::size_t at = 0;
  const std::size_t count = after.resources.size();
  std::unordered_map<Symbol, std::size_t> by_name;
  return std::any_of(before.resources.begin(), before.resources.end(), [&](const PodResource& old_resource) {
    if (at >= count || after.resources[at].name != old_resource.name) {
      if (by_name.empty())
        for (std::size_t i = count; i-- > 0;) by_name[after.resources[i].name] = i;
      const auto found = by_name.find(old_resource.name);
      if (found == by_name.end()) return true;
      at = found->second;
    }
    return after.resources[at++].effective < old_resource.effective;
  });
}

}  // namespace

std::vector<ClusterEvent> node_update_events(const Node& old_node, const Node& new_node) {
  std::vector<ClusterEvent> events;
  const auto raise = [&](EventActions action) { events.push_back({EventResource::node, action}); };
  if (old_node.unschedulable && !new_node.unschedulable) raise(actions::update_node_taint);
  if (old_node.allowed_pods != new_node.allowed_pods || !same_amounts(old_node.allocatable, new_node.allocatable))
    raise(actions::update_node_allocatable);
  if (old_node.labels != new_node.labels) raise(actions::update_node_label);
  if (old_node.taints != new_node.taints) raise(actions::update_node_taint);
  if (statuses(old_node) != statuses(new_node)) raise(actions::update_node_condition);
  if (old_node.annotations != new_node.annotations || old_node.annotations_hash != new_node.annotations_hash)
    raise(actions::update_node_annotation);
  if (old_node.declared_features != new_node.declared_features) raise(actions::update_node_declared_feature);
  return events;
}

std::vector<ClusterEvent> pod_update_events(const Pod& old_pod, const Pod& new_pod) {
  const EventResource resource =
      new_pod.node_name == 0 ? EventResource::unschedulable_pod : EventResource::assigned_pod;
  std::vector<ClusterEvent> events;
  const auto raise = [&](EventActions action) { events.push_back({resource, action}); };
  if (old_pod.labels != new_pod.labels) raise(actions::update_pod_label);
  if (asks_for_less(old_pod.requests, new_pod.requests)) raise(actions::update_pod_scale_down);
  if (new_pod.spec->gates.empty() && !old_pod.spec->gates.empty())
    raise(actions::update_pod_scheduling_gates_eliminated);
  if (old_pod.spec->tolerations.size() != new_pod.spec->tolerations.size()) raise(actions::update_pod_toleration);
  if (old_pod.claim_statuses != new_pod.claim_statuses) raise(actions::update_pod_generated_resource_claim);
  if (events.empty()) raise(actions::update);
  return events;
}

}  // namespace berth::model
