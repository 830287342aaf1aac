// SPDX-License-Identifier: Apache-2.0
/// Exact integer arithmetic for scores, in a form that vectorises.
///
/// 64-bit integer division has no vector instruction and costs 20 to 40 cycles. A quotient of integers below 2^53 is
/// exact through doubles: the rounded quotient cannot reach the next integer, because the true one is at least
/// 1/divisor below it and that is more than half a unit in the last place. Outside that range the integers are divided
/// as they are.
///
/// Threads: any: pure functions. Units: those of the operands; percent() gives 0..100 where a <= b.
/// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources divides int64 the same way, one by one.
#pragma once
#include <berth/types.hpp>

#include <cmath>

namespace berth {
inline namespace sdk {

/// Operands up to this, times 100, stay below 2^53.
inline constexpr std::int64_t k_exact_limit = std::int64_t{1} << 46;

/// a * factor / b, truncating toward zero; 0 where b is 0. The product wraps like upstream's int64, and so does the
/// least integer divided by -1.
constexpr std::int64_t scaled_quotient(std::int64_t a, std::int64_t factor, std::int64_t b) noexcept {
  if (b == 0) return 0;
  const auto product = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(factor));
  if (b == -1) return static_cast<std::int64_t>(0u - static_cast<std::uint64_t>(product));
  return product / b;
}

namespace detail {

/// True when all are within [-k_exact_limit, k_exact_limit). One pass without branches. Requires: the sums do not
/// overflow, as amounts of nodes and pods never do.
inline bool all_exact(const std::int64_t* values, unsigned count) noexcept {
  std::uint64_t seen = 0;
  for (unsigned i = 0; i < count; ++i) seen |= static_cast<std::uint64_t>(values[i] + k_exact_limit);
  return seen <= static_cast<std::uint64_t>(2 * k_exact_limit - 1);
}

// Integers of at most 51 bits to doubles and back with an addition: the conversions have no vector form before AVX-512.
// 1.5 * 2^52, whose low mantissa bits then hold the integer.
inline constexpr double k_magic = 6755399441055744.0;
inline constexpr std::int64_t k_magic_bits = 0x4338000000000000;

/// Requires: at most 51 bits.
inline double to_double(std::int64_t value) noexcept {
  const std::int64_t bits = value + k_magic_bits;
  double shifted;
  __builtin_memcpy(&shifted, &bits, sizeof shifted);
  return shifted - k_magic;
}
/// Requires: a whole number of at most 51 bits.
inline std::int64_t to_integer(double value) noexcept {
  const double shifted = value + k_magic;
  std::int64_t bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  return bits - k_magic_bits;
}

}  // namespace detail

/// out[i] = a[i] * 100 / b[i] for count <= 64 rows, truncating toward zero, 0 where b[i] is 0: exactly the integers,
/// in any range (products wrap). out may be a or b. With values beyond k_exact_limit the rows are divided one by one.
inline void percent(const std::int64_t* a, const std::int64_t* b, std::int64_t* out, unsigned count) noexcept {
  if (detail::all_exact(a, count) && detail::all_exact(b, count)) {
    double quotients[64];
    double largest = 0;
    for (unsigned i = 0; i < count; ++i) {
      const double divisor = detail::to_double(b[i]);
      const double numerator = divisor == 0.0 ? 0.0 : detail::to_double(a[i]) * 100.0;
      quotients[i] = std::trunc(numerator / (divisor == 0.0 ? 1.0 : divisor));
      const double size = std::fabs(quotients[i]);
      largest = size > largest ? size : largest;
    }
    // to_integer holds 51 bits; a quotient beyond that needs a tiny divisor, which no node has.
    if (largest < 1125899906842624.0) {
      for (unsigned i = 0; i < count; ++i) out[i] = detail::to_integer(quotients[i]);
      return;
    }
  }
  for (unsigned i = 0; i < count; ++i) out[i] = scaled_quotient(a[i], 100, b[i]);
}

}  // namespace sdk
}  // namespace berth
