// SPDX-License-Identifier: Apache-2.0
/// The broken line from utilisation to score that RequestedToCapacityRatio is configured with.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace berth::node_resources_fit {

struct ShapePoint {
  std::int64_t utilization = 0;  ///< 0..100, strictly increasing
  std::int64_t score = 0;        ///< as configured, 0..10; 0..100 once it is scaled
};

/// Value of the line at `at`. Products first, then a division that truncates, so falling lines round up.
/// Requires: at least one point.
constexpr std::int64_t value_on(std::span<const ShapePoint> line, std::int64_t at) noexcept {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (at > line[i].utilization) continue;
    if (i == 0) return line[0].score;
    const ShapePoint a = line[i - 1];
    const ShapePoint b = line[i];
    return a.score + (b.score - a.score) * (at - a.utilization) / (b.utilization - a.utilization);
  }
  return line.back().score;
}

/// Scores for every whole utilisation: the line is read at 0..100 only.
using ShapeTable = std::array<std::int32_t, 101>;

/// `line` holds scores 0..10.
constexpr ShapeTable tabulate(std::span<const ShapePoint> line) noexcept {
  std::array<ShapePoint, 101> scaled{};  // utilisations increase strictly from 0 to 100: at most 101 points
  const std::size_t count = line.size() < scaled.size() ? line.size() : scaled.size();
  for (std::size_t i = 0; i < count; ++i) scaled[i] = {line[i].utilization, line[i].score * 10};
  ShapeTable table{};
  for (std::size_t at = 0; at < table.size(); ++at)
    table[at] = static_cast<std::int32_t>(value_on({scaled.data(), count}, static_cast<std::int64_t>(at)));
  return table;
}

}  // namespace berth::node_resources_fit
