// SPDX-License-Identifier: Apache-2.0
// The samples of sdk/examples, built outside the tree, under `berth run` against the test API server.
#include "samples/sample_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_high_comm = R"("labels":{"high-comm":"true"})";
constexpr const char* k_has_rdma = R"({"metadata":{"labels":{"node.kubernetes.io/rdma-enabled":"true"}}})";
constexpr const char* k_had_rdma = R"({"metadata":{"labels":{"node.kubernetes.io/rdma-enabled":null}}})";
constexpr const char* k_no_rdma = "0/1 nodes are available: 1 Node does not support RDMA.";

TEST_F(SampleTest, HighCommPodFilterFollowsTheLabelsOfANode) {
  node("n");
  auto berth = start_sample("high_comm_pod_filter");
  pod("web");
  pod("training", k_high_comm);
  ASSERT_TRUE(lands("web", "n")) << berth->log();
  ASSERT_TRUE(waits_because("training", k_no_rdma)) << berth->log();
  patch("nodes", "", "n", k_has_rdma);
  ASSERT_TRUE(lands("training", "n")) << berth->log();
  patch("nodes", "", "n", k_had_rdma);
  ASSERT_TRUE(knows_the_nodes()) << berth->log();
  pod("next", k_high_comm);
  ASSERT_TRUE(waits_because("next", "0/2 nodes are available: 2 Node does not support RDMA.")) << berth->log();
  EXPECT_EQ(placements()["next"], "");
  end(*berth);
}

TEST_F(SampleTest, HighCommPodFilterStrictWantsTheLabelOnEveryPod) {
  node("n", R"("labels":{"rdma":"true"})");
  auto berth = start_sample("high_comm_pod_filter", "strict.yaml");
  pod("web");
  pod("training", k_high_comm);
  ASSERT_TRUE(lands("training", "n")) << berth->log();
  ASSERT_TRUE(waits_because("web", "0/1 nodes are available: 1 Pod does not have high-comm=true label."))
      << berth->log();
  patch("pods", "default", "web", R"({"metadata":{"labels":{"high-comm":"true"}}})");
  ASSERT_TRUE(lands("web", "n")) << berth->log();
  end(*berth);
}

TEST_F(SampleTest, HelloWorldPluginScoresAsItsArgsSay) {
  node("greets", R"("labels":{"example.com/greets":"123"})");
  node("silent", {}, "64");
  auto berth = start_sample("hello_world");
  pod("web");
  ASSERT_TRUE(lands("web", "greets")) << berth->log();
  EXPECT_NE(berth->log().find(R"(hello, world: xxx=\"example.com/greets\" yyy=\"123\" zzz=100)"), std::string::npos)
      << berth->log();
  end(*berth);
}

TEST_F(SampleTest, HelloWorldPluginDoesNotStartWithMisspeltArgs) {
  auto berth = start_sample("hello_world", "misspelt.yaml");
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find("unknown field \"YYY\" (did you mean \"yyy\"?)"), std::string::npos) << berth->log();
}

class PermitGateTest : public SampleTest {
 protected:
  void gate(const std::string& word) {
    patch("namespaces", "", "default", R"({"metadata":{"annotations":{"example.com/gate":")" + word + "\"}}}");
  }
  /// A pod that the gate holds.
  void start_and_park() {
    node("n");
    gate("wait");
    const std::uint16_t port = free_port();
    berth = start_sample("permit_gate", "berth.yaml", {},
                         {"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                          "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
    pod("web");
    ASSERT_TRUE(wait([&] {
      const auto [status, page] = fetch(port, "/debug/pods/default/web", "test-token");
      return status == 200 && text_at(json::parse(page), "/step") == "waits for permit";
    })) << berth->log();
    EXPECT_EQ(placements()["web"], "");
  }

  std::unique_ptr<ChildProcess> berth;
};

TEST_F(PermitGateTest, ApprovesAWaitingPodWhenItsNamespaceIsAnnotated) {
  ASSERT_NO_FATAL_FAILURE(start_and_park());
  gate("approve");
  ASSERT_TRUE(lands("web", "n")) << berth->log();
  end(*berth);
}

TEST_F(PermitGateTest, DeniesAWaitingPodAndTriesItAgainWhenTheGateOpens) {
  ASSERT_NO_FATAL_FAILURE(start_and_park());
  gate("deny");
  ASSERT_TRUE(waits_because("web", "1 the gate of namespace default is closed")) << berth->log();
  EXPECT_EQ(placements()["web"], "");
  gate("approve");
  ASSERT_TRUE(lands("web", "n")) << berth->log();
  end(*berth);
}

TEST_F(SampleTest, ReceiptBinderWritesAReceiptOnPodsThatAskForOne) {
  node("n");
  auto berth = start_sample("receipt_binder");
  pod("asks", R"("annotations":{"example.com/receipt":"please"})");
  pod("plain");
  ASSERT_TRUE(lands("asks", "n")) << berth->log();
  ASSERT_TRUE(lands("plain", "n")) << berth->log();
  const auto receipt = [&](const char* name) {
    return text_at(stored(name), "/metadata/annotations/example.com~1bound-to");
  };
  EXPECT_EQ(receipt("asks").substr(0, 7), "n at 20");
  EXPECT_EQ(receipt("plain"), "");
  // The receipt came first: an unbound pod was patched. The server lists a write after it has changed the store.
  std::vector<std::string> order;
  ASSERT_TRUE(wait([&] {
    order.clear();
    for (const ApiServer::Seen& write : server.writes())
      if (write.target.find("/pods/asks") != std::string::npos)
        order.push_back(write.target.ends_with("/binding") ? "binding" : write.method);
    return order.size() >= 2;
  }));
  EXPECT_EQ(order, (std::vector<std::string>{"PATCH", "binding"}));
  end(*berth);
}

TEST_F(SampleTest, PodDensityInRustFillsNodesEvenlyAndThenNoFurther) {
  node("big", {}, "64");
  node("small");
  auto berth = start_sample("rust_pod_density");
  for (const char* name : {"a", "b", "c", "d"}) pod(name);
  ASSERT_TRUE(wait([&] { return bound() == 4; })) << berth->log();
  std::map<std::string, int> count;
  for (const auto& [name, node_name] : placements()) ++count[node_name];
  EXPECT_EQ(count, (std::map<std::string, int>{{"big", 2}, {"small", 2}}));
  pod("e");
  ASSERT_TRUE(waits_because("e", "0/2 nodes are available: 2 node(s) had as many pods as they should."))
      << berth->log();
  server.store().remove(pods(), "default", "a", json::parse(R"({"gracePeriodSeconds":0})"));
  ASSERT_TRUE(wait([&] { return !placements()["e"].empty(); })) << berth->log();
  end(*berth);
}

}  // namespace
}  // namespace berth::tests
