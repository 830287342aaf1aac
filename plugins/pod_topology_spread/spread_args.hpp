// SPDX-License-Identifier: Apache-2.0
/// PodTopologySpreadArgs: the constraints of pods that have none of their own.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/validation/validation_pluginargs.go.
#pragma once
#include <berth/arg_problems.hpp>
#include <berth/plugin.hpp>

#include "constraints.hpp"

namespace berth::pod_topology_spread {

inline constexpr const char k_spread_args_schema[] = R"json({
  "type": "object",
  "description": "Spreads pods over failure domains.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "defaultingType": {
      "type": "string", "enum": ["System", "List"], "default": "System",
      "description": "Where constraints of pods without any come from: built in, or defaultConstraints."
    },
    "defaultConstraints": {
      "type": "array", "default": [],
      "description": "With defaultingType List. The selector is deduced from services and controllers.",
      "items": {
        "type": "object",
        "properties": {
          "maxSkew": {"type": "integer", "description": "Allowed difference between domains, above 0."},
          "topologyKey": {"type": "string", "description": "Node label that names the domain."},
          "whenUnsatisfiable": {"type": "string", "description": "DoNotSchedule or ScheduleAnyway."},
          "minDomains": {"type": "integer", "description": "Fewer domains than this count as an empty one."},
          "nodeAffinityPolicy": {"type": "string", "enum": ["Honor", "Ignore"], "default": "Honor"},
          "nodeTaintsPolicy": {"type": "string", "enum": ["Honor", "Ignore"], "default": "Ignore"},
          "labelSelector": {"description": "Not allowed."},
          "matchLabelKeys": {"type": "array", "items": {"type": "string"}}
        },
        "additionalProperties": false
      }
    }
  },
  "additionalProperties": false
})json";

struct SpreadArgs {
  bool built_in = true;
  std::vector<Constraint> defaults;  // selectors are filled in per pod
};

namespace detail {

inline Constraint read_constraint(const Json& json, std::size_t index, Intern intern, ArgProblems& problems) {
  const auto path = [&](std::string_view field) { return ArgProblems::at("defaultConstraints", index, field); };
  Constraint constraint;
  const std::int64_t max_skew = json["maxSkew"].integer_or(path("maxSkew"), 0);
  if (max_skew <= 0 || max_skew > INT32_MAX)
    problems.invalid(path("maxSkew"), std::to_string(max_skew), "not in valid range (0, inf)");
  constraint.max_skew = static_cast<std::int32_t>(max_skew);
  constraint.min_domains = static_cast<std::int32_t>(json["minDomains"].integer_or(path("minDomains"), 1));
  constraint.honor_affinity = json["nodeAffinityPolicy"].string_or(path("nodeAffinityPolicy"), "Honor") == "Honor";
  constraint.honor_taints = json["nodeTaintsPolicy"].string_or(path("nodeTaintsPolicy"), "Ignore") == "Honor";

  const std::string key = json["topologyKey"].string_or(path("topologyKey"), "");
  if (key.empty()) {
    problems.required(path("topologyKey"), "can not be empty");
  } else {
    problems.check_label_name(path("topologyKey"), key);
  }
  constraint.topology_key = intern(key);

  const std::string action = json["whenUnsatisfiable"].string_or(path("whenUnsatisfiable"), "");
  if (action == "DoNotSchedule") {
    constraint.action = BERTH_SPREAD_DO_NOT_SCHEDULE;
  } else if (action == "ScheduleAnyway") {
    constraint.action = BERTH_SPREAD_SCHEDULE_ANYWAY;
  } else if (action.empty()) {
    problems.required(path("whenUnsatisfiable"), "can not be empty");
  } else {
    problems.unsupported(path("whenUnsatisfiable"), action, R"("DoNotSchedule", "ScheduleAnyway")");
  }
  if (!json["labelSelector"].is_null())
    problems.forbidden(path("labelSelector"), "constraint must not define a selector, as they deduced for each pod");
  return constraint;
}

}  // namespace detail

/// Throws BadArgs with every problem found.
inline SpreadArgs read_spread_args(const Json& json, Intern intern) {
  SpreadArgs args;
  ArgProblems problems;
  const std::vector<Json>& listed = json["defaultConstraints"].array("defaultConstraints");
  const std::string type = json["defaultingType"].string_or("defaultingType", "System");
  if (type != "System" && type != "List") {
    problems.unsupported("defaultingType", type, R"("List", "System")");
  } else if (type == "System" && !listed.empty()) {
    problems.invalid("defaultingType", ArgProblems::quoted(type), "when .defaultConstraints are not empty");
  }
  args.built_in = type == "System";
  for (std::size_t i = 0; i < listed.size(); ++i) {
    listed[i].object(ArgProblems::at("defaultConstraints", i));
    Constraint next = detail::read_constraint(listed[i], i, intern, problems);
    const auto repeats = [&](const Constraint& c) {
      return c.topology_key == next.topology_key && c.action == next.action;
    };
    if (std::any_of(args.defaults.begin(), args.defaults.end(), repeats)) {
      problems.duplicate(ArgProblems::at("defaultConstraints", i),
                         "{" + listed[i]["topologyKey"].string_or("topologyKey", "") + ", " +
                             listed[i]["whenUnsatisfiable"].string_or("whenUnsatisfiable", "") + "}");
    }
    args.defaults.push_back(std::move(next));
  }
  problems.end();
  if (args.built_in) {
    Constraint per_host;
    per_host.topology_key = intern("kubernetes.io/hostname");
    per_host.action = BERTH_SPREAD_SCHEDULE_ANYWAY;
    per_host.max_skew = 3;
    Constraint per_zone = per_host;
    per_zone.topology_key = intern("topology.kubernetes.io/zone");
    per_zone.max_skew = 5;
    args.defaults = {std::move(per_host), std::move(per_zone)};
  }
  return args;
}

}  // namespace berth::pod_topology_spread
