// SPDX-License-Identifier: Apache-2.0
#include "cycle/node_choice.hpp"

namespace berth::cycle {

std::size_t best_of(std::span<const std::int64_t> totals) noexcept {
  std::size_t best = 0;
  std::uint64_t best_rank = preorder_rank(0);
  for (std::size_t i = 1; i < totals.size(); ++i) {
    if (totals[i] < totals[best]) continue;
    const std::uint64_t rank = preorder_rank(i);
    if (totals[i] == totals[best] && rank > best_rank) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

}  // namespace berth::cycle
