// SPDX-License-Identifier: Apache-2.0
/// What a NodeResourceTopology object says: the kubelet's topology manager and the zones of the node.
///
/// Errors:  what cannot be read counts as not there, as upstream has it. Source: kubernetes-sigs/scheduler-plugins,
///          pkg/noderesourcetopology: nodeconfig/topologymanager.go and pluginhelpers.go.
#pragma once
#include <berth/json.hpp>
#include <berth/objects/quantity.hpp>

#include <charconv>
#include <memory>
#include <string>

#include "numa.hpp"

namespace node_resource_topology_match {

/// The kubelet's topology manager.
struct Manager {
  bool is_single_numa_node = false;  ///< policy; the others align nothing for certain
  bool aligns_pods = false;          ///< scope: else containers
  int max_numa_nodes = 8;
};
struct Topology {
  Manager manager;
  Zones zones;
};

inline std::optional<int> number_in(std::string_view text) noexcept {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
/// Zones are called node-0 … node-63.
inline std::optional<int> numa_id(const berth::Json& name) {
  constexpr std::string_view k_prefix = "node-";
  if (!name.is_string() || !std::string_view(name.string("name")).starts_with(k_prefix)) return std::nullopt;
  const auto id = number_in(std::string_view(name.string("name")).substr(k_prefix.size()));
  return id && *id >= 0 && *id < 64 ? id : std::nullopt;
}

/// topologyPolicies, which newer agents leave out, then attributes, which win.
inline Manager manager_of(const berth::Json& policies, const berth::Json& attributes) {
  Manager manager;
  if (!policies.items().empty() && policies.items().front().is_string()) {
    const std::string_view policy = policies.items().front().string("topologyPolicies");
    const bool is_known =
        policy.starts_with("SingleNUMANode") || policy.starts_with("BestEffort") || policy.starts_with("Restricted");
    if (is_known && (policy.ends_with("PodLevel") || policy.ends_with("ContainerLevel")))
      manager = {policy.starts_with("SingleNUMANode"), policy.ends_with("PodLevel"), manager.max_numa_nodes};
  }
  for (const berth::Json& each : attributes.items()) {
    if (!each["name"].is_string() || !each["value"].is_string()) continue;
    const std::string_view name = each["name"].string("name"), value = each["value"].string("value");
    if (name == "topologyManagerScope" && (value == "pod" || value == "container"))
      manager.aligns_pods = value == "pod";
    if (name == "topologyManagerPolicy" &&
        (value == "none" || value == "best-effort" || value == "restricted" || value == "single-numa-node"))
      manager.is_single_numa_node = value == "single-numa-node";
    if (name == "topologyManagerMaxNUMANodes")
      if (const auto number = number_in(value); number && *number > 1) manager.max_numa_nodes = std::min(*number, 1024);
  }
  return manager;
}

/// intern(name) numbers resources.
template <class Intern>
Zones zones_of(const berth::Json& list, const Intern& intern) {
  Zones zones;
  for (const berth::Json& each : list.items()) {
    const auto id = numa_id(each["name"]);
    if (!each["type"].is_string() || each["type"].string("type") != "Node" || !id) continue;
    Zone& zone = zones.emplace_back();
    zone.id = *id;
    for (const berth::Json& resource : each["resources"].items()) {
      const berth::Json& available = resource["available"];
      if (!resource["name"].is_string()) continue;
      const auto quantity = berth::Quantity::parse(
          available.is_string() ? std::string_view(available.string("available")) : available.number_text());
      const std::string& name = resource["name"].string("name");
      zone.available.emplace_back(intern(name), quantity ? quantity->amount_of(name) : 0);
    }
    for (const berth::Json& cost : each["costs"].items())
      if (const auto other = numa_id(cost["name"]); other && cost["value"].is_number())
        zone.costs.emplace_back(*other, static_cast<int>(cost["value"].number("value")));
  }
  return zones;
}

}  // namespace node_resource_topology_match
