// SPDX-License-Identifier: Apache-2.0
#include "cycle/score_rows.hpp"

#include <algorithm>
#include <bit>

#include "base/vector_clones.hpp"

namespace berth::cycle {
namespace {

constexpr std::uint64_t k_all = ~std::uint64_t{0};

/// Calls body(slot) for each set bit; a full word becomes a plain loop.
template <typename Body>
__attribute__((always_inline)) inline void each_row(std::span<const std::uint64_t> rows, Body&& body) {
  for (std::size_t w = 0; w < rows.size(); ++w) {
    if (rows[w] == k_all) {
      for (std::size_t i = w * 64; i < w * 64 + 64; ++i) body(i);
    } else {
      for (std::uint64_t rest = rows[w]; rest != 0; rest &= rest - 1)
        body(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

}  // namespace

BERTH_HOST_VECTOR_CLONES std::int64_t union_of_bits(std::span<const std::uint64_t> rows,
                                                    const std::int64_t* scores) noexcept {
  std::int64_t bits = 0;
  each_row(
      rows, [&](std::size_t slot) __attribute__((always_inline)) { bits |= scores[slot]; });
  return bits;
}

BERTH_HOST_VECTOR_CLONES framework::NormRange range_of(std::span<const std::uint64_t> rows,
                                                       const std::int64_t* scores) noexcept {
  std::int64_t max = INT64_MIN, min = INT64_MAX;
  each_row(
      rows, [&](std::size_t slot) __attribute__((always_inline)) {
        max = std::max(max, scores[slot]);
        min = std::min(min, scores[slot]);
      });
  return {max, min};
}

BERTH_HOST_VECTOR_CLONES std::int64_t add_weighted(std::span<const std::uint64_t> rows, const std::int64_t* scores,
                                                   std::int64_t weight, std::int64_t* sums) noexcept {
  std::int64_t outside = 0;
  if (weight == 1) {
    each_row(
        rows, [&](std::size_t slot) __attribute__((always_inline)) {
          outside |= scores[slot] | (BERTH_SCORE_MAX - scores[slot]);
          sums[slot] += scores[slot];
        });
    return outside;
  }
  each_row(
      rows, [&](std::size_t slot) __attribute__((always_inline)) {
        outside |= scores[slot] | (BERTH_SCORE_MAX - scores[slot]);
        sums[slot] += weight * scores[slot];
      });
  return outside;
}

BERTH_HOST_VECTOR_CLONES void add_same(std::span<const std::uint64_t> rows, std::int64_t same,
                                       std::int64_t* sums) noexcept {
  each_row(
      rows, [&](std::size_t slot) __attribute__((always_inline)) { sums[slot] += same; });
}

}  // namespace berth::cycle
