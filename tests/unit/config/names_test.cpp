// SPDX-License-Identifier: Apache-2.0
#include "config/read/names.hpp"

#include <gtest/gtest.h>

namespace berth::config {
namespace {

TEST(NearestNames, ForgiveCaseSlipsAndMissingEndings) {
  const std::vector<std::string> known = {"profiles", "parallelism", "percentageOfNodesToScore", "leaderElection"};
  EXPECT_EQ(nearest_names("profile", known), std::vector<std::string>{"profiles"});
  EXPECT_EQ(nearest_names("leaderelection", known), std::vector<std::string>{"leaderElection"});
  EXPECT_EQ(nearest_names("paralellism", known), std::vector<std::string>{"parallelism"});
  EXPECT_EQ(nearest_names("percentageOfNodesToScroe", known), std::vector<std::string>{"percentageOfNodesToScore"});
}

TEST(NearestNames, DoNotOfferWhatMerelySharesLetters) {
  EXPECT_TRUE(nearest_names("extenders", {"parallelism", "profiles"}).empty());
  EXPECT_TRUE(nearest_names("", {"a"}).empty());
  EXPECT_TRUE(nearest_names(std::string(100'000, 'x'), {"x"}).empty());
}

TEST(NearestNames, PutTheNearestFirst) {
  EXPECT_EQ(nearest_names("NodeNames", {"NodeAffinity", "NodePorts", "NodeName"}).front(), "NodeName");
  EXPECT_EQ(did_you_mean("enabld", {"enabled", "enable"}), "did you mean \"enable\" or \"enabled\"?");
}

struct DurationCase {
  std::string_view text;
  std::optional<std::int64_t> ns;
};

TEST(Duration, ReadsWhatGoReads) {
  const DurationCase cases[] = {
      {"15s", 15'000'000'000},
      {"1m30s", 90'000'000'000},
      {"300ms", 300'000'000},
      {"1.5h", 5'400'000'000'000},
      {"0", 0},
      {"-2s", -2'000'000'000},
      {"+1us", 1'000},
      {"10\u00b5s", 10'000},
      {"1h0m0.5s", 3'600'500'000'000},
      {"7ns", 7},
      {".5s", 500'000'000},
      {"", std::nullopt},
      {"15", std::nullopt},
      {"s", std::nullopt},
      {"1x", std::nullopt},
      {"1..5s", std::nullopt},
      {"-", std::nullopt},
      {"1 s", std::nullopt},
      {"9999999999h", std::nullopt},
      {"1e3s", std::nullopt},
  };
  for (const DurationCase& c : cases) EXPECT_EQ(parse_duration_ns(c.text), c.ns) << c.text;
}

TEST(Duration, IsPrintedAsGoPrintsIt) {
  EXPECT_EQ(format_duration(15'000'000'000), "15s");
  EXPECT_EQ(format_duration(600'000'000'000), "10m0s");
  EXPECT_EQ(format_duration(3'600'500'000'000), "1h0m0.5s");
  EXPECT_EQ(format_duration(1'500'000), "1.5ms");
  EXPECT_EQ(format_duration(7), "7ns");
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(-2'000'000'000), "-2s");
}

}  // namespace
}  // namespace berth::config
