// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "integration/run_fixture.hpp"

namespace berth::tests {

/// `berth run` with a sample that its README has built: the plugin directory and the manifests lie where the script
/// left them.
class SampleTest : public RunTest {
 protected:
  /// `sample` is the folder's name. Placeholders of the configuration are replaced, each of which has to occur.
  std::unique_ptr<ChildProcess> start_sample(const std::string& sample, const std::string& configuration = "berth.yaml",
                                             const std::map<std::string, std::string>& placeholders = {},
                                             const std::vector<std::string>& flags = {}) {
    const std::string scratch = variable("BERTH_SAMPLES") + "/" + sample;
    plugin_dir = scratch + "/loaded";
    std::ifstream in(scratch + "/" + sample + "/" + configuration);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    replace(text, "kind: KubeSchedulerConfiguration\n",
            "kind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\nclientConnection: {qps: -1, "
            "kubeconfig: " +
                kubeconfig + "}\n");
    for (const auto& [from, to] : placeholders) replace(text, from, to);
    std::vector<std::string> arguments{"--config", directory.write(configuration, text)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return start(arguments);
  }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " does not occur in\n" << text;
    text.replace(at, from.size(), to);
  }

  /// Metadata is JSON without the braces: "labels":{…}.
  void node(const std::string& name, const std::string& metadata = {}, const std::string& cpu = "4") {
    server.create(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + "\"" + with(metadata) +
                  R"(},"status":{"allocatable":{"cpu":")" + cpu + R"(","memory":"16Gi","pods":"110"}}})");
  }
  void pod(const std::string& name, const std::string& metadata = {}, const std::string& spec = {}) {
    server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default")" +
                  with(metadata) + R"(},"spec":{"containers":[{"name":"c","image":"i"}])" + with(spec) + "}}");
  }
  /// ns is empty for cluster-wide objects.
  void patch(const char* plural, const std::string& ns, const std::string& name, const std::string& merge_patch) {
    const auto patched =
        server.store().patch(*server.store().find("", "v1", plural), ns, name, json::parse(merge_patch), false, false);
    ASSERT_TRUE(patched.ok()) << patched.refusal.message;
  }
  bool waits_because(const std::string& pod_name, const std::string& reason) {
    return wait(
        [&] { return text_at(stored(pod_name), "/status/conditions/0/message").find(reason) != std::string::npos; });
  }
  bool lands(const std::string& pod_name, const std::string& node_name) {
    return wait([&] { return placements()[pod_name] == node_name; });
  }
  /// Pods and nodes come to berth by different ways. A node that is created now comes after all that was changed
  /// before, so when a pod has been bound to it, berth knows the rest.
  bool knows_the_nodes() {
    node("canary", R"("labels":{"canary":"yes"})");
    pod("canary", {}, R"("nodeSelector":{"canary":"yes"})");
    return lands("canary", "canary");
  }
  void end(ChildProcess& berth) {
    berth.signal(SIGTERM);
    EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
  }

 private:
  static std::string with(const std::string& metadata) { return metadata.empty() ? metadata : "," + metadata; }
};

}  // namespace berth::tests
