// SPDX-License-Identifier: Apache-2.0
/// How evenly a node's resources are used, before and after a pod.
///
/// Per resource that the node offers: used / capacity, at most 1. The deviation of these fractions (half the difference
/// for two, the standard deviation for more, 0 for fewer) gives an evenness of 0..100; the score is 75 when the pod
/// changes nothing, more when it evens the node out, less when it tilts it.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. Doubles are added up
/// in the same order; no contraction.
#pragma once
#include "../shared/node_resources/exact.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace berth::node_resources_balanced_allocation {

using node_resources::Entry;

/// (1 - deviation) * 100, truncated, over the entries that the node offers. `with_pod` adds the pod's requests.
inline std::int64_t evenness(std::span<const Entry> entries, std::size_t row, bool with_pod) noexcept {
  double total = 0;
  double first = 0;
  double last = 0;
  unsigned count = 0;
  const auto fraction_of = [&](const Entry& entry) {
    const std::int64_t requested =
        with_pod ? node_resources::wrapping_sum(entry.used[row], entry.request) : entry.used[row];
    const double fraction = static_cast<double>(requested) / static_cast<double>(entry.capacity[row]);
    return fraction > 1 ? 1.0 : fraction;
  };
  for (const Entry& entry : entries) {
    if (entry.capacity[row] == 0) continue;
    last = fraction_of(entry);
    if (count == 0) first = last;
    total += last;
    ++count;
  }
  double deviation = 0;
  if (count == 2) {
    deviation = std::fabs((first - last) / 2);
  } else if (count > 2) {
    const double mean = total / count;
    double squares = 0;
    for (const Entry& entry : entries) {
      if (entry.capacity[row] == 0) continue;
      const double off = fraction_of(entry) - mean;
      squares += off * off;
    }
    deviation = std::sqrt(squares / count);
  }
  return static_cast<std::int64_t>((1 - deviation) * 100.0);
}

inline std::int64_t balance_row(std::span<const Entry> entries, std::size_t row) noexcept {
  return 50 + (50 + evenness(entries, row, true) - evenness(entries, row, false)) / 2;
}

namespace detail {

using node_resources::bits_of;
using node_resources::k_rounder;
using node_resources::nonzero;
using node_resources::smaller;
using node_resources::to_double;
using node_resources::where_nonzero;

/// used / capacity of 64 rows, with and without the pod; 0 where there is no capacity. Requires: facts_of(...).exact.
struct Fractions {
  double before[64];
  double after[64];

