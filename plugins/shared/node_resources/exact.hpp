// SPDX-License-Identifier: Apache-2.0
/// Integer arithmetic of upstream's scores in doubles, which vectorise where 64-bit division does not.
///
/// For integers 0 <= a < 2^53 and 0 < b < 2^53 the double quotient, truncated, is the integer quotient: a / b falls
/// short of the next integer k by at least 1/b, which is more than half an ulp of k as long as k * b < 2^53.
#pragma once
#include <berth/vector_clones.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace berth::node_resources {

/// Amounts below this can be multiplied by 100 and stay exact in a double. 64 TiB; larger ones take the integer path.
inline constexpr std::uint64_t k_exact_max = std::uint64_t{1} << 46;

/// Capacities below this may be divided by through their reciprocal: (n + 1/2) / b is at least 1/(2b) away from any
/// integer, several times what rounding 1/b, the product and the sum can be off for quotients up to 100. 2 TiB.
inline constexpr std::int64_t k_reciprocal_max = std::int64_t{1} << 41;

/// Requires: 0 <= x < 2^52. Plain conversions of int64 do not vectorise before AVX-512.
BERTH_ALWAYS_INLINE double to_double(std::int64_t x) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(x) | 0x4330000000000000u) - 4503599627370496.0;
}

/// Added to x in (-2^51, 2^51), leaves the nearest integer in the low bits: conversions to int64 do not vectorise
/// either.
inline constexpr double k_rounder = 6755399441055744.0;  // 1.5 * 2^52
BERTH_ALWAYS_INLINE std::int64_t bits_of(double x) noexcept { return std::bit_cast<std::int64_t>(x); }
/// The integer nearest to x. Requires: -2^51 < x < 2^51.
BERTH_ALWAYS_INLINE std::int64_t nearest(double x) noexcept { return bits_of(x + k_rounder) - bits_of(k_rounder); }

// Without branches, and with comparisons of integers only (those of doubles may trap): compilers vectorise loops over
// these.

BERTH_ALWAYS_INLINE constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t mask = -static_cast<std::int64_t>(a < b);
  return b ^ ((a ^ b) & mask);
}
/// x, or 1 instead of 0.
BERTH_ALWAYS_INLINE constexpr std::int64_t nonzero(std::int64_t x) noexcept {
  return x + static_cast<std::int64_t>(x == 0);
}
/// x where `count` is not 0, else 0.
BERTH_ALWAYS_INLINE constexpr std::int64_t where_nonzero(std::int64_t count, std::int64_t x) noexcept {
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

/// What 64 rows of all entries allow.
struct WordFacts {
  bool exact = false;    ///< no product of the vector path can leave the exact range
  bool uniform = false;  ///< exact, and within an entry all rows have the same capacity, not 0, below k_reciprocal_max
};

/// Nodes come in pools of one machine type, so most words are uniform.
BERTH_ALWAYS_INLINE WordFacts facts_of(std::span<const Entry> entries, std::size_t first_row) noexcept {
  std::uint64_t all_bits = 0;
  std::uint64_t differing = 0;
  bool reciprocal = true;
  for (const Entry& entry : entries) {
    const std::int64_t* capacity = entry.capacity + first_row;
    const std::int64_t* used = entry.used + first_row;
    const auto first = static_cast<std::uint64_t>(capacity[0]);
    std::uint64_t bits = static_cast<std::uint64_t>(entry.request);
    std::uint64_t differs = 0;
    for (unsigned i = 0; i < 64; ++i) {
      const auto each = static_cast<std::uint64_t>(capacity[i]);
      bits |= each | static_cast<std::uint64_t>(used[i]);
      differs |= each ^ first;
    }
    all_bits |= bits;
    differing |= differs;
    reciprocal = reciprocal && capacity[0] > 0 && capacity[0] < k_reciprocal_max;
  }
  const bool exact = all_bits < k_exact_max;
  return {exact, exact && reciprocal && differing == 0};
}

/// Calls visit(row) for each candidate of a word and returns true when there are so few that 64 rows at once cost more: a
/// placed pod changes one node.
template <class Visit>
BERTH_ALWAYS_INLINE bool visit_few(std::uint64_t candidates, std::size_t first_row, Visit&& visit) {
  constexpr int k_few = 3;
  if (std::popcount(candidates) > k_few) return false;
  for (; candidates != 0; candidates &= candidates - 1)
    visit(first_row + static_cast<std::size_t>(std::countr_zero(candidates)));
  return true;
}

}  // namespace berth::node_resources
