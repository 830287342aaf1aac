// SPDX-License-Identifier: Apache-2.0
#include "allocator.hpp"

#include <algorithm>
#include <set>

#include "search/counter_tables.hpp"
#include "search/search.hpp"

namespace berth::dra {
namespace {

bool is_same(const NodeRequirement& a, const NodeRequirement& b) {
  return a.key == b.key && a.operation == b.operation &&
         std::set<std::string_view>(a.values.begin(), a.values.end()) ==
             std::set<std::string_view>(b.values.begin(), b.values.end());
}

void append_new(const std::vector<NodeRequirement>& from, std::vector<NodeRequirement>& to) {
  for (const NodeRequirement& each : from) {
    if (std::none_of(to.begin(), to.end(), [&](const NodeRequirement& known) { return is_same(known, each); }))
      to.push_back(each);
  }
}

std::optional<NodeSelector> selector_of(const std::vector<PlacedDevice>& placed, const std::string& node_name) {
  NodeSelectorTerm merged;
  for (const PlacedDevice& each : placed) {
    const Slice& slice = each.device.slice->object();
    const Device& device = *each.device.device->object;
    const NodeChoice& nodes = slice.per_device_node_selection ? device.nodes : slice.nodes;
    if (!nodes.node_name.empty() || device.binds_to_node)
      return NodeSelector{{{{}, {{"metadata.name", "In", {node_name}}}}}};
    if (nodes.all_nodes || !nodes.selector) continue;
    for (const NodeSelectorTerm& term : nodes.selector->terms) {
      append_new(term.match_expressions, merged.match_expressions);
      append_new(term.match_fields, merged.match_fields);
    }
  }
  if (merged == NodeSelectorTerm{}) return std::nullopt;
  return NodeSelector{{std::move(merged)}};
}

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void append_class_config(const PreparedClaim& claim, const std::vector<const Query*>& chosen,
                         std::vector<ClaimAllocation::Config>& config) {
  struct Entries {
    const PreparedClass* device_class;
    std::size_t first;
  };
  std::vector<Entries> seen;
  for (const Query* query : chosen) {
    const PreparedClass& device_class = *query->device_class;
    const auto known =
        std::find_if(seen.begin(), seen.end(), [&](const Entries& each) { return each.device_class == &device_class; });
    const std::string name = claim.result_name(*query);
    if (known == seen.end()) {
      seen.push_back({&device_class, config.size()});
      for (const OpaqueConfig& each : device_class.config)
        config.push_back({true, {name}, each.driver, each.parameters});
      continue;
    }
    for (std::size_t i = 0; i < device_class.config.size(); ++i) config[known->first + i].requests.push_back(name);
  }
}

/// A configuration that names two requests is there twice, as upstream.
void append_claim_config(const PreparedClaim& claim, const std::vector<const Query*>& chosen,
                         std::vector<ClaimAllocation::Config>& config) {
  for (const ClaimConfig& each : claim.object().config) {
    const ClaimAllocation::Config entry{false, each.requests, each.opaque.driver, each.opaque.parameters};
    if (each.requests.empty()) config.push_back(entry);
    for (const Query* query : chosen) {
      if (lists(each.requests, claim.object().requests[query->request].name) ||
          (query->is_sub && lists(each.requests, claim.result_name(*query))))
        config.push_back(entry);
    }
  }
}

}  // namespace

ClaimAllocation Allocation::describe(std::size_t claim, const std::function<std::string()>& make_share_id) const {
  ClaimAllocation made;
  const PreparedClaim& prepared = *claims_[claim];
  for (const PlacedDevice& each : placed_[claim]) {
    const Slice& slice = each.device.slice->object();
    const Device& device = *each.device.device->object;
    ClaimAllocation::Result& result = made.results.emplace_back();
    result.request = prepared.result_name(*each.query);
    result.driver = slice.driver;
    result.pool = slice.pool;
    result.device = device.name;
    result.admin_access = each.query->object->admin_access;
    result.tolerations = each.query->object->tolerations;
    result.binding_conditions = device.binding_conditions;
    result.binding_failure_conditions = device.binding_failure_conditions;
    if (each.is_share) result.share_id = make_share_id();
    for (const PlacedDevice::Consumed& consumed : each.consumed)
      result.consumed_capacity.push_back({std::string(consumed.name), canonical_text(consumed.amount)});
  }
  append_class_config(prepared, chosen_[claim], made.config);
  append_claim_config(prepared, chosen_[claim], made.config);
  made.node_selector = selector_of(placed_[claim], pools_->node_name);
  return made;
}

std::int64_t Allocation::preference_of(std::size_t claim) const {
  std::int64_t sum = 0;
  const std::vector<Request>& requests = claims_[claim]->object().requests;
  for (const Request& request : requests) {
    for (std::size_t i = 0; i < request.first_available.size(); ++i) {
      const bool is_taken = std::any_of(placed_[claim].begin(), placed_[claim].end(), [&](const PlacedDevice& each) {
        return each.query->is_sub && each.query->object->name == request.first_available[i].name &&
               requests[each.query->request].name == request.name;
      });
      if (is_taken) sum += 8 - static_cast<std::int64_t>(i);
    }
  }
  return sum;
}

std::size_t Allocation::bytes() const {
  std::size_t sum = sizeof *this + 2 * sizeof(void*);
  for (const auto& placed : placed_) {
    sum += sizeof placed + placed.capacity() * sizeof(PlacedDevice);
    for (const PlacedDevice& each : placed) sum += each.consumed.capacity() * sizeof(PlacedDevice::Consumed);
  }
  for (const auto& chosen : chosen_) sum += sizeof chosen + chosen.capacity() * sizeof(const Query*);
  return sum + claims_.capacity() * sizeof(claims_[0]);
}

Allocator::Allocator(std::shared_ptr<const AllocatedState> state)
    : state_(std::move(state)), counters_(std::make_unique<CounterTables>()) {}
Allocator::~Allocator() = default;

/// The search goes as deep as there are requests and devices, so their number is bounded.
std::string Allocator::too_much(std::span<const std::shared_ptr<const PreparedClaim>> claims) {
  std::size_t requests = 0;
  for (const auto& claim : claims) requests += claim->requests().size();
  if (claims.size() <= k_claims_max && requests <= k_requests_max) return {};
  return "the pod has " + std::to_string(claims.size()) + " claims with " + std::to_string(requests) +
         " requests to allocate; at most " + std::to_string(k_claims_max) + " claims with " +
         std::to_string(k_requests_max) + " requests are supported";
}

Outcome Allocator::allocate(const std::shared_ptr<const NodePools>& pools,
                            std::span<const std::shared_ptr<const PreparedClaim>> claims, const Limits& limits,
                            Workspace& workspace) const {
  if (!pools->error.empty()) return {Outcome::Kind::failed, pools->error, {}};
  if (const std::string wrong = too_much(claims); !wrong.empty()) return {Outcome::Kind::failed, wrong, {}};
  return Search(pools, claims, *state_, *counters_, limits, workspace.evaluator).run();
}

std::vector<Refusal> Allocator::diagnose(const std::shared_ptr<const NodePools>& pools,
                                         std::span<const std::shared_ptr<const PreparedClaim>> claims,
                                         const Limits& limits, Workspace& workspace) const {
  if (!pools->error.empty() || !too_much(claims).empty()) return {};
  return Search(pools, claims, *state_, *counters_, limits, workspace.evaluator).diagnose();
}

}  // namespace berth::dra
