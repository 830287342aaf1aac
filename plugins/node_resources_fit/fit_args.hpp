// SPDX-License-Identifier: Apache-2.0
/// NodeResourcesFitArgs: what may be configured, with upstream's defaults and upstream's sentences.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/{v1/defaults.go,validation/validation_pluginargs.go}.
#pragma once
#include "../shared/node_resources/args.hpp"
#include "strategies.hpp"

#include <algorithm>

namespace berth::node_resources_fit {

using node_resources::WeightedResource;

inline constexpr const char k_fit_args_schema[] = R"json({
  "type": "object",
  "description": "Checks that a node has what the pod requests, and scores nodes by how much of it would be used.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "ignoredResources": {
      "type": "array", "items": {"type": "string"}, "default": [],
      "description": "Extended resources that the filter does not check."
    },
    "ignoredResourceGroups": {
      "type": "array", "items": {"type": "string"}, "default": [],
      "description": "Groups (the part before the slash) of extended resources that the filter does not check."
    },
    "scoringStrategy": {
      "type": "object",
      "description": "How nodes are scored.",
      "default": {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
      },
      "required": ["type"],
      "properties": {
        "type": {
          "type": "string",
          "enum": ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"],
          "description": "Prefer the emptiest node, the fullest node, or follow a line over utilisation."
        },
        "resources": {
          "type": "array",
          "description": "What is scored; cpu and memory when empty.",
          "items": {
            "type": "object",
            "properties": {
              "name": {"type": "string", "description": "Resource name."},
              "weight": {
                "type": "integer", "minimum": 0, "maximum": 100, "default": 1,
                "description": "1 to 100; 0 counts as 1."
              }
            },
            "additionalProperties": false
          }
        },
        "requestedToCapacityRatio": {
          "type": "object",
          "description": "For type RequestedToCapacityRatio only.",
          "properties": {
            "shape": {
              "type": "array",
              "description": "Points of the line, by increasing utilisation.",
              "items": {
                "type": "object",
                "properties": {
                  "utilization": {
                    "type": "integer", "minimum": 0, "maximum": 100, "default": 0, "description": "Percent."
                  },
                  "score": {"type": "integer", "minimum": 0, "maximum": 10, "default": 0, "description": "0 to 10."}
                },
                "additionalProperties": false
              }
            }
          },
          "additionalProperties": false
        }
      },
      "additionalProperties": false
    }
  },
  "additionalProperties": false
})json";

struct FitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_groups;
  Strategy strategy = Strategy::least_allocated;
  std::vector<WeightedResource> resources{{"cpu", 1}, {"memory", 1}};
  ShapeTable shape{};
};

namespace detail {

inline std::vector<std::string> read_names(const Json& list, const std::string& path) {
  std::vector<std::string> names;
  for (const Json& item : list.array(path)) names.push_back(item.string(ArgProblems::at(path, names.size())));
  return names;
}

inline ShapeTable read_shape(const Json& ratio, ArgProblems& problems) {
  const std::string path = "scoringStrategy.shape";
  std::vector<ShapePoint> line;
  for (const Json& point : ratio["shape"].array(path)) {
    const std::string here = ArgProblems::at(path, line.size());
    line.push_back({point.object(here)["utilization"].integer_or(here + ".utilization", 0),
                    point["score"].integer_or(here + ".score", 0)});
  }
  if (line.empty()) {
    problems.required(path, "at least one point must be specified");
    return {};
  }
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i - 1].utilization < line[i].utilization) continue;
    problems.invalid(ArgProblems::at(path, i, "utilization"), std::to_string(line[i].utilization),
                     "values must be sorted in increasing order");
    break;
  }
  bool in_range = true;
  const auto check = [&](std::size_t i, const char* field, std::int64_t value, std::int64_t most) {
    if (value >= 0 && value <= most) return;
    problems.invalid(ArgProblems::at(path, i, field), std::to_string(value),
                     "not in valid range [0, " + std::to_string(most) + "]");
    in_range = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    check(i, "utilization", line[i].utilization, 100);
    check(i, "score", line[i].score, 10);
  }
  return in_range ? tabulate(line) : ShapeTable{};
}

inline void read_strategy(const Json& strategy, FitArgs& args, ArgProblems& problems) {
  const std::string path = "scoringStrategy";
  const std::string type = strategy["type"].string_or(path + ".type", "");
  if (type == "LeastAllocated") {
    args.strategy = Strategy::least_allocated;
  } else if (type == "MostAllocated") {
    args.strategy = Strategy::most_allocated;
  } else if (type == "RequestedToCapacityRatio") {
    args.strategy = Strategy::requested_to_capacity_ratio;
  } else {
    problems.unsupported(path + ".type", type, R"("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")");
  }
  args.resources = node_resources::read_resources(strategy["resources"], path + ".resources");
  for (std::size_t i = 0; i < args.resources.size(); ++i) {
    const auto& [name, weight] = args.resources[i];
    if (weight > 0 && weight <= 100) continue;
    problems.invalid(ArgProblems::at(path + ".resources", i, "weight"), std::to_string(weight),
                     "resource weight of " + name + " not in valid range (0, 100]");
  }
  const Json& ratio = strategy["requestedToCapacityRatio"];
  const std::string ratio_path = path + ".requestedToCapacityRatio";
  const bool wants_ratio = type == "RequestedToCapacityRatio";
  if (ratio.is_null() && wants_ratio) {
    problems.required(ratio_path, "must be specified when type is RequestedToCapacityRatio");
  } else if (!ratio.is_null() && !wants_ratio) {
    problems.invalid(ratio_path, "{...}", "must be nil when type is not RequestedToCapacityRatio");
  } else if (wants_ratio) {
    args.shape = read_shape(ratio, problems);
  }
}

}  // namespace detail

/// Throws BadArgs with every problem found.
inline FitArgs read_fit_args(const Json& json) {
  FitArgs args;
  ArgProblems problems;
  args.ignored_resources = detail::read_names(json["ignoredResources"], "ignoredResources");
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i)
    problems.check_label_name(ArgProblems::at("ignoredResources", i), args.ignored_resources[i]);
  args.ignored_groups = detail::read_names(json["ignoredResourceGroups"], "ignoredResourceGroups");
  for (std::size_t i = 0; i < args.ignored_groups.size(); ++i) {
    const std::string path = ArgProblems::at("ignoredResourceGroups", i);
    const std::string& group = args.ignored_groups[i];
    if (group.find('/') != group.npos)
      problems.invalid(path, ArgProblems::quoted(group), "resource group name can't contain '/'");
    problems.check_label_name(path, group);
  }
  if (const Json& strategy = json["scoringStrategy"]; !strategy.is_null()) {
    detail::read_strategy(strategy.object("scoringStrategy"), args, problems);
  }
  problems.end();
  return args;
}

}  // namespace berth::node_resources_fit
