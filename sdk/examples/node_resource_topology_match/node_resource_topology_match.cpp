// SPDX-License-Identifier: Apache-2.0
/// NodeResourceTopologyMatch: pods go to nodes whose kubelet can align them on one NUMA node, and to those where that costs least.
///
/// Assumes: an agent keeps a NodeResourceTopology object per node up to date, with what is available in each zone. What pods that are
///          on their way will use is not taken away from it.
/// Steps:   on nodes whose topology manager has the policy single-numa-node each container, or the pod, has to fit a zone; containers
///          one after the other, each leaving less for the next. Other nodes, and those without an object, are fine. Scores say how
///          full the zones get, by strategy, or how few zones the pod needs.
/// Ties:    left to the host; the zone with the lowest id is taken, as the kubelet does.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology. Departs: no cache of reservations, no preemption mode.
#include <berth/arg_problems.hpp>
#include <berth/objects/joined_by_node.hpp>
#include <berth/plugin.hpp>

#include <array>
#include <string>

#include "scores.hpp"
#include "topology.hpp"

namespace node_resource_topology_match {
namespace {

constexpr berth::Reason k_container = 1, k_init_container = 2, k_sidecar_container = 3, k_pod = 4;

/// What the pod asks for.
struct State {
  struct Container {
    Request request;
    std::uint32_t kind = 0;
  };
  std::vector<Container> containers;
  std::vector<Request> requests;  ///< of the same
  Request effective;              ///< of the pod as a whole
  bool is_guaranteed = false;
  /// Of resources other than cpu, memory and ephemeral storage: by slot, whether the node names it.
  std::map<berth::Id, const std::int64_t*> listed;
};

class NodeResourceTopologyMatch {
 public:
  using State = node_resource_topology_match::State;
  static constexpr berth::Identity identity{
      .name = "NodeResourceTopologyMatch",
      .version = "1.0.0",
      .summary = "Places pods on nodes that can align them on one NUMA node.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS | BERTH_DEP_ANNOUNCED};
  static constexpr char args_schema[] = R"json({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "scoringStrategy": {"type": "object", "additionalProperties": false, "properties": {
        "type": {"type": "string", "enum": ["MostAllocated", "LeastAllocated", "BalancedAllocation", "LeastNUMANodes"],
                 "default": "LeastAllocated", "description": "What makes a node better."},
        "resources": {"type": "array", "description": "Weights of resources; of others 1.", "items": {
          "type": "object", "additionalProperties": false, "required": ["name"],
          "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "description": "Below 1: 1."}}}}}},
      "cacheResyncPeriodSeconds": {"type": "integer", "minimum": 0, "maximum": 0, "default": 0,
                                   "description": "Only 0: there is no cache of reservations."},
      "discardReservedNodes": {"type": "boolean", "enum": [false], "default": false, "description": "Only false, likewise."},
      "cache": {"type": "object", "description": "Means nothing without a cache."},
      "preemptionMode": {"type": "string", "enum": ["Disabled"], "default": "Disabled", "description": "Only Disabled."}
    }
  })json";
  static constexpr const char* services[] = {berth::Objects::id, berth::Intern::id, berth::NodeColumns::id};
  static constexpr const char* watches[] = {"topology.node.k8s.io/v1alpha2/noderesourcetopologies"};
  static constexpr berth::ReasonText reasons[] = {{"cannot align container", "CannotAlignContainer"},
                                                  {"cannot align init container", "CannotAlignInitContainer"},
                                                  {"cannot align sidecar container", "CannotAlignSidecarContainer"},
                                                  {"cannot align pod", "CannotAlignPod"}};
  static constexpr berth::Interest interests[] = {
      berth::always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
      berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE),
      berth::always(BERTH_KIND_OWN_WATCH + 0, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE)};

