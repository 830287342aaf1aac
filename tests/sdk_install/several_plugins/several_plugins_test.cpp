// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/real_host.hpp>

#include <map>

namespace {

// Neither of the two alone puts three pods on one node and the rest on the other.
constexpr const char* k_configuration = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    plugins:
      multiPoint:
        disabled: [{name: "*"}]
        enabled:
          - {name: PrioritySort}
          - {name: DefaultBinder}
          - {name: test.example/FewPods}
          - {name: test.example/MostPods}
    pluginConfig:
      - {name: test.example/FewPods, args: {maxPods: 3}}
)";

std::string node(const std::string& name) {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
         "}\nstatus: {allocatable: {cpu: \"8\", memory: 8Gi, pods: \"110\"}}\n";
}

std::string pod(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         ", namespace: default}\nspec: {containers: [{name: c, image: i}]}\n";
}

TEST(SeveralPlugins, OneFillsNodesUntilTheOtherRejectsThem) {
  berth::testkit::RealHost host({k_configuration, PLUGIN_DIRECTORY, 0});
  host.apply(node("a"));
  host.apply(node("b"));
  for (int i = 0; i < 7; ++i) host.apply(pod("p" + std::to_string(i)));
  host.advance();
  std::map<std::string, int> placed;
  const auto decisions = host.take_decisions();
  for (const auto& decision : decisions) ++placed[decision.node];
  EXPECT_EQ(placed, (std::map<std::string, int>{{"", 1}, {"a", 3}, {"b", 3}}));
  ASSERT_EQ(decisions.size(), 7u);
  EXPECT_EQ(decisions[0].node, decisions[2].node);
  EXPECT_EQ(decisions[6].message, "0/2 nodes are available: 2 node(s) had many pods.");

  ASSERT_TRUE(host.remove("pods", "default", "p0"));
  host.advance(std::chrono::seconds(10));
  const auto later = host.take_decisions();
  ASSERT_EQ(later.size(), 1u) << "the pod that waits is tried again";
  EXPECT_EQ(later[0].pod, "default/p6");
  EXPECT_NE(later[0].node, "");
}

}  // namespace
