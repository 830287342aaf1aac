// SPDX-License-Identifier: Apache-2.0
#include "berth/testkit/real_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace berth::testkit {
namespace {

using namespace std::chrono_literals;

const std::string k_plugins = BERTH_BINARY_DIR "/plugins";
constexpr const char* k_nodes = R"(
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "1", memory: 4Gi, pods: "110"}}}
  - apiVersion: v1
    kind: Node
    metadata: {name: large}
    spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}]}
    status: {allocatable: {cpu: "8", memory: 4Gi, pods: "110"}}
)";

std::string pod(const std::string& name, const std::string& cpu, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: default}\nspec:\n" + more +
         "  containers: [{name: c, image: i, resources: {requests: {cpu: \"" + cpu + "\"}}}]\n";
}

TEST(RealHost, ManyPluginsDecideTogether) {
  RealHost host({{}, k_plugins, 0});
  host.apply(k_nodes);
  host.apply(pod("a", "500m"));
  host.apply(pod("b", "2"));
  host.advance();
  const auto decisions = host.take_decisions();
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].pod, "default/a");
  EXPECT_EQ(decisions[0].node, "small");
  EXPECT_EQ(decisions[0].evaluated_nodes, 2u);
  EXPECT_EQ(decisions[0].feasible_nodes, 1u);
  EXPECT_NE(decisions[0].json.find("\"pod\":\"default/a\""), std::string::npos) << decisions[0].json;
  EXPECT_EQ(decisions[1].node, "");
  EXPECT_EQ(decisions[1].message, "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).");
  EXPECT_NE(decisions[1].post_filter_message.find("Preemption is not helpful"), std::string::npos);
  EXPECT_EQ(host.node_of("default", "a"), "small");
  EXPECT_EQ(host.node_of("default", "b"), "");
  EXPECT_EQ(host.node_of("default", "c"), std::nullopt);
}

TEST(RealHost, APodIsTriedAgainWhenANodeComes) {
  RealHost host({{}, k_plugins, 0});
  host.apply(k_nodes);
  host.apply(pod("b", "4"));
  host.advance();
  ASSERT_EQ(host.take_decisions().size(), 1u);
  host.advance(3s);
  EXPECT_TRUE(host.take_decisions().empty()) << "nothing has changed";
  host.apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"new"},
                 "status":{"allocatable":{"cpu":"8","memory":"4Gi","pods":"110"}}})");
  host.advance();
  const auto decisions = host.take_decisions();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].node, "new");
  EXPECT_EQ(decisions[0].wall_ns, 1'767'225'603'000'000'000);
}

TEST(RealHost, WhatIsRemovedIsGone) {
  RealHost host({{}, k_plugins, 0});
  host.apply(k_nodes);
  EXPECT_TRUE(host.remove("nodes", "", "small"));
  EXPECT_FALSE(host.remove("nodes", "", "small"));
  host.apply(pod("a", "500m"));
  EXPECT_FALSE(host.remove("pods", "other", "a"));
  host.advance();
  EXPECT_EQ(host.take_decisions().at(0).node, "");
  EXPECT_TRUE(host.remove("pods", "default", "a"));
  EXPECT_EQ(host.node_of("default", "a"), std::nullopt);
}

TEST(RealHost, AConfigurationNamesPluginsAndProfiles) {
  RealHost::Options options{R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}
)",
                            k_plugins, 0};
  RealHost host(options);
  host.apply(k_nodes);
  host.apply(pod("a", "2"));
  host.advance();
  EXPECT_EQ(host.take_decisions().at(0).node, "large");
}

template <typename Step>
std::string error_of(Step&& step) {
  try {
    step();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(RealHost, ErrorsSayWhatIsWrongAndWhere) {
  EXPECT_NE(error_of([] { RealHost host({"kind: Nonsense", k_plugins, 0}); }).find("configuration"), std::string::npos);
  EXPECT_NE(error_of([] { RealHost host({{}, "/nowhere", 0}); }).find("/nowhere"), std::string::npos);
  RealHost host({{}, k_plugins, 0});
  const std::string wrong = error_of([&] { host.apply(std::string(k_nodes) + "---\n" + pod("a", "many")); });
  EXPECT_NE(wrong.find("many"), std::string::npos) << wrong;
  EXPECT_FALSE(host.remove("nodes", "", "small")) << "nothing of it is taken";
  EXPECT_NE(error_of([&] { host.advance(-1s); }).find("back"), std::string::npos);
}

TEST(RealHost, OptionsOfAnotherVersionAreRefused) {
  berth_real_host_options options{};
  char* error = nullptr;
  EXPECT_EQ(berth_real_host_new(&options, &error), nullptr);
  EXPECT_STREQ(error, "options are of another version of the library");
  berth_real_host_free_text(error);
  EXPECT_EQ(berth_real_host_new(nullptr, nullptr), nullptr);
}

}  // namespace
}  // namespace berth::testkit