  explicit NodeResourceTopologyMatch(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        nodes_(setup.service<berth::NodeColumns>()),
        topologies_(setup, watches[0], k_fields, [this](const berth_object_v1& object) { return decode(object); }) {
    setup.pod_fields(BERTH_POD_CONTAINERS | BERTH_POD_QOS);
    const berth::Json args = setup.args();
    const berth::Json& strategy = args["scoringStrategy"];
    const std::string type = strategy["type"].string_or("scoringStrategy.type", "LeastAllocated");
    strategy_ = type == "MostAllocated"        ? Strategy::most_allocated
                : type == "BalancedAllocation" ? Strategy::balanced_allocation
                : type == "LeastNUMANodes"     ? Strategy::least_numa_nodes
                                               : Strategy::least_allocated;
    for (const berth::Json& each : strategy["resources"].array("scoringStrategy.resources"))
      weights_[intern_(each["name"].string("name"))] =
          std::max<std::int64_t>(each["weight"].integer_or("weight", 1), 1);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    topologies_.follow(cycle);
    const berth::Pod pod = cycle.pod();
    // Nothing of it would be aligned.
    if (pod.qos() == BERTH_QOS_BEST_EFFORT && !asks_for_devices(pod)) return berth::Verdict::skip();
    fill(cycle, out.make());
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr) return;
    Zones left;
    nodes.each_candidate([&](std::uint32_t row) {
      const berth::Slot slot = nodes.slot(row);
      const Topology* const topology = topologies_.at(slot);
      if (topology == nullptr || !topology->manager.is_single_numa_node) return;
      const berth::Reason reason = topology->manager.aligns_pods
                                       ? (zone_for(state->effective, *state, topology->zones, slot) ? 0 : k_pod)
                                       : align_containers(*state, topology->zones, left, slot);
      if (reason != 0) nodes.reject_row(row, berth::unschedulable(reason));
    });
  }

  berth::Verdict pre_score(const berth::Cycle& cycle, berth::PreScore<State>& out) {
    // Of a profile without pre_filter, or a pod that it skipped.
    if (out.state() == nullptr) {
      topologies_.follow(cycle);
      fill(cycle, out.make());
    }
    return berth::Verdict::ok();
  }

