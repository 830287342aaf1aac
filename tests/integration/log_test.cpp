// SPDX-License-Identifier: Apache-2.0
// What `berth run` says about its decisions, and from which verbosity on.
#include "integration/serving_fixture.hpp"

namespace berth::tests {
namespace {

class Verbosity : public RunTest, public testing::WithParamInterface<int> {
 protected:
  struct Line {
    int verbosity;
    const char* file;
    std::string text;
  };
  /// A line for each verbosity, or two.
  const std::vector<Line> lines_ = {
      {2, "binding_cycle.cpp", R"("Successfully bound pod to node" pod="default/p0" node="n)"},
      {2, "binding_cycle.cpp", R"(evaluatedNodes=3 feasibleNodes=3)"},
      {2, "failure_handler.cpp",
       R"("Unable to schedule pod; no fit; waiting" pod="default/huge" err="0/3 nodes are available: 3 Insufficient )"},
      {3, "scheduler.cpp", R"("Attempting to schedule pod" pod="default/p0")"},
      {3, "ingest.cpp", R"("Add event for unscheduled pod" pod="default/huge")"},
      {3, "ingest.cpp", R"("Add event for node" node="n1")"},
      {3, "failure_handler.cpp",
       R"("Updating pod condition and nominated node name" pod="default/huge" conditionType="PodScheduled")"},
      {4, "ingest.cpp", R"("Update event for unscheduled pod" pod="default/huge")"},
      {5, "queue_core.cpp",
       R"("Pod moved to an internal scheduling queue" pod="default/p0" event="UnschedulablePodAdd" queue="Active")"},
      {10, "score_log.cpp", R"("Plugin scored node for pod" pod="default/p0" plugin="NodeResourcesFit" node="n)"},
      {10, "score_log.cpp", R"("Calculated node's final score for pod" pod="default/p0" node="n)"}};
};

TEST_P(Verbosity, AddsTheLinesThatUpstreamHasThereAndNoOthers) {
  for (int i = 0; i < 3; ++i) server.create(node_json(i, 4));
  server.create(pod_json("p0", "100m"));
  server.create(pod_json("huge", "100"));
  auto berth = start({"-v", std::to_string(GetParam())});
  const auto missing = [&] {
    std::string out;
    for (const Line& line : lines_)
      if (line.verbosity <= GetParam() && berth->log().find(line.text) == std::string::npos) out += line.text + "\n";
    return out;
  };
  EXPECT_TRUE(wait([&] { return missing().empty(); })) << missing() << "in\n" << berth->log();
  const std::string log = berth->log();
  for (const Line& line : lines_) {
    const std::size_t at = log.find(line.text);
    EXPECT_EQ(at == std::string::npos, line.verbosity > GetParam()) << line.text << " in\n" << log;
    if (at == std::string::npos) continue;
    const std::size_t start = log.rfind('\n', at) + 1;
    EXPECT_EQ(log[start], 'I');
    EXPECT_NE(log.substr(start, at - start).find(std::string(" ") + line.file + ":"), std::string::npos)
        << log.substr(start, at - start);
  }
}

INSTANTIATE_TEST_SUITE_P(Log, Verbosity, testing::Values(1, 2, 3, 4, 5, 9, 10), testing::PrintToStringParamName());

using Log = ServingTest;

TEST_F(Log, AMoreTalkativeLogSaysWhatIsRunWhatIsBoundAndWhoAsked) {
  auto berth = start_serving({"-v", "3"});
  get("/metrics");
  EXPECT_NE(berth->log().find("\"Using component config\" config=<\n\tapiVersion: kubescheduler.config.k8s.io/v1\n\t"),
            std::string::npos)
      << berth->log();
  EXPECT_NE(berth->log().find("\"Successfully bound pod to node\" pod=\"default/p0\" node=\"n"), std::string::npos)
      << berth->log();
  EXPECT_TRUE(wait([&] {
    return berth->log().find("\"HTTP\" verb=\"GET\" URI=\"/metrics\" latency=") != std::string::npos;
  })) << berth->log();
}

TEST_F(Log, SingleFilesMayBeMoreTalkative) {
  auto berth = start_serving({"--vmodule=binding_*=3"});
  EXPECT_TRUE(wait([&] { return berth->log().find("\"Attempting to bind pod to node\"") != std::string::npos; }))
      << berth->log();
  EXPECT_EQ(berth->log().find("Attempting to schedule pod"), std::string::npos) << berth->log();
  // The whole program, from now on.
  EXPECT_EQ(fetch(port_, "/debug/flags/v", "test-token", net::Method::put, "3").first, 200);
  server.create(pod_json("later", "100m"));
  EXPECT_TRUE(wait([&] {
    return berth->log().find("\"Attempting to schedule pod\" pod=\"default/later\"") != std::string::npos;
  })) << berth->log();
}

}  // namespace
}  // namespace berth::tests
