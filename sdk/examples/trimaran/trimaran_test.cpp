// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

#include <fstream>
#include <iterator>

#include "../http_client/test_server.hpp"
#include "loads.hpp"

namespace {
using namespace berth::testkit;
using namespace trimaran;
using Scores = std::vector<std::int64_t>;

const berth::Json& table(const char* name) {
  static const berth::Json all = [] {
    std::ifstream in(ROWS_FILE);
    return berth::Json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
  }();
  return all[name];
}

/// What Prometheus answers to an instant query: percent by node, as shares.
std::string vector_of(const std::map<std::string, double>& percents) {
  std::string series;
  for (const auto& [node, percent] : percents)
    series += (series.empty() ? "" : ",") + (R"({"metric":{"instance":")" + node + R"("},"value":[1769945400.1,")" +
                                             std::to_string(percent / 100) + "\"]}");
  return http::answer(200, R"({"status":"success","data":{"resultType":"vector","result":[)" + series + "]}}");
}
std::string vector_of_one(const berth::Json& load, const char* series) {
  return load.contains(series) ? vector_of({{"node-1", load[series].number(series)}}) : vector_of({});
}

/// A policy, and a Prometheus that answers with what the test has prepared. What is submitted is asked when the test says so.
struct Trimaran {
  Trimaran(std::uint32_t index, std::deque<std::string> answers, const std::string& more = {})
      : server(std::move(answers)),
        policy(tested_library(), R"({"metricProvider": {"address": ")" + server.address() + "\"}" + more + "}",
               FakeCluster::install, index) {}
  void ask() { ASSERT_TRUE(cluster.run_next_task()); }
  Scores scores(const PodSpec& pod, const std::vector<NodeSpec>& nodes) {
    return Attempt(policy, pod, cluster.nodes = nodes).normalized();
  }

  http::TestServer server;
  Policy policy;
  FakeCluster& cluster = FakeCluster::of(policy);
  FakePods& pods = FakePods::of(policy);
};

NodeSpec one_core(const std::string& name) {
  const std::map<std::string, std::int64_t> amounts{{"cpu", 1000}, {"memory", std::int64_t{1} << 30}};
  return {.name = name, .capacity = amounts, .status_capacity = amounts};
}
PodSpec pod_of(const berth::Json& row) {
  PodSpec pod;
  for (const berth::Json& each : row["containers"].items()) {
    ContainerSpec& container = pod.container_resources.emplace_back();
    for (const auto& [name, amount] : each.members())
      container.requests[name] = container.limits[name] = amount.integer(name);
  }
  return pod;
}
PodSpec uses(const std::string& name, std::int64_t milli) {
  return {.name = name, .container_resources = {{.requests = {{"cpu", milli}}, .limits = {{"cpu", milli}}}}};
}

TEST(TargetLoadPacking, ScoresAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("packing").array("packing")) {
    SCOPED_TRACE(row["name"].string("name"));
    Trimaran prometheus(0, {vector_of_one(row["load"], "cpuMean")});
    prometheus.ask();
    EXPECT_EQ(prometheus.scores(pod_of(row["pod"]), {one_core("node-1")}), Scores{row["score"].integer("score")});
    ++judged;
  }
  EXPECT_EQ(judged, 4);
}

TEST(LoadVariationRiskBalancing, ScoresAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("risk").array("risk")) {
    SCOPED_TRACE(row["name"].string("name"));
    const berth::Json& load = row["load"];
    Trimaran prometheus(1, {vector_of_one(load, "cpuMean"), vector_of_one(load, "cpuDeviation"),
                            vector_of_one(load, "memoryMean"), vector_of_one(load, "memoryDeviation")});
    prometheus.ask();
    EXPECT_EQ(prometheus.scores(pod_of(row["pod"]), {one_core("node-1")}), Scores{row["score"].integer("score")});
    ++judged;
  }
  EXPECT_EQ(judged, 6);
}

TEST(LoadVariationRiskBalancing, EstimatesTheRiskAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("formula").array("formula")) {
    const auto value = [&](const char* name) { return row[name].number(name); };
    EXPECT_EQ(std::llround(risk_score(value("capacity"), value("asked"), value("mean"), value("deviation"),
                                      value("margin"), value("sensitivity"))),
              row["score"].integer("score"))
        << row["name"].string("name");
    ++judged;
  }
  EXPECT_EQ(judged, 10);
}

