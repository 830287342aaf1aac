// SPDX-License-Identifier: Apache-2.0
/// Scores and their normalisation, with a highest score of 10 or 100.
#pragma once
#include <berth/arithmetic.hpp>
#include <berth/score.hpp>

#include <algorithm>

namespace berth::legacy {

/// The reduce step that most priorities shared. Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/reduce.go.
inline void reduce(std::span<std::int64_t> scores, std::int64_t max_score, bool reversed) noexcept {
  std::int64_t most = 0;
  for (const std::int64_t score : scores) most = std::max(most, score);
  for (std::int64_t& score : scores) {
    if (most != 0) score = scaled_quotient(score, max_score, most);
    if (reversed) score = most == 0 ? max_score : max_score - score;
  }
}

}  // namespace berth::legacy
