// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/json.hpp>
#include <berth/testkit/module.hpp>

#include <fstream>
#include <iterator>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

berth::Json rows() {
  std::ifstream in(ROWS_FILE);
  return berth::Json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
}

/// Rows have numbers and words only, so that args can be written back.
std::string text_of(const berth::Json& resources) {
  std::string text;
  for (const berth::Json& each : resources.items()) {
    text += (text.empty() ? "" : ",");
    text += R"({"name":")" + each["name"].string("name") + R"(","weight":)" +
            std::string(each["weight"].number_text()) + "}";
  }
  return "[" + text + "]";
}

std::string args_of(const berth::Json& row) {
  return R"({"mode":")" + row["mode"].string_or("mode", "Least") + R"(","resources":)" + text_of(row["resources"]) +
         "}";
}

Scores scores(const std::string& args, const std::vector<NodeSpec>& nodes, const PodSpec& pod = {}) {
  Policy policy(tested_library(), args);
  return Attempt(policy, pod, nodes).normalized();
}

NodeSpec sized(std::int64_t cpu_milli, std::int64_t memory_bytes) {
  return {.capacity = {{"cpu", cpu_milli}, {"memory", memory_bytes}}};
}

TEST(NodeResourcesAllocatable, ScoresAsTheRowsOfUpstreamSay) {
  int judged = 0;
  const berth::Json all = rows();
  for (const berth::Json& row : all["rows"].array("rows")) {
    SCOPED_TRACE(row["name"].string("name"));
    if (row.contains("refused")) {
      try {
        Policy policy(tested_library(), args_of(row));
        ADD_FAILURE() << "the args were taken";
      } catch (const CallError& refused) {
        EXPECT_EQ(refused.outcome.text, row["refused"].string("refused"));
      }
    } else {
      std::vector<NodeSpec> nodes;
      Scores expected;
      for (const berth::Json& node : row["nodes"].items()) {
        nodes.push_back(sized(node["cpu"].integer("cpu"), node["memory"].integer("memory")));
        nodes.back().name = node["name"].string("name");
        nodes.back().requested["cpu"] = node["requestedCpu"].integer_or("requestedCpu", 0);
        nodes.back().pods = node["pods"].integer_or("pods", 0);
        expected.push_back(node["score"].integer("score"));
      }
      const PodSpec pod{.resources = {{"cpu", row["podCpu"].integer_or("podCpu", 0)}}};
      EXPECT_EQ(scores(args_of(row), nodes, pod), expected);
    }
    ++judged;
  }
  EXPECT_EQ(judged, 14);
}

TEST(NodeResourcesAllocatable, PrefersTheSmallestNodesWithoutArgs) {
  // 1,000 milli-cores weigh as much as 1,000 MiB.
  EXPECT_EQ(scores("", {sized(1000, 0), sized(0, std::int64_t{500} << 20), sized(0, 0)}), (Scores{0, 50, 100}));
}

TEST(NodeResourcesAllocatable, CountsDevicesAndWhatNodesDoNotHave) {
  const std::string args = R"({"mode": "Most", "resources": [{"name": "example.com/gpu", "weight": 3}]})";
  EXPECT_EQ(scores(args, {{.capacity = {{"example.com/gpu", 8}}}, {.capacity = {{"example.com/gpu", 2}}}, {}}),
            (Scores{100, 25, 0}));
}

TEST(NodeResourcesAllocatable, GivesResourcesWithoutAnAmountTheirWeightAlone) {
  // 10 * 1 / (1 + 9) is 1, and 19 / 10 is 1 as well.
  const std::string args =
      R"({"mode": "Most", "resources": [{"name": "cpu", "weight": 1}, {"name": "pods", "weight": 9}]})";
  const std::vector<NodeSpec> nodes{{.capacity = {{"cpu", 10}, {"pods", 500}}},
                                    {.capacity = {{"cpu", 19}, {"pods", 1}}}};
  EXPECT_EQ(scores(args, nodes), (Scores{0, 0}));
}

TEST(NodeResourcesAllocatable, TakesTheLastWeightOfAResourceThatIsNamedTwice) {
  const std::string args =
      R"({"mode": "Most", "resources": [{"name": "cpu", "weight": 50}, {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]})";
  EXPECT_EQ(scores(args, {sized(10, 0), sized(0, 10)}), (Scores{0, 0}));
}

TEST(NodeResourcesAllocatable, RefusesWeightsWhoseSumOverflows) {
  const std::string args =
      R"({"resources": [{"name": "cpu", "weight": 9223372036854775807}, {"name": "memory", "weight": 1}]})";
  EXPECT_THROW(Policy(tested_library(), args), CallError);
}

}  // namespace
