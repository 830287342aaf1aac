// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/columns.hpp>

#include <map>
#include <random>

namespace {
using berth::Mask;

TEST(Mask, CombinesLikeTruthValues) {
  const Mask a(0b1100), b(0b1010);
  EXPECT_EQ((a && b).bits(), 0b1000u);
  EXPECT_EQ((a || b).bits(), 0b1110u);
  EXPECT_EQ((!a).bits(), ~std::uint64_t{0b1100});
  EXPECT_EQ((true && a), a);
  EXPECT_EQ((false && a), Mask::none());
  EXPECT_EQ((a || true), Mask::all());
  EXPECT_TRUE(a[2]);
  EXPECT_FALSE(a[1]);
}

template <class T>
void compare_everywhere(const std::vector<T>& values, T with) {
  alignas(64) T data[64];
  std::copy(values.begin(), values.end(), data);
  const berth::Lane<T> lane(data);
  for (unsigned i = 0; i < 64; ++i) {
    ASSERT_EQ((lane == with)[i], data[i] == with);
    ASSERT_EQ((lane != with)[i], data[i] != with);
    ASSERT_EQ((lane < with)[i], data[i] < with);
    ASSERT_EQ((lane <= with)[i], data[i] <= with);
    ASSERT_EQ((lane > with)[i], data[i] > with);
    ASSERT_EQ((lane >= with)[i], data[i] >= with);
  }
}

TEST(Lane, ComparesEachRow) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> ints(64);
    std::vector<berth::Id> ids(64);
    for (auto& v : ints) v = static_cast<std::int64_t>(random() % 5) - 2;
    for (auto& v : ids) v = static_cast<berth::Id>(random() % 5);
    compare_everywhere<std::int64_t>(ints, 0);
    compare_everywhere<berth::Id>(ids, 2);
    ints[random() % 64] = std::numeric_limits<std::int64_t>::min();
    ints[random() % 64] = std::numeric_limits<std::int64_t>::max();
    compare_everywhere<std::int64_t>(ints, std::numeric_limits<std::int64_t>::max());
  }
}

TEST(EachDistinct, VisitsEachValueOnceWithAllItsRows) {
  berth::Id ids[64];
  for (unsigned i = 0; i < 64; ++i) ids[i] = i % 3;
  std::map<berth::Id, std::uint64_t> seen;
  const Mask mask(0xffff);
  each_distinct(berth::Lane<berth::Id>(ids), mask, [&](berth::Id value, Mask rows) {
    EXPECT_EQ(seen.count(value), 0u);
    seen[value] = rows.bits();
  });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0] | seen[1] | seen[2], mask.bits());
  EXPECT_EQ(seen[0] & 1u, 1u);
  EXPECT_EQ(seen[2], 0b0100'1001'0010'0100u);
}

TEST(SetMemo, ComputesAgainOnlyAfterACollision) {
  berth::SetMemo<int, 4> memo;
  int computed = 0;
  const auto get = [&](std::uint32_t set) {
    return memo.get(set, [&](std::uint32_t s) { return ++computed, static_cast<int>(s * 10); });
  };
  EXPECT_EQ(get(0), 0);
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(computed, 2);
  EXPECT_EQ(get(5), 50) << "shares a line with 1";
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(computed, 4);
}

}  // namespace
