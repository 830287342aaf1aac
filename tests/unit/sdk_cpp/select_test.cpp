// SPDX-License-Identifier: Apache-2.0
// Node selectors, tolerations and ports are exercised by the policies' tables; here is what no policy asks for.
#include <gtest/gtest.h>
#include <berth/select.hpp>

namespace {

TEST(ParseInteger, ReadsWhatGoReads) {
  const std::vector<std::pair<std::string_view, std::optional<std::int64_t>>> table = {
      {"0", 0},
      {"007", 7},
      {"+5", 5},
      {"-5", -5},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", {}},
      {"", {}},
      {"+", {}},
      {"-", {}},
      {"+-5", {}},
      {"--5", {}},
      {" 5", {}},
      {"5 ", {}},
      {"1_000", {}},
      {"0x10", {}},
      {"1.0", {}},
      {"1e3", {}}};
  for (const auto& [text, want] : table) EXPECT_EQ(berth::parse_integer(text), want) << text;
}

TEST(ParseDecimal, ReadsNumbersAsPeopleWriteThem) {
  const std::vector<std::pair<std::string_view, std::optional<std::int64_t>>> table = {
      {"0", 0},
      {"7", 7},
      {"-5", -5},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"007", {}},
      {"+5", {}},
      {"-0", {}},
      {"-07", {}},
      {"-", {}},
      {"", {}},
      {"--5", {}},
      {"-+5", {}},
      {"9223372036854775808", {}},
      {"1.0", {}}};
  for (const auto& [text, want] : table) EXPECT_EQ(berth::parse_decimal(text), want) << text;
}

TEST(FindLabel, SearchesShortAndLongLists) {
  std::vector<berth::Label> labels;
  for (berth::Id key = 2; key <= 60; key += 2) {
    labels.push_back({key, key + 100});
    for (berth::Id wanted = 1; wanted <= key + 1; ++wanted) {
      EXPECT_EQ(berth::find_label(labels, wanted), wanted % 2 == 0 ? wanted + 100 : 0u) << labels.size();
    }
  }
}

TEST(LabelSelector, MatchesByKind) {
  const berth::Label labels[] = {{2, 20}, {3, BERTH_ID_EMPTY}};
  const berth::Id values[] = {20, 21};
  const berth::Requirement in{2, BERTH_OP_IN, values, 2, 0, 0};
  const berth::Requirement absent{9, BERTH_OP_DOES_NOT_EXIST, nullptr, 0, 0, 0};
  const berth::Requirement unknown{2, 77, nullptr, 0, 0, 0};
  const berth::Requirement both[] = {in, absent};
  const auto selector = [](std::span<const berth::Requirement> r, std::uint32_t kind) {
    return berth::Selector{r.data(), static_cast<std::uint32_t>(r.size()), kind, {}};
  };
  EXPECT_TRUE(berth::matches(selector(both, BERTH_SELECTOR_MATCH), labels));
  EXPECT_TRUE(berth::matches(selector({}, BERTH_SELECTOR_MATCH), {})) << "no requirements: everything";
  EXPECT_FALSE(berth::matches(selector(both, BERTH_SELECTOR_NOTHING), labels));
  EXPECT_FALSE(berth::matches(selector(both, BERTH_SELECTOR_INVALID), labels));
  EXPECT_FALSE(berth::matches(selector({&unknown, 1}, BERTH_SELECTOR_MATCH), labels)) << "an operator of a later day";
}

TEST(PortsConflict, IsSymmetric) {
  const berth::HostPort all{5, 6, 80, 1}, one{7, 6, 80, 0}, other{8, 6, 80, 0}, udp{7, 9, 80, 0}, next{7, 6, 81, 0};
  const std::vector<std::tuple<berth::HostPort, berth::HostPort, bool>> table = {
      {all, one, true},  {one, one, true},   {one, other, false},
      {one, udp, false}, {one, next, false}, {all, udp, false}};
  for (const auto& [a, b, want] : table) {
    EXPECT_EQ(berth::ports_conflict(a, b), want);
    EXPECT_EQ(berth::ports_conflict(b, a), want);
  }
}

}  // namespace
