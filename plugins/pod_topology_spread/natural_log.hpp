// SPDX-License-Identifier: Apache-2.0
/// The natural logarithm as Go computes it: the FreeBSD (fdlibm) e_log algorithm. The C library's may differ in the
/// last bit, and a score may turn on it.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace berth::pod_topology_spread {

/// Requires: x is finite and above 0.
inline double natural_log(double x) noexcept {
  constexpr double ln2_high = std::bit_cast<double>(std::uint64_t{0x3fe62e42fee00000});
  constexpr double ln2_low = std::bit_cast<double>(std::uint64_t{0x3dea39ef35793c76});
  constexpr double l1 = std::bit_cast<double>(std::uint64_t{0x3FE5555555555593});
  constexpr double l2 = std::bit_cast<double>(std::uint64_t{0x3FD999999997FA04});
  constexpr double l3 = std::bit_cast<double>(std::uint64_t{0x3FD2492494229359});
  constexpr double l4 = std::bit_cast<double>(std::uint64_t{0x3FCC71C51D8E78AF});
  constexpr double l5 = std::bit_cast<double>(std::uint64_t{0x3FC7466496CB03DE});
  constexpr double l6 = std::bit_cast<double>(std::uint64_t{0x3FC39A09D078C69F});
  constexpr double l7 = std::bit_cast<double>(std::uint64_t{0x3FC2F112DF3E5244});
  constexpr double half_sqrt2 = 0.70710678118654752440;

  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < half_sqrt2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const double k = exponent;
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double t1 = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)));
  const double t2 = s4 * (l2 + s4 * (l4 + s4 * l6));
  const double r = t1 + t2;
  const double half_square = 0.5 * f * f;
  return k * ln2_high - ((half_square - (s * (half_square + r) + k * ln2_low)) - f);
}

}  // namespace berth::pod_topology_spread
