// SPDX-License-Identifier: Apache-2.0
/// Integer arithmetic of upstream's scores in doubles, which vectorise where 64-bit division does not.
///
/// For integers 0 <= a < 2^53 and 0 < b < 2^53 the double quotient, truncated, is the integer quotient: a / b falls
/// short of the next integer k by at least 1/b, which is more than half an ulp of k as long as k * b < 2^53.
#pragma once
#include <bit>
#include <cstdint>

namespace berth::node_resources {

/// Amounts below this can be multiplied by 100 and stay exact in a double. 64 TiB; larger ones take the integer path.
inline constexpr std::uint64_t k_exact_max = std::uint64_t{1} << 46;

/// Requires: 0 <= x < 2^52. Plain conversions of int64 do not vectorise before AVX-512.
inline double to_double(std::int64_t x) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(x) | 0x4330000000000000u) - 4503599627370496.0;
}

// Without branches, and with comparisons of integers only (those of doubles may trap): compilers vectorise loops over
// these.

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t mask = -static_cast<std::int64_t>(a < b);
  return b ^ ((a ^ b) & mask);
}
/// x, or 1 instead of 0.
constexpr std::int64_t nonzero(std::int64_t x) noexcept { return x + static_cast<std::int64_t>(x == 0); }
/// x where `count` is not 0, else 0.
constexpr std::int64_t where_nonzero(std::int64_t count, std::int64_t x) noexcept {
  return x & -static_cast<std::int64_t>(count != 0);
}

/// Multiplication that wraps, as Go's does.
constexpr std::int64_t wrapping_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// One configured resource against 64 rows of nodes.
struct Entry {
  const std::int64_t* capacity = nullptr;  ///< what the node offers; 0: the resource does not count on this node
  const std::int64_t* used = nullptr;      ///< what its pods were charged with
  std::int64_t request = 0;                ///< what the pod at hand adds
  std::int64_t weight = 1;
};

/// True when no product of the fast path can leave the exact range, for 64 rows of every entry.
template <class Entries>
bool fits_exactly(const Entries& entries, std::size_t first_row) noexcept {
  std::uint64_t all_bits = 0;
  for (const Entry& entry : entries) {
    const std::int64_t* capacity = entry.capacity + first_row;
    const std::int64_t* used = entry.used + first_row;
    std::uint64_t bits = static_cast<std::uint64_t>(entry.request);
    for (unsigned i = 0; i < 64; ++i)
      bits |= static_cast<std::uint64_t>(capacity[i]) | static_cast<std::uint64_t>(used[i]);
    all_bits |= bits;
  }
  return all_bits < k_exact_max;
}

}  // namespace berth::node_resources
