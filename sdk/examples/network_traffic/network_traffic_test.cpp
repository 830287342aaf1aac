// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

#include "../http_client/test_server.hpp"
#include "readings.hpp"

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;

/// What Prometheus answers to an instant query.
std::string vector_of(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string series;
  for (const auto& [node, value] : values)
    series += (series.empty() ? "" : ",") +
              (R"({"metric":{"node":")" + node + R"("},"value":[1769945400.1,")" + value + "\"]}");
  return R"({"status":"success","data":{"resultType":"vector","result":[)" + series + "]}}";
}

std::int64_t now_ns = 0;
std::function<void()> task;

/// What is submitted runs at once; what runs every few seconds runs when the test says so.
void install(FakeHost& host) {
  FakeCluster::install(host);
  static const berth_executor_v1 executor{
      sizeof executor,
      0,
      [](void*, void (*run)(void*), void* arg) -> berth_code { return run(arg), BERTH_OK; },
      nullptr,
      [](void*, std::uint32_t, std::uint32_t, void (*run)(void*), void* arg, std::uint64_t*) -> berth_code {
        return task = [=] { run(arg); }, BERTH_OK;
      },
      nullptr};
  static const berth_clock_v1 clock{sizeof clock, 0, [](void*) { return now_ns; }, nullptr};
  now_ns = 1'000'000'000'000;
  host.extra_services["berth.executor/1"] = &executor;
  host.extra_services["berth.clock/1"] = &clock;
}

class NetworkTraffic : public testing::Test {
 protected:
  void start(std::deque<std::string> answers, const std::string& more = "") {
    server = std::make_unique<http::TestServer>(std::move(answers));
    policy = std::make_unique<Policy>(tested_library(),
                                      R"({"nodeLabel": "node", "networkInterface": "eth0",
        "timeoutMilliseconds": 5000, "prometheusAddress": ")" +
                                          server->address() + "\"" + more + "}",
                                      &install);
  }
  Scores scores(const std::vector<NodeSpec>& nodes = {{.name = "a"}, {.name = "b"}, {.name = "c"}},
                bool prepares = true) {
    Attempt attempt(*policy, {}, FakeCluster::of(*policy).nodes = nodes);
    if (prepares) attempt.pre_score();
    return attempt.normalized();
  }
  std::string error() {
    try {
      scores();
    } catch (const CallError& problem) {
      return problem.what();
    }
    return "no error";
  }

  std::unique_ptr<http::TestServer> server;
  std::unique_ptr<Policy> policy;
};

TEST_F(NetworkTraffic, PrefersNodesWithLittleTraffic) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"b", "1000.4"}, {"c", "0"}}))});
  EXPECT_EQ(scores(), (Scores{0, 75, 100}));
  EXPECT_EQ(policy->host().log.back().message, "bandwidth by node, raw and final: a 4000 0, b 1000 75, c 0 100");
}

TEST_F(NetworkTraffic, ScoresAlikeInProfilesWithoutItsPreScore) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"b", "1000.4"}, {"c", "0"}}))});
  EXPECT_EQ(scores({{.name = "a"}, {.name = "b"}, {.name = "c"}}, false), (Scores{0, 75, 100}));
}

TEST_F(NetworkTraffic, KnowsNodesThatTookThePlaceOfOthersAndReadingsThatAreNew) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"b", "1000"}, {"c", "0"}})),
         http::answer(200, vector_of({{"a", "4000"}, {"b", "4000"}, {"c", "2000"}}))});
  EXPECT_EQ(scores(), (Scores{0, 75, 100}));
  EXPECT_EQ(scores({{.name = "c"}, {.name = "a"}, {.name = "b"}}), (Scores{100, 0, 75}));
  task();
  EXPECT_EQ(scores({{.name = "c"}, {.name = "a"}, {.name = "b"}}), (Scores{50, 0, 0}));
}

TEST_F(NetworkTraffic, GivesAllThe100WhereNothingArrivesAnywhere) {
  start({http::answer(200, vector_of({{"a", "0"}, {"b", "0"}, {"c", "0"}}))});
  EXPECT_EQ(scores(), (Scores{100, 100, 100}));
}

TEST_F(NetworkTraffic, AsksForAllNodesAtOnce) {
  start({http::answer(200, vector_of({}))}, R"(, "timeRangeInMinutes": 7)");
  EXPECT_EQ(server->requests,
            std::vector<std::string>{
                "GET /api/v1/query?query=sum%20by%20%28node%29%20%28rate%28node_network_receive_bytes_total"
                "%7Bdevice%3D%22eth0%22%7D%5B7m%5D%29%29"});
}

TEST_F(NetworkTraffic, FailsThePodWhereANodeHasNoReading) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"c", "NaN"}}))});
  EXPECT_EQ(error(), "error getting node bandwidth measure: no reading for node b");
}

TEST_F(NetworkTraffic, IsNeutralAboutANodeWithoutAReadingIfToldTo) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"b", "1000"}}))}, R"(, "withoutReading": "Neutral")");
  EXPECT_EQ(scores(), (Scores{0, 75, 50}));
}

TEST_F(NetworkTraffic, WorksWithTheLastAnswerUntilItIsStale) {
  start({http::answer(200, vector_of({{"a", "4000"}, {"b", "1000"}, {"c", "0"}})), http::answer(503, "busy")},
        R"(, "staleAfterSeconds": 60)");
  now_ns += 60'000'000'000;
  task();
  EXPECT_EQ(scores(), (Scores{0, 75, 100}));
  now_ns += 1;
  EXPECT_EQ(error(), "error getting node bandwidth measure: HTTP 503");
}

TEST_F(NetworkTraffic, SaysWhatPrometheusSaid) {
  start({http::answer(400, R"({"status":"error","errorType":"bad_data","error":"parse error"})")});
  EXPECT_EQ(error(), "error getting node bandwidth measure: parse error");
  policy = std::make_unique<Policy>(
      tested_library(), R"({"networkInterface": "eth0", "prometheusAddress": "http://127.0.0.1:1"})", &install);
  EXPECT_EQ(error(), "error getting node bandwidth measure: 127.0.0.1:1: Connection refused");
}

TEST(NetworkTrafficQuery, QuotesTheInterface) {
  EXPECT_EQ(network_traffic::query_text("node", R"(a"b\c)", 5),
            R"(sum by (node) (rate(node_network_receive_bytes_total{device="a\"b\\c"}[5m])))");
}

TEST(NetworkTrafficAnswer, MustBeAVector) {
  EXPECT_THROW(
      network_traffic::parse_answer(R"({"status":"success","data":{"resultType":"matrix","result":[]}})", "node"),
      std::runtime_error);
  EXPECT_THROW(network_traffic::parse_answer("[]", "node"), std::runtime_error);
}

}  // namespace
