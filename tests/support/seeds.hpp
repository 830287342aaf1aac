// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace berth::tests {

#if defined(__SANITIZE_THREAD__)
inline constexpr std::uint32_t k_usual_seeds = 4;  // a simulation has one thread
#elif defined(BERTH_SANITIZED)
inline constexpr std::uint32_t k_usual_seeds = 20;  // each takes some ten times as long
#else
inline constexpr std::uint32_t k_usual_seeds = 100;
#endif

/// True when one seed was asked for, or sanitizers leave few: what is expected of many does not hold.
inline bool are_few_seeds() {
  return std::getenv("BERTH_SEED") != nullptr || (std::getenv("BERTH_LONG") == nullptr && k_usual_seeds < 100);
}

/// The seeds of random clusters: 100 of them, 20 or 4 under sanitizers, 1,000 with BERTH_LONG (scripts/test --long), or only
/// BERTH_SEED. Printed.
inline std::vector<std::uint32_t> seeds() {
  if (const char* one = std::getenv("BERTH_SEED")) return {static_cast<std::uint32_t>(std::strtoul(one, nullptr, 10))};
  const std::uint32_t count = std::getenv("BERTH_LONG") != nullptr ? 1000 : k_usual_seeds;
  std::printf("BERTH_SEED from 1 to %u\n", count);
  std::vector<std::uint32_t> all;
  for (std::uint32_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

}  // namespace berth::tests
