// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/arithmetic.hpp>

#include <limits>
#include <random>

namespace {

constexpr std::int64_t k_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t k_max = std::numeric_limits<std::int64_t>::max();

TEST(ScaledQuotient, TruncatesTowardZeroAndGuardsTheDivisor) {
  EXPECT_EQ(berth::scaled_quotient(1, 100, 3), 33);
  EXPECT_EQ(berth::scaled_quotient(-1, 100, 3), -33);
  EXPECT_EQ(berth::scaled_quotient(5, 100, 0), 0);
  EXPECT_EQ(berth::scaled_quotient(k_min, 1, -1), k_min) << "wraps instead of trapping";
  EXPECT_EQ(berth::scaled_quotient(k_max, 100, 1), -100) << "the product wraps";
}

void expect_exact(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> out(a.size());
  berth::percent(a.data(), b.data(), out.data(), static_cast<unsigned>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(out[i], berth::scaled_quotient(a[i], 100, b[i])) << a[i] << " * 100 / " << b[i];
  }
}

TEST(Percent, AgreesWithIntegersAtTheEdges) {
  const std::vector<std::int64_t> interesting = {0,
                                                 1,
                                                 -1,
                                                 2,
                                                 3,
                                                 99,
                                                 100,
                                                 101,
                                                 1000,
                                                 4000,
                                                 16ll << 30,
                                                 -(16ll << 30),
                                                 berth::k_exact_limit - 1,
                                                 berth::k_exact_limit,
                                                 berth::k_exact_limit + 1,
                                                 -berth::k_exact_limit,
                                                 -berth::k_exact_limit - 1,
                                                 1ll << 52,
                                                 1ll << 62,
                                                 k_min,
                                                 k_max};
  for (const std::int64_t a : interesting) {
    for (const std::int64_t b : interesting) expect_exact({a}, {b});
  }
}

TEST(Percent, AgreesWithIntegersForNumbersOfAnySize) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const unsigned bits = 1 + random() % 50;
    std::vector<std::int64_t> a(64), b(64);
    for (std::size_t i = 0; i < 64; ++i) {
      b[i] = static_cast<std::int64_t>(random() >> (64 - bits));
      // Often a multiple, or one off: where a rounded quotient would show.
      a[i] = random() % 4 == 0
                 ? static_cast<std::int64_t>(random() >> (64 - bits))
                 : b[i] / 100 * static_cast<std::int64_t>(random() % 101) + static_cast<std::int64_t>(random() % 3) - 1;
    }
    expect_exact(a, b);
  }
}

TEST(Percent, MayWriteOverItsOperands) {
  std::vector<std::int64_t> a = {1, 2, 3};
  const std::vector<std::int64_t> b = {4, 0, 3};
  berth::percent(a.data(), b.data(), a.data(), 3);
  EXPECT_EQ(a, (std::vector<std::int64_t>{25, 0, 100}));
}

}  // namespace
