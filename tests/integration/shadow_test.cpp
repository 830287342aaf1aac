// SPDX-License-Identifier: Apache-2.0
// `berth run --shadow` while another scheduler binds: it writes nothing, and says which decisions differ and why.
#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

class ShadowRun : public RunTest {
 protected:
  void create_nodes(int count) {
    for (int i = 0; i < count; ++i) server.create(node_json(i, 4));
  }
  /// As the scheduler in charge does.
  void bind(const std::string& pod, int node) {
    const auto bound = server.store().bind(
        "default", pod, json::parse(R"({"target":{"kind":"Node","name":"n)" + std::to_string(node) + "\"}}"));
    ASSERT_TRUE(bound.ok()) << pod;
  }
  /// A pod that is on its node before the shadow begins.
  void create_bound(const std::string& name, const std::string& cpu, int node) {
    server.create(pod_json(name, cpu));
    bind(name, node);
  }
  std::unique_ptr<ChildProcess> start_shadow(std::vector<std::string> more = {}, const std::string& log = "log") {
    more.insert(more.end(), {"--shadow", "-v=2"});
    auto berth = start(more, log);
    EXPECT_TRUE(wait([&] { return berth->log().find("Shadow mode: repeating") != std::string::npos; })) << berth->log();
    return berth;
  }
  /// A pod that is seen waiting, and then bound.
  void decide(const ChildProcess& berth, const std::string& name, const std::string& cpu, int node) {
    server.create(pod_json(name, cpu));
    bind(name, node);
    ASSERT_TRUE(wait([&] {
      return berth.log().find("Decided again what the scheduler in charge has decided\" pod=\"default/" + name +
                              "\"") != std::string::npos;
    })) << berth.log();
  }
  /// What it prints at its end.
  std::string end(ChildProcess& berth) {
    berth.signal(SIGTERM);
    EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
    return berth.log();
  }
  json::value end_as_json(ChildProcess& berth) {
    const std::string log = end(berth);
    const std::size_t at = log.find("{\"seconds\":");
    EXPECT_NE(at, std::string::npos) << log;
    return at == std::string::npos ? json::value(nullptr) : json::parse(log.substr(at, log.find('\n', at) - at));
  }
  static std::int64_t results(const json::value& report, const std::string& name) {
    return report.at_pointer("/results/" + name).as_int64();
  }
  static const json::value& difference(const json::value& report, const std::string& pod) {
    for (const json::value& each : report.at("differences").as_array())
      if (each.at("pod").as_string() == "default/" + pod) return each;
    static const json::value none = json::parse(R"({"result":"there is none","plugin":"","why":"","nodeHere":""})");
    return none;
  }
};

TEST_F(ShadowRun, SaysWhichDecisionsDifferAndWhy) {
  create_nodes(4);
  create_bound("old", "2", 0);
  auto berth = start_shadow({"-o", "json"});
  decide(*berth, "equal", "1", 1);     // as good as nodes 2 and 3
  decide(*berth, "worse", "500m", 0);  // the fullest
  decide(*berth, "large", "3", 0);     // has no room there
  decide(*berth, "first", "2", 2);
  decide(*berth, "second", "2", 2);  // as if the first were not there yet
  const json::value report = end_as_json(*berth);
  EXPECT_EQ(report.at("compared").as_int64(), 5) << json::serialize(report);
  EXPECT_EQ(results(report, "same") + results(report, "tie"), 2) << json::serialize(report);
  EXPECT_EQ(difference(report, "worse").at("result").as_string(), "unexplained") << json::serialize(report);
  EXPECT_EQ(difference(report, "worse").at("plugin").as_string(), "NodeResourcesFit") << json::serialize(report);
  EXPECT_EQ(difference(report, "large").at("result").as_string(), "rejected") << json::serialize(report);
  EXPECT_NE(difference(report, "large").at("why").as_string().find("Insufficient cpu"), std::string::npos)
      << json::serialize(report);
  EXPECT_EQ(difference(report, "second").at("result").as_string(), "race") << json::serialize(report);
  EXPECT_GT(report.at("scoreLost").as_int64(), 0);
  EXPECT_TRUE(server.writes().empty());
  EXPECT_TRUE(lease().is_null());
}

TEST_F(ShadowRun, SamplesExplainNodesThatAreBetterThanAsManyAsASampleHas) {
  create_nodes(150);
  for (int i = 0; i < 110; ++i) create_bound("old-" + std::to_string(i), "2", i);
  auto berth = start_shadow({"-o", "json"});
  decide(*berth, "sampled", "1", 5);
  EXPECT_EQ(difference(end_as_json(*berth), "sampled").at("result").as_string(), "sampling");
  const std::string config = directory.write(
      "config.yaml",
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 100\n"
      "clientConnection: {kubeconfig: " +
          kubeconfig + ", qps: -1}\n");
  auto next = start_shadow({"-o", "json", "--config", config}, "next-log");
  decide(*next, "whole", "1", 6);
  EXPECT_EQ(difference(end_as_json(*next), "whole").at("result").as_string(), "unexplained");
}

TEST_F(ShadowRun, PrintsAReportForPeopleAndServesMetrics) {
  create_nodes(3);
  create_bound("old", "2", 0);
  const std::uint16_t port = free_port();
  auto berth = start_shadow({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                             "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  server.create(pod_json("pending", "1"));
  decide(*berth, "large", "3", 0);
  const auto [status, metrics] = fetch(port, "/metrics", "test-token");
  EXPECT_EQ(status, 200);
  EXPECT_NE(metrics.find("berth_shadow_waiting_differences 1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("berth_shadow_queued_pods 1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("berth_shadow_queued_pods_left_out_total 0\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("berth_shadow_decisions_total{result=\"same\"} 0\n"), std::string::npos) << metrics;
  const std::string log = end(*berth);
  EXPECT_NE(log.find("1 decision of the scheduler in charge"), std::string::npos) << log;
  EXPECT_NE(log.find("default/large"), std::string::npos) << log;
  EXPECT_NE(log.find("NodeResourcesFit: Insufficient cpu"), std::string::npos) << log;
  for (const ApiServer::Seen& write : server.writes())
    EXPECT_NE(write.target.find("reviews"), std::string::npos) << write.target;  // who asks for metrics
}

TEST_F(ShadowRun, APodThatHadANodeWhenItWasSeenFirstIsNotCompared) {
  create_nodes(3);
  auto berth = start_shadow({"-o", "json"});
  std::string placed = pod_json("static", "1");
  placed.insert(placed.find("\"containers\""), "\"nodeName\":\"n1\",");
  server.create(placed);
  decide(*berth, "usual", "1", 2);
  const json::value report = end_as_json(*berth);
  EXPECT_EQ(report.at("notSeenBefore").as_int64(), 1) << json::serialize(report);
  EXPECT_EQ(report.at("compared").as_int64(), 1) << json::serialize(report);
}

}  // namespace
}  // namespace berth::tests
