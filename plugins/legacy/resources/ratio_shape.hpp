// SPDX-License-Identifier: Apache-2.0
/// The line of RequestedToCapacityRatio in the scale of the highest score.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/requested_to_capacity_ratio.go, whose words these are.
#pragma once
#include "../../node_resources_fit/shape.hpp"
#include "../v1_16_args.hpp"

#include <array>
#include <optional>

namespace berth::legacy {

using node_resources_fit::ShapePoint;

#define BERTH_LEGACY_SHAPE                                                                                   \
  R"("shape": {"type": "array", "description": "Points of the line, by increasing utilisation.", "items": )" \
  R"({"type": "object", "additionalProperties": false, "properties": {"utilization": {"type": "integer", )"  \
  R"("default": 0, "description": "Percent."}, "score": {"type": "integer", "default": 0, )"                 \
  R"("description": "0 to 10, whatever the highest score is."}}}}, )"

class RatioLine {
 public:
  /// Throws BadArgs with every problem found. `otherwise`: the line when args have none; without it that is a problem.
  RatioLine(const Json& args, std::int64_t max_score, const std::vector<ShapePoint>& otherwise) {
    std::vector<ShapePoint> line;
    for (const Json& point : args["shape"].array("shape")) {
      const std::string here = ArgProblems::at("shape", line.size());
      line.push_back({point.object(here)["utilization"].integer_or(here + ".utilization", 0),
                      point["score"].integer_or(here + ".score", 0)});
    }
    if (!args.contains("shape")) line = otherwise;
    check(line);
    for (ShapePoint& point : line) point.score *= max_score / k_score_max;
    for (std::size_t at = 0; at < table_.size(); ++at)
      table_[at] = node_resources_fit::value_on(line, static_cast<std::int64_t>(at));
  }
  /// utilization: 0..100.
  std::int64_t operator[](std::int64_t utilization) const noexcept {
    return table_[static_cast<std::size_t>(std::clamp<std::int64_t>(utilization, 0, 100))];
  }

 private:
  static constexpr std::int64_t k_score_max = 10;

  static void check(const std::vector<ShapePoint>& line) {
    ArgProblems problems;
    if (line.empty()) problems.required("shape", "at least one point must be specified");
    const auto bound = [&](std::size_t i, const char* field, const char* word, std::int64_t value, std::int64_t most) {
      if (value >= 0 && value <= most) return;
      const bool low = value < 0;
      problems.invalid(ArgProblems::at("shape", i, field), std::to_string(value),
                       std::string(field) + " values must not be " + (low ? "less than 0" : "greater than ") +
                           (low ? "" : std::to_string(most)) + ". " + word + "[" + std::to_string(i) +
                           "]==" + std::to_string(value));
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i != 0 && line[i - 1].utilization >= line[i].utilization)
        problems.invalid(ArgProblems::at("shape", i, "utilization"), std::to_string(line[i].utilization),
                         "utilization values must be sorted. Utilization[" + std::to_string(i - 1) +
                             "]==" + std::to_string(line[i - 1].utilization) + " >= Utilization[" + std::to_string(i) +
                             "]==" + std::to_string(line[i].utilization));
      bound(i, "utilization", "Utilization", line[i].utilization, 100);
      bound(i, "score", "Score", line[i].score, k_score_max);
    }
    problems.end();
  }

  std::array<std::int64_t, 101> table_{};
};

}  // namespace berth::legacy
