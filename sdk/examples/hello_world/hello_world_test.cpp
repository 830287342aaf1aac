// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/module.hpp>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

const std::vector<NodeSpec> k_nodes{
    {.name = "a", .labels = {{"greets", "123"}}}, {.name = "b", .labels = {{"greets", "world"}}}, {.name = "c"}};

Scores scores(const char* args) {
  Policy policy(tested_library(), args);
  return Attempt(policy, {}, k_nodes).normalized();
}

TEST(HelloWorldPlugin, ScoresNodesWithTheLabelOfItsArgs) {
  EXPECT_EQ(scores(R"({"xxx": "greets", "yyy": "world", "zzz": 70})"), (Scores{0, 70, 0}));
}

TEST(HelloWorldPlugin, LooksFor123WhenNothingIsSaid) {
  EXPECT_EQ(scores(R"({"xxx": "greets", "zzz": 70})"), (Scores{70, 0, 0}));
}

TEST(HelloWorldPlugin, ScoresNothingWithoutArgs) { EXPECT_EQ(scores(""), (Scores{0, 0, 0})); }

TEST(HelloWorldPlugin, SaysHelloWithTheArgsThatItWorksWith) {
  Policy policy(tested_library(), R"({"xxx": "greets"})");
  ASSERT_EQ(policy.host().log.size(), 1u);
  EXPECT_EQ(policy.host().log[0].message, R"(hello, world: xxx="greets" yyy="123" zzz=0)");
}

}  // namespace