TEST(TargetLoadPacking, AsksPrometheusForAllNodesInTheBackground) {
  Trimaran prometheus(0, {vector_of({{"a:9100", 20}, {"b", 60}}), vector_of({{"a", 60}, {"b", 20}})});
  const std::vector<NodeSpec> nodes{one_core("a"), one_core("b"), one_core("c")};
  EXPECT_EQ(prometheus.scores({}, nodes), (Scores{0, 0, 0})) << "nothing was read yet";
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, nodes), (Scores{70, 27, 0}));
  EXPECT_EQ(prometheus.scores({}, {one_core("c"), one_core("b"), one_core("a")}), (Scores{0, 27, 70})) << "other slots";
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, nodes), (Scores{27, 70, 0}));
  EXPECT_EQ(
      prometheus.server.requests,
      (std::vector<std::string>(2, "GET /api/v1/query?query=avg_over_time%28instance%3Anode_cpu%3Aratio%5B15m%5D%29")));
}

TEST(TargetLoadPacking, KeepsItsLastReadingWhenPrometheusFails) {
  Trimaran prometheus(
      0, {vector_of({{"node-1", 20}}), http::answer(503, R"({"status":"error","error":"out of memory"})")});
  prometheus.ask();
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, {one_core("node-1")}), Scores{70});
  EXPECT_EQ(prometheus.policy.host().log.back().message, "load of nodes: out of memory");
}

TEST(TargetLoadPacking, CountsPodsThatCameAfterTheReading) {
  Trimaran prometheus(0, {vector_of({{"node-1", 0}}), vector_of({{"node-1", 0}})});
  const std::vector<NodeSpec> nodes{one_core("node-1")};
  prometheus.pods.put(0, uses("before", 500));
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, nodes), Scores{40}) << "measured already";
  prometheus.pods.put(0, uses("after", 200));
  EXPECT_EQ(prometheus.scores({}, nodes), Scores{70});
  prometheus.pods.put(0, uses("after", 200), BERTH_PLACED_TERMINATING);
  EXPECT_EQ(prometheus.scores({}, nodes), Scores{70}) << "the same pod, changed";
  prometheus.pods.put(0, uses("before", 500), BERTH_PLACED_TERMINATING);
  EXPECT_EQ(prometheus.scores({}, nodes), Scores{70}) << "an old pod, changed";
  prometheus.cluster.now_ns += 90'000'000'000;
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, nodes), Scores{40}) << "the reading has it by now";
}

TEST(TargetLoadPacking, ForgetsPodsThatAreGone) {
  Trimaran prometheus(0, {vector_of({{"node-1", 0}})});
  prometheus.ask();
  EXPECT_EQ(prometheus.scores({}, {one_core("node-1")}), Scores{40});
  prometheus.pods.put(0, uses("short", 200));
  EXPECT_EQ(prometheus.scores({}, {one_core("node-1")}), Scores{70});
  prometheus.pods.take("short");
  EXPECT_EQ(prometheus.scores({}, {one_core("node-1")}), Scores{40});
}

TEST(TargetLoadPacking, PredictsByLimitThenByRequestThenByDefault) {
  Trimaran prometheus(
      0, {vector_of({{"node-1", 0}})},
      R"(, "targetUtilization": 50, "defaultRequestsMultiplier": "2", "defaultRequests": {"cpu": "300m"})");
  prometheus.ask();
  const auto score = [&](ContainerSpec container) {
    return prometheus.scores({.container_resources = {std::move(container)}}, {one_core("node-1")}).front();
  };
  EXPECT_EQ(score({.requests = {{"cpu", 100}}, .limits = {{"cpu", 400}}}), 90);
  EXPECT_EQ(score({.requests = {{"cpu", 100}}}), 70);
  EXPECT_EQ(score({}), 80);
  EXPECT_EQ(score({.requests = {{"cpu", 100}}, .kind = BERTH_CONTAINER_INIT}), 50);
}

TEST(Trimaran, RefusesWhatItCannotAskOrRead) {
  EXPECT_THROW(
      Policy(tested_library(), R"({"metricProvider": {"address": "https://prometheus"}})", FakeCluster::install),
      CallError);
  EXPECT_THROW(
      Policy(tested_library(), R"({"metricProvider": {"address": "http://p"}, "defaultRequestsMultiplier": "much"})",
             FakeCluster::install),
      CallError);
}

}  // namespace
