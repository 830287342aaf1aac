// SPDX-License-Identifier: Apache-2.0
/// InterPodAffinityArgs.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/validation/validation_pluginargs.go.
#pragma once
#include <berth/arg_problems.hpp>
#include <berth/json.hpp>

#include <cstdint>

namespace berth::inter_pod_affinity {

inline constexpr const char k_affinity_args_schema[] = R"json({
  "type": "object",
  "description": "Places pods near to, or away from, other pods.",
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "hardPodAffinityWeight": {
      "type": "integer", "minimum": 0, "maximum": 100, "default": 1,
      "description": "What a required affinity term of a placed pod adds when it matches the pod at hand."
    },
    "ignorePreferredTermsOfExistingPods": {
      "type": "boolean", "default": false,
      "description": "Pods without preferred terms are not scored by those of placed pods."
    }
  },
  "additionalProperties": false
})json";

struct AffinityArgs {
  std::int32_t hard_weight = 1;
  bool ignore_existing_preferences = false;
};

/// Throws BadArgs.
inline AffinityArgs read_affinity_args(const Json& json) {
  ArgProblems problems;
  const std::int64_t weight = json["hardPodAffinityWeight"].integer_or("hardPodAffinityWeight", 1);
  if (weight < 0 || weight > 100)
    problems.invalid("hardPodAffinityWeight", std::to_string(weight), "not in valid range [0, 100]");
  problems.end();
  return {static_cast<std::int32_t>(weight),
          json["ignorePreferredTermsOfExistingPods"].boolean_or("ignorePreferredTermsOfExistingPods", false)};
}

}  // namespace berth::inter_pod_affinity
