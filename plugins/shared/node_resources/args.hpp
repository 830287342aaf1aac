// SPDX-License-Identifier: Apache-2.0
/// What the args of the two resource plugins have in common.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/v1/defaults.go.
#pragma once
#include <berth/arg_problems.hpp>
#include <berth/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace berth::node_resources {

struct WeightedResource {
  std::string name;
  std::int64_t weight = 1;
};

/// `resources` of either plugin: empty means cpu and memory, a weight of 0 or none means 1.
inline std::vector<WeightedResource> read_resources(const Json& list, const std::string& path) {
  std::vector<WeightedResource> resources;
  for (const Json& item : list.array(path)) {
    const std::string here = ArgProblems::at(path, resources.size());
    const std::int64_t weight = item.object(here)["weight"].integer_or(here + ".weight", 0);
    resources.push_back({item["name"].string_or(here + ".name", ""), weight == 0 ? 1 : weight});
  }
  if (resources.empty()) resources = {{"cpu", 1}, {"memory", 1}};
  return resources;
}

}  // namespace berth::node_resources
