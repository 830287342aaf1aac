// SPDX-License-Identifier: Apache-2.0
// NodeResourcesBalancedAllocation: prefers nodes whose resources a pod would leave evenly used.
//
// Assumes: the pod asks for at least one of the configured resources; otherwise the plugin takes no part.
// Decides: balance.hpp. No normalisation.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. Departs: devices
//          that stand for a resource do not count, where upstream crashes on classes with selectors.
#include <berth/plugin.hpp>

#include "../shared/node_resources/scored_resources.hpp"
#include "balance.hpp"

namespace berth::node_resources_balanced_allocation {
namespace {

using node_resources::WeightedResource;

constexpr const char k_args_schema[] = R"json({
  "type": "object",
  "description": "Scores nodes by how evenly their resources would be used.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "resources": {
      "type": "array",
      "description": "What is balanced; cpu and memory when empty.",
      "default": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string", "description": "Resource name; none twice."},
          "weight": {"type": "integer", "default": 1, "description": "Must be 1; 0 counts as 1."}
        },
        "additionalProperties": false
      }
    }
  },
  "additionalProperties": false
})json";

std::vector<WeightedResource> read_args(const Json& json) {
  ArgProblems problems;
  auto resources = node_resources::read_resources(json["resources"], "resources");
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto& [name, weight] = resources[i];
    if (weight != 1) problems.invalid(ArgProblems::at("resources", i, "weight"), std::to_string(weight), "must be 1");
    const auto same = [&other = name](const WeightedResource& each) { return each.name == other; };
    const auto here = resources.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(resources.begin(), here, same)) problems.duplicate(ArgProblems::at("resources", i, "name"), name);
  }
  problems.end();
  return resources;
}

class NodeResourcesBalancedAllocation {
 public:
  static constexpr Identity identity{.name = "NodeResourcesBalancedAllocation",
                                     .version = "1.0.0",
                                     .summary = "Scores nodes by how evenly their resources would be used.",
                                     .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE,
                                     .prepare_flags = BERTH_PREPARE_SCORE_WITHOUT_NODES};
  static constexpr const char* args_schema = k_args_schema;
  static constexpr const char* services[] = {Intern::id};

  explicit NodeResourcesBalancedAllocation(Setup& setup) : scored_(setup, read_args(setup.args())) {
    setup.pod_fields(BERTH_POD_REQUESTS);
  }

  Verdict pre_score(const Cycle& cycle, PreScore<>&) const {
    return scored_.asks_for_any(cycle.pod()) ? Verdict::ok() : Verdict::skip();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    if (!scored_.asks_for_any(cycle.pod())) {  // a profile may list score without preScore
      for (std::uint32_t w = 0; w < block.words(); ++w) block.set(w, Mask::all(), 0);
      return;
    }
    scored_.bind(cycle.pod(), block,
                 [&](std::span<const Entry> entries) { balance_block(entries, block.candidates(), block.scores()); });
  }

 private:
  node_resources::ScoredResources<node_resources::Charge::as_requested> scored_;
};

}  // namespace
}  // namespace berth::node_resources_balanced_allocation

BERTH_PLUGIN(berth::node_resources_balanced_allocation::NodeResourcesBalancedAllocation)