  BERTH_ALWAYS_INLINE Fractions(const Entry& entry, std::size_t first_row) noexcept {
    const std::int64_t* capacity = entry.capacity + first_row;
    const std::int64_t* used = entry.used + first_row;
    const std::int64_t request = entry.request;
    for (unsigned i = 0; i < 64; ++i) {
      const std::int64_t limit = capacity[i];
      const double divisor = to_double(nonzero(limit));
      before[i] = to_double(smaller(used[i], limit)) / divisor;
      after[i] = to_double(smaller(used[i] + request, limit)) / divisor;
    }
  }
};

/// Two resources, 64 rows. Requires: facts_of(...).exact.
BERTH_ALWAYS_INLINE void balance_pair(const Entry& a, const Entry& b, std::size_t first_row,
                                      std::int64_t* out) noexcept {
  const Fractions of_a(a, first_row);
  const Fractions of_b(b, first_row);
  const std::int64_t* capacity_a = a.capacity + first_row;
  const std::int64_t* capacity_b = b.capacity + first_row;
  for (unsigned i = 0; i < 64; ++i) {
    // One resource alone deviates from nothing.
    const double counts = to_double(where_nonzero(capacity_a[i], where_nonzero(capacity_b[i], 1)));
    const double tilt_after = std::fabs((of_a.after[i] - of_b.after[i]) / 2) * counts;
    const double tilt_before = std::fabs((of_a.before[i] - of_b.before[i]) / 2) * counts;
    const auto even_after = static_cast<std::int32_t>((1 - tilt_after) * 100.0);
    const auto even_before = static_cast<std::int32_t>((1 - tilt_before) * 100.0);
    out[i] = 50 + (50 + even_after - even_before) / 2;
  }
}

/// 50 |a - b| of a row, where 100 minus it, truncated, is the evenness, rounded; and how far the rounding went.
struct Tilt {
  std::int64_t rounded;  ///< plus a constant
  std::int64_t beyond;   ///< bits of (tilt - rounded): the sign says whether it was rounded up
};
BERTH_ALWAYS_INLINE Tilt tilt_of(std::int64_t a, double per_a, std::int64_t b, double per_b) noexcept {
  const double tilt = std::fabs(to_double(a) * per_a - to_double(b) * per_b);
  const double lifted = tilt + k_rounder;
  return {bits_of(lifted), bits_of(tilt - (lifted - k_rounder))};
}

/// Two resources, 64 rows of nodes of one size: products with reciprocals instead of divisions. False, and nothing
/// useful written, when a tilt is too close to a whole number for products to decide it. Requires:
/// facts_of(...).uniform.
BERTH_ALWAYS_INLINE bool balance_uniform_pair(const Entry& a, const Entry& b, std::size_t first_row,
                                              std::int64_t* out) noexcept {
  constexpr double k_doubt = 1e-9;  // products are off by less than 1e-13
  constexpr std::int64_t k_magnitude = INT64_MAX;
  const std::int64_t* used_a = a.used + first_row;
  const std::int64_t* used_b = b.used + first_row;
  const std::int64_t limit_a = a.capacity[first_row];
  const std::int64_t limit_b = b.capacity[first_row];
  const std::int64_t request_a = a.request;
  const std::int64_t request_b = b.request;
  const double per_a = 50.0 / static_cast<double>(limit_a);
  const double per_b = 50.0 / static_cast<double>(limit_b);
  std::int64_t doubtful = 0;  // negative when a row is
  for (unsigned i = 0; i < 64; ++i) {
    const Tilt before = tilt_of(smaller(used_a[i], limit_a), per_a, smaller(used_b[i], limit_b), per_b);
    const Tilt after =
        tilt_of(smaller(used_a[i] + request_a, limit_a), per_a, smaller(used_b[i] + request_b, limit_b), per_b);
    // Nothing used at all tilts nothing, exactly: evenness 100, one more than a tilt just above 0 leaves.
    const std::int64_t empty = -static_cast<std::int64_t>((used_a[i] | used_b[i]) == 0);
    doubtful |= ((before.beyond & k_magnitude) - bits_of(k_doubt)) & ~empty;
    doubtful |= (after.beyond & k_magnitude) - bits_of(k_doubt);
    const std::int64_t whole_before =
        before.rounded - static_cast<std::int64_t>(static_cast<std::uint64_t>(before.beyond) >> 63);
    const std::int64_t whole_after =
        after.rounded - static_cast<std::int64_t>(static_cast<std::uint64_t>(after.beyond) >> 63);
    const std::int64_t gain = whole_before + empty - whole_after;  // within -50..50
    out[i] = 50 + static_cast<std::int64_t>(static_cast<std::uint64_t>(50 + gain) >> 1);
  }
  return doubtful >= 0;
}

}  // namespace detail

/// Scores the candidates, and perhaps other rows of their words; columns and `out` are padded to a multiple of 64.
[[maybe_unused]] BERTH_VECTOR_CLONES static void balance_block(std::span<const Entry> entries,
                                                               std::span<const std::uint64_t> candidates,
                                                               std::int64_t* out) noexcept {
  for (std::size_t w = 0; w < candidates.size(); ++w) {
    if (candidates[w] == 0) continue;
    const std::size_t row = 64 * w;
    if (node_resources::visit_few(candidates[w], row, [&](std::size_t one) { out[one] = balance_row(entries, one); }))
      continue;
    const node_resources::WordFacts facts = node_resources::facts_of(entries, row);
    if (entries.size() == 2 && facts.exact) {
      if (!facts.uniform || !detail::balance_uniform_pair(entries[0], entries[1], row, out + row))
        detail::balance_pair(entries[0], entries[1], row, out + row);
    } else {
      for (unsigned i = 0; i < 64; ++i) out[row + i] = balance_row(entries, row + i);
    }
  }
}

}  // namespace berth::node_resources_balanced_allocation
