// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>

namespace berth::observe {

/// The upper bounds of a histogram's buckets: `first`, and each next one `factor` times the one before it, multiplied one
/// after another as Prometheus' ExponentialBuckets does.
template <std::size_t Count>
constexpr std::array<double, Count> exponential_bounds(double first, double factor) {
  std::array<double, Count> out{};
  for (double& bound : out) {
    bound = first;
    first *= factor;
  }
  return out;
}

}  // namespace berth::observe
