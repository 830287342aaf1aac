// SPDX-License-Identifier: Apache-2.0
/// The resources that a priority rates, bound to columns once and to a pod per block.
#pragma once
#include <berth/plugin.hpp>

#include "../../shared/node_resources/args.hpp"
#include "../../shared/node_resources/resource_names.hpp"
#include "../v1_16_args.hpp"
#include "v1_16_sums.hpp"

namespace berth::legacy {

using node_resources::WeightedResource;

/// One resource on the rows of a block.
struct Rated {
  const std::int64_t* capacity = nullptr;
  const std::int64_t* used = nullptr;  ///< what the node's pods count for, cpu and memory with defaults
  std::int64_t request = 0;
  std::int64_t weight = 1;

  std::int64_t offered(std::uint32_t row) const noexcept { return capacity[row]; }
  std::int64_t wanted(std::uint32_t row) const noexcept { return used[row] + request; }
};

class RatedResources {
 public:
  RatedResources(Setup& setup, const std::vector<WeightedResource>& configured, bool with_init)
      : names_{setup.service<Intern>()("cpu"), setup.service<Intern>()("memory")}, with_init_(with_init) {
    for (const WeightedResource& each : configured) {
      const Id name = setup.service<Intern>()(each.name);
      const bool compute = name == names_.cpu || name == names_.memory;
      resources_.push_back({name, setup.allocatable(each.name),
                            compute ? setup.nonzero(each.name) : setup.requested(each.name), each.weight});
    }
    setup.pod_fields(BERTH_POD_CONTAINERS);
  }

  /// Valid as long as the block.
  std::vector<Rated> bind(Pod pod, const Block& block) const {
    std::vector<Rated> rated;
    for (const Resource& each : resources_)
      rated.push_back({block[each.capacity], block[each.used], scoring_request_of(pod, each.name, names_, with_init_),
                       each.weight});
    return rated;
  }

 private:
  struct Resource {
    Id name;
    IntColumn capacity;
    IntColumn used;
    std::int64_t weight;
  };
  ComputeNames names_;
  bool with_init_;
  std::vector<Resource> resources_;
};

#define BERTH_LEGACY_RESOURCES                                                                              \
  R"("resources": {"type": "array", "description": "What is rated; cpu and memory when empty.", "items": )" \
  R"({"type": "object", "additionalProperties": false, "properties": {"name": {"type": "string", )"         \
  R"("description": "Resource name."}, "weight": {"type": "integer", "default": 1, )"                       \
  R"("description": "1 to 100; 0 counts as 1."}}}}, )"

/// Throws BadArgs with every problem found.
inline std::vector<WeightedResource> read_rated(const Json& args) {
  const auto resources = node_resources::read_resources(args["resources"], "resources");
  ArgProblems problems;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].name.empty())
      problems.invalid(ArgProblems::at("resources", i, "name"), ArgProblems::quoted(""), "resource name not set");
    if (resources[i].weight < 1 || resources[i].weight > 100)
      problems.invalid(ArgProblems::at("resources", i, "weight"), std::to_string(resources[i].weight),
                       "resource weight of " + resources[i].name + " not in valid range [1, 100]");
  }
  problems.end();
  return resources;
}

}  // namespace berth::legacy
