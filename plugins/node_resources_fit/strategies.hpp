// SPDX-License-Identifier: Apache-2.0
/// The three ways in which NodeResourcesFit turns requested / capacity into a score of 0..100.
///
/// Each resource is rated on its own, then the ratings are averaged by weight. A resource that a node does not offer
/// (capacity 0) takes no part on that node: neither its rating nor its weight counts.
///   least   the free share after placing the pod; more than everything requested rates 0
///   most    the used share, capped at 100
///   ratio   the used share (100 when over capacity) read off the configured line;
///           ratings of 0 do not count either,
///           and the average is rounded half up instead of truncated
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/{least,most}_allocated.go,
/// requested_to_capacity_ratio.go.
#pragma once
#include "../shared/node_resources/exact.hpp"
#include "shape.hpp"

#include <cstdint>
#include <span>

namespace berth::node_resources_fit {

using node_resources::Entry;

enum class Strategy : std::uint8_t { least_allocated, most_allocated, requested_to_capacity_ratio };

namespace detail {

using node_resources::k_rounder;
using node_resources::nearest;
using node_resources::nonzero;
using node_resources::smaller;
using node_resources::to_double;
using node_resources::where_nonzero;
using node_resources::wrapping_product;
using node_resources::wrapping_sum;

/// Any amounts, one row. The reference that the fast path is tested against, and the faster one for few rows.
template <Strategy k_strategy>
std::int64_t score_row(std::span<const Entry> entries, std::size_t row, const ShapeTable& shape) noexcept {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const Entry& entry : entries) {
    const std::int64_t capacity = entry.capacity[row];
    if (capacity == 0) continue;
    const std::int64_t requested = wrapping_sum(entry.used[row], entry.request);
    std::int64_t rating = 0;
    if constexpr (k_strategy == Strategy::least_allocated) {
      rating = requested > capacity ? 0 : wrapping_product(capacity - requested, 100) / capacity;
    } else {
      rating = wrapping_product(requested > capacity ? capacity : requested, 100) / capacity;
    }
    if constexpr (k_strategy == Strategy::requested_to_capacity_ratio) {
      if (requested > capacity) rating = 100;
      rating = shape[static_cast<std::size_t>(rating < 0 ? 0 : rating > 100 ? 100 : rating)];
      if (rating <= 0) continue;
    }
    sum += rating * entry.weight;
    weights += entry.weight;
  }
  if (weights == 0) return 0;
  if constexpr (k_strategy == Strategy::requested_to_capacity_ratio) return (2 * sum + weights) / (2 * weights);
  return sum / weights;
}

/// 64 rows at once. Requires: facts_of(...).exact.
template <Strategy k_strategy>
BERTH_ALWAYS_INLINE void score_rows(std::span<const Entry> entries, std::size_t first_row, const ShapeTable& shape,
                                    std::int64_t* out) noexcept {
  double sum[64] = {};
  std::int64_t weights[64] = {};
  for (const Entry& entry : entries) {
    const std::int64_t* capacity = entry.capacity + first_row;
    const std::int64_t* used = entry.used + first_row;
    const std::int64_t request = entry.request;
    std::int32_t rating[64];
    for (unsigned i = 0; i < 64; ++i) {
      const std::int64_t limit = capacity[i];
      const std::int64_t counted = smaller(used[i] + request, limit);
      const std::int64_t share = k_strategy == Strategy::least_allocated ? limit - counted : counted;
      rating[i] = static_cast<std::int32_t>(to_double(share) * 100.0 / to_double(nonzero(limit)));
    }
    const std::int64_t full_weight = entry.weight;
    std::int64_t weight[64];
    for (unsigned i = 0; i < 64; ++i) weight[i] = where_nonzero(capacity[i], full_weight);
    if constexpr (k_strategy == Strategy::requested_to_capacity_ratio) {
      for (unsigned i = 0; i < 64; ++i) rating[i] = shape[static_cast<std::size_t>(rating[i])];
      for (unsigned i = 0; i < 64; ++i) weight[i] = where_nonzero(rating[i], weight[i]);
    }
    for (unsigned i = 0; i < 64; ++i) sum[i] += static_cast<double>(rating[i]) * to_double(weight[i]);
    for (unsigned i = 0; i < 64; ++i) weights[i] += weight[i];
  }
  for (unsigned i = 0; i < 64; ++i) {
    const double divisor = to_double(nonzero(weights[i]));
    if constexpr (k_strategy == Strategy::requested_to_capacity_ratio) {
      out[i] = static_cast<std::int32_t>((2.0 * sum[i] + divisor) / (2.0 * divisor));
    } else {
      out[i] = static_cast<std::int32_t>(sum[i] / divisor);
    }
  }
}

/// 64 rows whose nodes are of one size: products with reciprocals instead of divisions. Requires:
/// facts_of(...).uniform.
template <Strategy k_strategy>
BERTH_ALWAYS_INLINE void score_uniform_rows(std::span<const Entry> entries, std::size_t first_row,
                                            std::int64_t* out) noexcept {
  static_assert(k_strategy != Strategy::requested_to_capacity_ratio);
  double sum[64] = {};
  std::int64_t weights = 0;
  for (const Entry& entry : entries) {
    const std::int64_t* used = entry.used + first_row;
    const std::int64_t limit = entry.capacity[first_row];
    const std::int64_t request = entry.request;
    // share * 100 / limit, truncated, is what (share * 100 + 1/2) / limit - 1/2 rounds to.
    const double per_unit = 100.0 / static_cast<double>(limit);
    const double shift = 0.5 / static_cast<double>(limit) - 0.5;
    const double weight = static_cast<double>(entry.weight);
    for (unsigned i = 0; i < 64; ++i) {
      const std::int64_t counted = smaller(used[i] + request, limit);
      const std::int64_t share = k_strategy == Strategy::least_allocated ? limit - counted : counted;
      const double rating = (to_double(share) * per_unit + shift) + k_rounder - k_rounder;
      sum[i] += rating * weight;
    }
    weights += entry.weight;
  }
  const double per_weight = 1.0 / static_cast<double>(weights);
  const double shift = 0.5 / static_cast<double>(weights) - 0.5;
  for (unsigned i = 0; i < 64; ++i) out[i] = nearest(sum[i] * per_weight + shift);
}

/// The rows of the words that hold a candidate.
template <Strategy k_strategy>
BERTH_ALWAYS_INLINE void score_words(std::span<const Entry> entries, std::span<const std::uint64_t> candidates,
                                     const ShapeTable& shape, std::int64_t* out) noexcept {
  for (std::size_t w = 0; w < candidates.size(); ++w) {
    if (candidates[w] == 0) continue;
    const std::size_t row = 64 * w;
    if (node_resources::visit_few(candidates[w], row,
                                  [&](std::size_t one) { out[one] = score_row<k_strategy>(entries, one, shape); }))
      continue;
    const node_resources::WordFacts facts = node_resources::facts_of(entries, row);
    if constexpr (k_strategy != Strategy::requested_to_capacity_ratio) {
      if (facts.uniform && !entries.empty()) {
        score_uniform_rows<k_strategy>(entries, row, out + row);
        continue;
      }
    }
    if (facts.exact) {
      score_rows<k_strategy>(entries, row, shape, out + row);
    } else {
      for (unsigned i = 0; i < 64; ++i) out[row + i] = score_row<k_strategy>(entries, row + i, shape);
    }
  }
}

[[maybe_unused]] BERTH_VECTOR_CLONES static void score_least(std::span<const Entry> entries,
                                                             std::span<const std::uint64_t> candidates,
                                                             const ShapeTable& shape, std::int64_t* out) noexcept {
  score_words<Strategy::least_allocated>(entries, candidates, shape, out);
}
[[maybe_unused]] BERTH_VECTOR_CLONES static void score_most(std::span<const Entry> entries,
                                                            std::span<const std::uint64_t> candidates,
                                                            const ShapeTable& shape, std::int64_t* out) noexcept {
  score_words<Strategy::most_allocated>(entries, candidates, shape, out);
}
[[maybe_unused]] BERTH_VECTOR_CLONES static void score_ratio(std::span<const Entry> entries,
                                                             std::span<const std::uint64_t> candidates,
                                                             const ShapeTable& shape, std::int64_t* out) noexcept {
  score_words<Strategy::requested_to_capacity_ratio>(entries, candidates, shape, out);
}

}  // namespace detail

/// Scores the candidates, and perhaps other rows of their words; columns and `out` are padded to a multiple of 64.
inline void score_block(Strategy strategy, std::span<const Entry> entries, std::span<const std::uint64_t> candidates,
                        const ShapeTable& shape, std::int64_t* out) noexcept {
  switch (strategy) {
    case Strategy::least_allocated:
      return detail::score_least(entries, candidates, shape, out);
    case Strategy::most_allocated:
      return detail::score_most(entries, candidates, shape, out);
    case Strategy::requested_to_capacity_ratio:
      return detail::score_ratio(entries, candidates, shape, out);
  }
}

}  // namespace berth::node_resources_fit
