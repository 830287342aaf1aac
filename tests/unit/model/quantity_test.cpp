// SPDX-License-Identifier: Apache-2.0
#include "model/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace berth::model {
namespace {

constexpr std::int64_t k_max = std::numeric_limits<std::int64_t>::max();

TEST(Quantity, ReadsEveryFormAndRoundsAwayFromZero) {
  struct Case {
    std::string_view text;
    std::int64_t value, milli;
  };
  const Case cases[] = {
      {"0", 0, 0},
      {"1", 1, 1000},
      {"+1", 1, 1000},
      {"-1", -1, -1000},
      {"007", 7, 7000},
      {"1.5", 2, 1500},
      {"-1.5", -2, -1500},
      {"5.", 5, 5000},
      {".5", 1, 500},
      {"+", 0, 0},
      {"-", 0, 0},
      {".", 0, 0},
      {"m", 0, 0},
      {"100m", 1, 100},
      {"1500u", 1, 2},
      {"1n", 1, 1},
      {"0.0000000001", 1, 1},
      {"-0.0000000001", -1, -1},
      {"1k", 1000, 1000000},
      {"1M", 1000000, 1000000000},
      {"2E", 2000000000000000000, k_max},
      {"1P", 1000000000000000, 1000000000000000000},
      {"1Ki", 1024, 1024000},
      {"1.5Gi", 1610612736, 1610612736000},
      {"0.5Gi", 536870912, 536870912000},
      {"0.001Ki", 2, 1024},
      {"8Ei", k_max, k_max},
      {"-8Ei", -k_max, -k_max - 1},
      {"99999999999999999999Ki", k_max, k_max},
      {"7Ei", 8070450532247928832, k_max},
      {"1e3", 1000, 1000000},
      {"1E3", 1000, 1000000},
      {"1e+3", 1000, 1000000},
      {"1e-3", 1, 1},
      {"12e-1", 2, 1200},
      {"1E", 1000000000000000000, k_max},
      {"1e-2000000000", 1, 1},
      {"1e2000000000", k_max, k_max},
      {"0e2000000000", 0, 0},
      {"1e4294967296", 1, 1000},
      {"99999999999999999999999999999999999999999999", k_max, k_max},
      {"0.00000000000000000000000000000000001", 1, 1},
      {"0.1Ei", 115292150460684698, k_max},
      {"1.000000000000000000000000000000Ki", 1024, 1024000},
      {"0.0000000009765625Ki", 1, 1},
  };
  for (const Case& c : cases) {
    const Result<Quantity> quantity = Quantity::parse(c.text);
    ASSERT_TRUE(quantity.ok()) << c.text << ": " << quantity.error().message;
    EXPECT_EQ(quantity->value(), c.value) << c.text;
    EXPECT_EQ(quantity->milli_value(), c.milli) << c.text;
  }
}

TEST(Quantity, RefusesInUpstreamsWords) {
  const std::string_view format =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const std::string_view suffix = "unable to parse quantity's suffix";
  const std::string_view number = "unable to parse numeric part of quantity";
  struct Case {
    std::string_view text, want;
  };
  const Case cases[] = {
      {"", format},
      {" 1", format},
      {"1 ", format},
      {"1 Gi", format},
      {"1.2.3", format},
      {"--1", suffix},
      {"1B", format},
      {"1GiB", format},
      {"abc", format},
      {"1_000", format},
      {"0x10", format},
      {"1e3m", format},
      {"1ee3x", format},
      {"1K", suffix},
      {"1mi", suffix},
      {"1Gii", suffix},
      {"1e", suffix},
      {"1e-", suffix},
      {"1ee3", suffix},
      {"1m3", suffix},
      {"1-", suffix},
      {"1-3", suffix},
      {"1e99999999999999999999", suffix},
      {"1e+", suffix},
      {".e-10", number},
      {"+e-10", number},
  };
  for (const Case& c : cases) {
    const Result<Quantity> quantity = Quantity::parse(c.text);
    ASSERT_FALSE(quantity.ok()) << c.text;
    EXPECT_EQ(quantity.error().message, c.want) << c.text;
  }
}

TEST(Quantity, AddsExactlyAndRoundsOnce) {
  Quantity sum = Quantity::parse("500u").value();
  sum += Quantity::parse("500u").value();
  EXPECT_EQ(sum.milli_value(), 1);
  sum += Quantity::parse("1n").value();
  EXPECT_EQ(sum.milli_value(), 2);
  EXPECT_EQ(Quantity::from_milli(1500), Quantity::parse("1.5").value());
  EXPECT_TRUE(Quantity::from_units(-1) < Quantity());
  Quantity most = Quantity::parse("1e30").value();
  most += most;
  EXPECT_EQ(most.value(), k_max);
}

}  // namespace
}  // namespace berth::model
