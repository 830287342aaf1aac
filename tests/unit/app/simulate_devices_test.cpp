// SPDX-License-Identifier: Apache-2.0
// `berth simulate` on a cluster with device claims: what an operator is shown.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "app/commands/simulate_command.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr const char* k_cluster = R"(
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: on-a}
spec:
  driver: gpu.example.com
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  nodeName: a
  devices: [{name: gpu-0}, {name: gpu-1, taints: [{key: broken, effect: NoSchedule}]}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: default}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]
---
apiVersion: v1
kind: Pod
metadata: {name: first, namespace: default}
spec:
  priority: 10
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: c, resources: {claims: [{name: gpu}]}}]
---
apiVersion: v1
kind: Pod
metadata: {name: second, namespace: default}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: c, resources: {claims: [{name: gpu}]}}]
)";

class SimulateDevices : public ::testing::TestWithParam<bool> {
 protected:
  SimulateDevices() : folder_(::testing::TempDir() + "simulate-devices-" + (GetParam() ? "pass" : "full")) {
    std::ofstream(folder_ + ".yaml") << k_cluster;
  }
  std::string run(const std::string& output, const std::string& explain = {}, const std::string& decisions = {}) {
    SimulateOptions options;
    options.cluster = {folder_ + ".yaml"};
    options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
    options.single_pass = GetParam();
    options.output = output;
    options.explain = explain;
    options.decisions = decisions;
    std::ostringstream out, err;
    EXPECT_EQ(run_simulate(options, out, err), 0) << err.str();
    return out.str();
  }
  const std::string folder_;
};
INSTANTIATE_TEST_SUITE_P(Runs, SimulateDevices, ::testing::Bool(),
                         [](const auto& run) { return run.param ? "SinglePass" : "Simulation"; });

TEST_P(SimulateDevices, AreShownWithTheClaimsThatHaveThem) {
  const std::string text = run("table");
  for (const char* part : {"2 nodes, 2 pods: 1 placed, 1 pending", "CLAIMS (2)", "pending", "gpu.example.com/a/gpu-0",
                           "DEVICES (2)", "a     gpu.example.com  a     █████░░░░░  50% 1/2     0        1"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST_P(SimulateDevices, AreInTheOutputForPrograms) {
  text::Diagnostics problems;
  const auto documents = text::parse_json(run("json"), "json", problems);
  ASSERT_EQ(documents.size(), 1u) << problems.render();
  const text::Value& root = documents[0].root();
  ASSERT_EQ(root.find("claims")->elements().size(), 2u);
  std::string states;
  for (const text::Value& claim : root.find("claims")->elements()) {
    EXPECT_TRUE(claim.find("name")->text().starts_with("first-gpu-") ||
                claim.find("name")->text().starts_with("second-gpu-"));
    states += std::string(claim.find("state")->text()) + ',';
    if (claim.find("state")->text() == "in use") {
      EXPECT_EQ(text::to_json(*claim.find("devices")),
                R"([{"request":"gpu","driver":"gpu.example.com","pool":"a","device":"gpu-0"}])");
      EXPECT_EQ(text::to_json(*claim.find("reservedFor")), R"(["first"])");
    }
  }
  EXPECT_EQ(states, "in use,pending,");
  for (const text::Value& pod : root.find("pods")->elements()) {
    ASSERT_NE(pod.find("claims"), nullptr) << text::to_json(pod);
    EXPECT_TRUE(pod.find("claims")->elements()[0].text().starts_with(std::string(pod.find("name")->text()) + "-gpu-"));
  }
  EXPECT_EQ(root.find("devices")->find("allocated")->integer(), 1);
  EXPECT_EQ(root.find("devices")->find("tainted")->integer(), 1);
}

TEST_P(SimulateDevices, AreInTheRecordsOfDecisions) {
  const std::string file = folder_ + ".json";
  run("table", "", file);
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  text::Diagnostics problems;
  const auto documents = text::parse_json(text.str(), "decisions", problems);
  ASSERT_EQ(documents.size(), 1u) << problems.render();
  for (const text::Value& decision : documents[0].root().find("decisions")->elements()) {
    ASSERT_NE(decision.find("claims"), nullptr) << text::to_json(decision);
    const bool is_first = decision.find("pod")->text() == "default/first";
    EXPECT_EQ(decision.find("claims")->elements()[0].find("allocation") != nullptr, is_first)
        << text::to_json(decision);
    EXPECT_EQ(text::to_json(decision).find("details"), std::string::npos) << "they are for one pod";
  }
}

TEST_P(SimulateDevices, ThatKeepAPodWaitingAreExplained) {
  const std::string text = run("table", "default/second");
  for (const char* part : {"cannot allocate all claims", "IN DETAIL", "request gpu: in use",
                           "request gpu: tainted broken:NoSchedule", "request gpu: the node has no devices"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  const std::string json = run("json", "default/second");
  EXPECT_NE(json.find(R"("details":[{"text":"claim default/second-gpu-)"), std::string::npos) << json;
}

}  // namespace
}  // namespace berth::app
