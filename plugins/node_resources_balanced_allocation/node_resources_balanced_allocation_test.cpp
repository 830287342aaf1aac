// SPDX-License-Identifier: Apache-2.0
#include "balance.hpp"

#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

#include <random>

namespace {
using namespace berth::testkit;

ResourceSpec asks(std::string name, std::int64_t amount, std::uint32_t flags = 0) {
  return {.name = std::move(name), .request = amount, .effective = amount, .scoring = amount, .flags = flags};
}
NodeSpec node(std::map<std::string, std::int64_t> capacity, std::map<std::string, std::int64_t> requested = {}) {
  return {.capacity = std::move(capacity), .requested = std::move(requested)};
}
const char* const k_three = R"({"resources":[{"name":"cpu"},{"name":"memory"},{"name":"example.com/gpu"}]})";

struct ScoreCase {
  std::string name;
  std::vector<ResourceSpec> pod;
  NodeSpec node;
  std::int64_t want;
  std::string args = {};
};
const std::vector<ScoreCase> k_cases = {
    {"EmptyNodeTilted", {asks("cpu", 3000), asks("memory", 5000)}, node({{"cpu", 4000}, {"memory", 10000}}), 68},
    {"MadeEven",
     {asks("cpu", 10), asks("memory", 35)},
     node({{"cpu", 100}, {"memory", 100}}, {{"cpu", 50}, {"memory", 25}}),
     81},
    {"OneResourceAlone", {asks("cpu", 10), asks("memory", 35)}, node({{"cpu", 100}}), 75},
    {"NothingOffered", {asks("cpu", 10)}, node({}), 75},
    {"FractionsAreCapped", {asks("cpu", 500), asks("memory", 100)}, node({{"cpu", 100}, {"memory", 100}}), 75},
    {"StandardDeviationOfThree",  // 0.3 0.3 0.6: mean 0.4, deviation 0.1414 -> 85; before 0 0 0 -> 100
     {asks("cpu", 30), asks("memory", 30), asks("example.com/gpu", 6, BERTH_RESOURCE_SCALAR | BERTH_RESOURCE_EXTENDED)},
     node({{"cpu", 100}, {"memory", 100}, {"example.com/gpu", 10}}),
     50 + (50 + 85 - 100) / 2,
     k_three},
    {"UnaskedScalarDropsOut",
     {asks("cpu", 3000), asks("memory", 5000)},
     node({{"cpu", 4000}, {"memory", 10000}, {"example.com/gpu", 10}}, {{"example.com/gpu", 9}}),
     68,
     k_three},
    {"AmountsBeyondTheVectorPath",
     {asks("cpu", 3000), asks("memory", std::int64_t{5} << 50)},
     node({{"cpu", 4000}, {"memory", std::int64_t{10} << 50}}),
     68},
};
class BalanceScore : public testing::TestWithParam<ScoreCase> {};
TEST_P(BalanceScore, Scores) {
  Policy policy(tested_library(), GetParam().args);
  Attempt attempt(policy, {.resources = GetParam().pod}, {node({}), GetParam().node});
  EXPECT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score()[1], GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(All, BalanceScore, testing::ValuesIn(k_cases), [](const auto& i) { return i.param.name; });

TEST(Balance, SkipsPodsThatAskForNothing) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.resources = {asks("ephemeral-storage", 5)}}, {node({{"cpu", 4}})});
  EXPECT_EQ(attempt.pre_score().code, BERTH_SKIP);
  EXPECT_EQ(attempt.score(), std::vector<std::int64_t>{0}) << "score without preScore";
}

TEST(Balance, WeightsAreOneAndNamesUnique) {
  try {
    Policy policy(tested_library(), R"({"resources":[{"name":"cpu","weight":2},{"name":"cpu"}]})");
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_BAD_ARGS,
                                  "[resources[0].weight: Invalid value: 2: must be 1, "
                                  "resources[1].name: Duplicate value: \"cpu\"]"}));
  }
}

TEST(Balance, VectorPathsEqualRows) {
  using namespace berth::node_resources_balanced_allocation;
  const std::uint64_t all = ~std::uint64_t{0};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 1200; ++round) {
      const std::uint64_t limit = std::uint64_t{1} << (1 + random() % 45);
      std::vector<std::vector<std::int64_t>> columns(4, std::vector<std::int64_t>(64));
      for (auto& column : columns)
        for (auto& value : column) value = random() % 8 == 0 ? 0 : static_cast<std::int64_t>(random() % limit);
      // Nodes of one size, as most are; and shares of a round size, where evenness meets whole numbers.
      if (round % 3 != 0)
        for (const std::size_t i : {0, 2}) columns[i].assign(64, static_cast<std::int64_t>(1 + random() % limit));
      if (round % 3 == 2)
        for (const std::size_t i : {1, 3})
          for (auto& used : columns[i]) used = columns[i - 1][0] / 100 * static_cast<std::int64_t>(random() % 101);
      const Entry entries[] = {{columns[0].data(), columns[1].data(), static_cast<std::int64_t>(random() % limit), 1},
                               {columns[2].data(), columns[3].data(), static_cast<std::int64_t>(random() % limit), 1}};
      std::int64_t fast[64];
      balance_block(entries, {&all, 1}, fast);
      for (std::size_t row = 0; row < 64; ++row) ASSERT_EQ(fast[row], balance_row(entries, row)) << row;
      const std::uint64_t two = 1 | std::uint64_t{1} << (1 + random() % 63);
      std::int64_t few[64] = {};
      balance_block(entries, {&two, 1}, few);
      for (std::size_t row = 0; row < 64; ++row) {
        if ((two >> row & 1) == 0) continue;
        ASSERT_EQ(few[row], fast[row]) << row;
      }
    }
  }
}

}  // namespace
