// SPDX-License-Identifier: Apache-2.0
#include "bench/churn/churn.hpp"

#include <gtest/gtest.h>

#include <map>

namespace berth::bench {
namespace {

/// Of every table, what it had half way and at the end.
std::map<std::string, std::pair<std::size_t, std::size_t>> sizes_of(bool standby) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> out;
  ChurnOptions options;
  options.pods = 40'000;
  options.alive = 500;
  options.nodes = 20;
  options.standby = standby;
  churn(options, options.pods / 2, [&](const ChurnSizes& sizes) {
    for (const auto& [name, size] : sizes.tables)
      if (sizes.pods == options.pods)
        out[name].second = size;
      else
        out[name].first = size;
  });
  return out;
}

void expect_no_growth(const std::map<std::string, std::pair<std::size_t, std::size_t>>& sizes) {
  EXPECT_EQ(sizes.size(), 8u);
  for (const auto& [name, size] : sizes) {
    if (name == "symbol_bytes") continue;  // numbers go round after 130,000 others: below
    if (name == "list_bytes") continue;    // swept from 256 KiB on: below
    EXPECT_LE(size.second, size.first + size.first / 10 + 64) << name;
  }
  EXPECT_LE(sizes.at("symbol_bytes").second, std::size_t{16} << 20);
  EXPECT_LE(sizes.at("pod_slots").second, 1000u);
  EXPECT_LE(sizes.at("resources").second, 20u);
  EXPECT_LE(sizes.at("list_bytes").second, std::size_t{2} << 20);
}

TEST(Churn, LeavesTheTablesOfALeaderAsTheyWere) { expect_no_growth(sizes_of(false)); }
TEST(Churn, LeavesTheTablesOfAStandbyAsTheyWere) { expect_no_growth(sizes_of(true)); }

}  // namespace
}  // namespace berth::bench
