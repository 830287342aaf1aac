// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace berth::tests {

/// True when one seed was asked for: what is expected of many does not hold for it.
inline bool is_one_seed() { return std::getenv("BERTH_SEED") != nullptr; }

/// The seeds of random clusters: 100 of them, 1,000 with BERTH_LONG (scripts/test --long), or only BERTH_SEED. Printed.
inline std::vector<std::uint32_t> seeds() {
  if (const char* one = std::getenv("BERTH_SEED")) return {static_cast<std::uint32_t>(std::strtoul(one, nullptr, 10))};
  const std::uint32_t count = std::getenv("BERTH_LONG") != nullptr ? 1000 : 100;
  std::printf("BERTH_SEED from 1 to %u\n", count);
  std::vector<std::uint32_t> all;
  for (std::uint32_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

}  // namespace berth::tests
