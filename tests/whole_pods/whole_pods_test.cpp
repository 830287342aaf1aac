// SPDX-License-Identifier: Apache-2.0
// Plugins that ask for whole pods get them, from files and from an API server.
#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_profile =
    "profiles:\n  - schedulerName: default-scheduler\n    plugins:\n      filter:\n        enabled:\n"
    "          - name: tests.example.com/Hostnames\n";

std::string node(const std::string& name, const std::string& host) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"(","labels":{"example.com/host":")" +
         host + R"("}},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}})";
}
std::string pod(const std::string& name, const std::string& host) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"hostname":")" + host +
         R"(","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}})";
}

class WholePods : public RunTest {
 protected:
  std::string configuration(const std::string& more) {
    return directory.write(
        "berth.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + more + k_profile);
  }
  void expect_from_a_server(const std::string& content_type) {
    for (const char* host : {"a", "b", "c"}) server.create(node(std::string("node-") + host, host));
    const std::string config = configuration("clientConnection: {kubeconfig: \"" + kubeconfig +
                                             "\", qps: -1, contentType: " + content_type + "}\n");
    server.create(pod("listed", "b"));
    auto berth = start({"--leader-elect=false", "--config", config});
    ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
    server.create(pod("watched", "c"));
    server.create(pod("nowhere", "d"));
    ASSERT_TRUE(wait([&] { return bound() == 2 && !text_at(stored("nowhere"), "/status/conditions/0/type").empty(); }))
        << berth->log();
    EXPECT_EQ(placements(),
              (std::map<std::string, std::string>{{"listed", "node-b"}, {"watched", "node-c"}, {"nowhere", ""}}));
    EXPECT_NE(text_at(stored("nowhere"), "/status/conditions/0/message").find("3 node(s) had another host name"),
              std::string::npos);
    berth->signal(SIGTERM);
    EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  }
};

TEST_F(WholePods, ComeFromFiles) {
  const std::string cluster = directory.write(
      "cluster.yaml", node("node-a", "a") + "\n---\n" + node("node-b", "b") + "\n---\n" + pod("p", "b") + "\n---\n" +
                          pod("q", "a") + "\n---\n" + pod("nowhere", "d") + "\n");
  ChildProcess berth({variable("BERTH"), "simulate", "--cluster", cluster, "--config", configuration(""),
                      "--plugin-dir", variable("BERTH_PLUGIN_DIR"), "--decisions", directory.path() + "/out"},
                     directory.path() + "/log");
  ASSERT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
  std::map<std::string, std::string> placed;
  const json::value decisions = json::parse(output());
  for (const json::value& decision : decisions.at("decisions").as_array())
    placed[text_at(decision, "/pod")] = text_at(decision, "/node");
  EXPECT_EQ(placed, (std::map<std::string, std::string>{
                        {"default/p", "node-b"}, {"default/q", "node-a"}, {"default/nowhere", ""}}))
      << output();
}

TEST_F(WholePods, ComeFromAServerAsJson) { expect_from_a_server("application/json"); }

TEST_F(WholePods, ComeFromAServerAsProtobuf) { expect_from_a_server("application/vnd.kubernetes.protobuf"); }

}  // namespace
}  // namespace berth::tests
