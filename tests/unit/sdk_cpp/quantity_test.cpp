// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/objects/quantity.hpp>

#include "model/quantity.hpp"

namespace {

std::int64_t value(std::string_view text) { return berth::Quantity::parse(text).value().value(); }
std::int64_t milli(std::string_view text) { return berth::Quantity::parse(text).value().milli(); }

TEST(Quantity, ReadsWhatKubernetesWrites) {
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("42"), 42);
  EXPECT_EQ(value("+7"), 7);
  EXPECT_EQ(value("-3"), -3);
  EXPECT_EQ(value("1k"), 1000);
  EXPECT_EQ(value("2Gi"), std::int64_t{2} << 30);
  EXPECT_EQ(value("1.5Gi"), std::int64_t{3} << 29);
  EXPECT_EQ(value(".5Ki"), 512);
  EXPECT_EQ(value("3."), 3);
  EXPECT_EQ(value("1e3"), 1000);
  EXPECT_EQ(value("12E+2"), 1200);
  EXPECT_EQ(value("12e-1"), 2);
  EXPECT_EQ(value("1E"), 1'000'000'000'000'000'000);
  EXPECT_EQ(milli("1500m"), 1500);
  EXPECT_EQ(milli("1.5"), 1500);
  EXPECT_EQ(milli("250u"), 1);
}

TEST(Quantity, RoundsAwayFromZero) {
  EXPECT_EQ(value("1500m"), 2);
  EXPECT_EQ(value("-1500m"), -2);
  EXPECT_EQ(value("1n"), 1);
  EXPECT_EQ(value("0.0000000001"), 1);
  EXPECT_EQ(milli("1n"), 1);
}

TEST(Quantity, EndsAtWhatSixtyFourBitsHold) {
  EXPECT_EQ(value("8Ei"), INT64_MAX);
  EXPECT_EQ(value("9999999999999999999999"), INT64_MAX);
  EXPECT_EQ(value("-1e99"), INT64_MIN);
  EXPECT_EQ(value("1e2147483647"), INT64_MAX);
  EXPECT_EQ(value("1e-2147483648"), 1);
  EXPECT_EQ(milli("9223372036854775807"), INT64_MAX);
}

TEST(Quantity, CountsCpuInThousandths) {
  EXPECT_EQ(berth::Quantity::parse("2")->amount_of("cpu"), 2000);
  EXPECT_EQ(berth::Quantity::parse("2")->amount_of("memory"), 2);
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "-", "+", ".", "m", "1 k", " 1", "1 ", "1kk", "1ki", "1i", "1.2.3", "1e", "1e1.5", "e3",
                           "--1", "0x10", "1e+-3", "one"})
    EXPECT_FALSE(berth::Quantity::parse(text).has_value()) << text;
}

TEST(Quantity, AgreesWithTheHost) {
  std::uint64_t seed = 20261127;
  const auto draw = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  constexpr const char* k_suffixes[] = {"",  "n",  "u",  "m",  "k",  "M",  "G",  "T",  "P",
                                        "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-4"};
  for (int round = 0; round < 5000; ++round) {
    std::string text = draw(4) == 0 ? "-" : "";
    for (std::uint64_t digits = draw(12) + 1; digits > 0; --digits) text += static_cast<char>('0' + draw(10));
    if (draw(2) == 0) {
      text += ".";
      for (std::uint64_t digits = draw(12); digits > 0; --digits) text += static_cast<char>('0' + draw(10));
    }
    text += k_suffixes[draw(std::size(k_suffixes))];
    const auto expected = berth::model::Quantity::parse(text);
    ASSERT_TRUE(expected.ok()) << text;
    EXPECT_EQ(value(text), expected->value()) << text;
    EXPECT_EQ(milli(text), expected->milli_value()) << text;
  }
}

}  // namespace
