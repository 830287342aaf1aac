// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "framework/points/score.hpp"

/// Loops over scores by slot. `rows` holds a bit per slot; arrays have 64 elements for each of its words, and elements
/// whose bit is not set hold anything. Words with all bits set, nearly all of them, run as vector code.
namespace berth::cycle {

/// The bits that any of the scores has: 0 when all are 0.
std::int64_t union_of_bits(std::span<const std::uint64_t> rows, const std::int64_t* scores) noexcept;
/// Largest and smallest. Requires: a bit is set.
framework::NormRange range_of(std::span<const std::uint64_t> rows, const std::int64_t* scores) noexcept;
/// sums += weight * scores. Negative when a score is below 0 or above the maximum.
std::int64_t add_weighted(std::span<const std::uint64_t> rows, const std::int64_t* scores, std::int64_t weight,
                          std::int64_t* sums) noexcept;
/// sums += same.
void add_same(std::span<const std::uint64_t> rows, std::int64_t same, std::int64_t* sums) noexcept;

}  // namespace berth::cycle