  std::int64_t score_each(const berth::Cycle& cycle, berth::Row node) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr || !state->is_guaranteed) return BERTH_SCORE_MAX;
    const Topology* const topology = topologies_.at(node.slot());
    if (topology == nullptr) return 0;
    const bool aligns_pods = topology->manager.aligns_pods;
    if (strategy_ == Strategy::least_numa_nodes)
      return least_numa_score(topology->zones, aligns_pods ? std::vector<Request>{state->effective} : state->requests,
                              topology->manager.max_numa_nodes);
    if (!topology->manager.is_single_numa_node) return 0;
    if (aligns_pods) return score_of_zones(topology->zones, state->effective, strategy_, weights_);
    double sum = 0;
    for (const Request& each : state->requests)
      sum += static_cast<double>(score_of_zones(topology->zones, each, strategy_, weights_));
    return state->requests.empty() ? 0 : static_cast<std::int64_t>(sum / static_cast<double>(state->requests.size()));
  }

 private:
  static constexpr std::string_view k_paths[] = {"topologyPolicies", "attributes", "zones"};
  static constexpr berth_field_v1 k_fields[] = {{berth::borrow(k_paths[0]), BERTH_FIELD_JSON, 0},
                                                {berth::borrow(k_paths[1]), BERTH_FIELD_JSON, 0},
                                                {berth::borrow(k_paths[2]), BERTH_FIELD_JSON, 0}};

  std::shared_ptr<const Topology> decode(const berth_object_v1& object) const {
    const auto field = [&](int index) {
      return object.values[index].present != 0 ? berth::Json::parse(berth::view(object.values[index].text))
                                               : berth::Json();
    };
    return std::make_shared<const Topology>(Topology{manager_of(field(0), field(1)), zones_of(field(2), intern_)});
  }

  static bool is_native(std::string_view name) noexcept {
    return name.find('/') == name.npos || name.find("kubernetes.io/") != name.npos;
  }
  bool asks_for_devices(berth::Pod pod) const {
    for (const berth_container_v1& container : pod.containers())
      for (const auto& amount : berth::span_of(container.amounts, container.amount_count))
        if ((amount.flags & BERTH_AMOUNT_REQUEST) != 0 && !is_native(intern_.text(amount.name))) return true;
    return false;
  }
  Asked asked(berth::Id resource, std::int64_t amount) const {
    const std::string_view name = intern_.text(resource);
    return {resource, amount, name == "cpu", name == "cpu" || name == "memory" || name.starts_with("hugepages-"),
            name == "ephemeral-storage" || name == "storage" || !is_native(name)};
  }

  /// Init containers run one after the other, all others at a time, and the overhead with them.
  void fill(const berth::Cycle& cycle, State& state) const {
    const berth::Pod pod = cycle.pod();
    state.is_guaranteed = pod.qos() == BERTH_QOS_GUARANTEED;
    std::map<berth::Id, std::int64_t> initial, running;
    for (const berth_container_v1& container : pod.containers()) {
      State::Container& own = state.containers.emplace_back();
      own.kind = container.kind;
      for (const auto& amount : berth::span_of(container.amounts, container.amount_count)) {
        if ((amount.flags & BERTH_AMOUNT_REQUEST) == 0) continue;
        own.request.push_back(asked(amount.name, amount.request));
        if (container.kind == BERTH_CONTAINER_APP) {
          running[amount.name] += amount.request;
        } else {
          initial[amount.name] = std::max(initial[amount.name], amount.request);
        }
      }
      state.requests.push_back(own.request);
    }
    for (const auto& [resource, amount] : initial) running[resource] = std::max(running[resource], amount);
    for (const auto& amount : pod.overhead()) running[amount.name] += amount.request;
    for (const auto& [resource, amount] : running) {
      state.effective.push_back(asked(resource, amount));
      const std::string_view name = intern_.text(resource);
      if (name != "cpu" && name != "memory" && name != "ephemeral-storage")
        state.listed[resource] = nodes_.resource(cycle, BERTH_COL_LISTED, resource);
    }
  }

  /// The lowest zone, by place, that has all of it, or none. A resource that no zone has may be the node's as a whole.
  static std::optional<std::size_t> zone_for(const Request& request, const State& state, const Zones& zones,
                                             berth::Slot slot) {
    std::uint64_t fitting = ~std::uint64_t{0};  // by id
    for (const Asked& asked : request) {
      if (asked.amount == 0) continue;
      const auto listed = state.listed.find(asked.resource);
      if (listed != state.listed.end() && (listed->second == nullptr || listed->second[slot] == 0)) return std::nullopt;
      std::uint64_t suitable = 0;
      bool is_known = false;
      for (const Zone& zone : zones) {
        const std::int64_t* const available = zone.find(asked.resource);
        if (available == nullptr) continue;
        is_known = true;
        if (suits(state.is_guaranteed, asked, *available)) suitable |= std::uint64_t{1} << zone.id;
      }
      if (!is_known && asked.is_host_level) continue;
      if ((fitting &= suitable) == 0) return std::nullopt;
    }
    std::optional<std::size_t> lowest;
    for (std::size_t i = 0; i < zones.size(); ++i)
      if ((fitting >> zones[i].id & 1) != 0 && (!lowest || zones[i].id < zones[*lowest].id)) lowest = i;
    // Where no zone is asked for anything, any will do, and so will a node without zones.
    return lowest ? lowest : std::optional<std::size_t>(zones.size());
  }

  /// 0, or why not. `left` is kept for its memory.
  static berth::Reason align_containers(const State& state, const Zones& zones, Zones& left, berth::Slot slot) {
    for (const State::Container& each : state.containers)
      if (each.kind != BERTH_CONTAINER_APP && !zone_for(each.request, state, zones, slot))
        return each.kind == BERTH_CONTAINER_SIDECAR ? k_sidecar_container : k_init_container;
    const auto apps = std::count_if(state.containers.begin(), state.containers.end(),
                                    [](const State::Container& each) { return each.kind == BERTH_CONTAINER_APP; });
    const bool is_alone = apps == 1;
    if (!is_alone) left = zones;
    for (const State::Container& each : state.containers) {
      if (each.kind != BERTH_CONTAINER_APP) continue;
      const auto zone = zone_for(each.request, state, is_alone ? zones : left, slot);
      if (!zone) return k_container;
      if (is_alone || *zone == left.size()) continue;
      for (const Asked& asked : each.request) {
        if (!state.is_guaranteed && asked.is_numa_affine) continue;
        if (std::int64_t* const available = left[*zone].find(asked.resource)) *available -= asked.amount;
      }
    }
    return 0;
  }

  berth::Intern intern_;
  berth::NodeColumns nodes_;
  berth::JoinedByNode<Topology> topologies_;
  Strategy strategy_ = Strategy::least_allocated;
  Weights weights_;
};

}  // namespace
}  // namespace node_resource_topology_match

BERTH_PLUGIN(node_resource_topology_match::NodeResourceTopologyMatch)
