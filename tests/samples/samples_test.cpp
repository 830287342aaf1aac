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
  pod("next", k_high_comm);
  ASSERT_TRUE(waits_because("next", k_no_rdma)) << berth->log();
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
  EXPECT_NE(berth->log().find(R"(hello, world: xxx="example.com/greets" yyy="123" zzz=100)"), std::string::npos)
      << berth->log();
  end(*berth);
}

TEST_F(SampleTest, HelloWorldPluginDoesNotStartWithMisspeltArgs) {
  auto berth = start_sample("hello_world", "misspelt.yaml");
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find("unknown field \"YYY\" (did you mean \"yyy\"?)"), std::string::npos) << berth->log();
}

}  // namespace
}  // namespace berth::tests
