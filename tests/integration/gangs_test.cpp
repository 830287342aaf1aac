// SPDX-License-Identifier: Apache-2.0
// `berth run` with Coscheduling, as a process of its own against the test API server.
#include <set>

#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_configuration = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {qps: -1, kubeconfig: KUBECONFIG}
profiles:
  - schedulerName: default-scheduler
    plugins:
      multiPoint: {enabled: [{name: Coscheduling}]}
      queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
)";

class GangsTest : public RunTest {
 protected:
  // With a configuration file, the connection is the file's.
  GangsTest() {
    std::string text = k_configuration;
    const std::string_view placeholder = "KUBECONFIG";
    text.replace(text.find(placeholder), placeholder.size(), kubeconfig);
    configuration = directory.write("gangs.yaml", text);
  }

  void add_definition() {
    server.store().add_resource({"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true});
  }
  void group(const std::string& name, int min) {
    server.create(R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{"name":")" + name +
                  R"(","namespace":"default"},"spec":{"minMember":)" + std::to_string(min) + "}}");
  }
  void member(const std::string& name, const std::string& group, const std::string& cpu) {
    std::string json = pod_json(name, cpu);
    const std::string ns = R"("namespace":"default")";
    json.insert(json.find(ns) + ns.size(), R"(,"labels":{"scheduling.x-k8s.io/pod-group":")" + group + R"("})");
    server.create(json);
  }
  std::unique_ptr<ChildProcess> start_gangs() { return start({"--config", configuration}); }
  std::string message(const std::string& pod) { return text_at(stored(pod), "/status/conditions/0/message"); }
  std::size_t bound_of(const std::string& prefix) {
    std::size_t count = 0;
    for (const auto& [pod, node] : placements()) count += pod.rfind(prefix, 0) == 0 && !node.empty() ? 1 : 0;
    return count;
  }
  void remove(const std::string& pod) {
    server.store().remove(pods(), "default", pod, json::parse(R"({"gracePeriodSeconds":0})"));
  }
  void end(ChildProcess& berth) {
    berth.signal(SIGTERM);
    EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
  }

  std::string configuration;
};

TEST_F(GangsTest, CompeteForNodesAndNoneHoldsHalf) {
  constexpr int k_members = 8;
  add_definition();
  for (int i = 0; i < 3; ++i) server.create(node_json(i, 4));  // room for 12 of 16
  for (const char* name : {"blue", "green"}) group(name, k_members);
  auto berth = start_gangs();
  for (int i = 0; i < k_members; ++i)
    for (const char* name : {"blue", "green"}) member(name + std::to_string(i), name, "1");
  ASSERT_TRUE(wait([&] { return bound() == k_members; })) << berth->log();
  const std::string first = bound_of("blue") == k_members ? "blue" : "green",
                    second = first == "blue" ? "green" : "blue";
  EXPECT_EQ(bound_of(first), k_members) << "one gang has it all";
  EXPECT_EQ(bound_of(second), 0u);
  // Every member says who is in the way.
  ASSERT_TRUE(wait([&] {
    int named = 0;
    for (int i = 0; i < k_members; ++i)
      named += message(second + std::to_string(i)).find("Insufficient cpu") != std::string::npos ? 1 : 0;
    return named == k_members;
  })) << berth->log();
  int sentences = 0;
  for (int i = 0; i < k_members; ++i)
    sentences +=
        message(second + std::to_string(i)).rfind("pod group default/" + second + ": 4 of 8 members fit; ", 0) == 0;
  EXPECT_EQ(sentences, k_members - 1);

  for (int i = 0; i < k_members; ++i) remove(first + std::to_string(i));
  ASSERT_TRUE(wait([&] { return bound_of(second) == k_members; })) << berth->log();
  end(*berth);
}

TEST_F(GangsTest, AreBoundWholeWhateverTheServerDoes) {
  constexpr int k_gangs = 30, k_members = 6;
  add_definition();
  Faults faults = bad_days();
  faults.lost_answer = 0.02;
  faults.slow_max = std::chrono::milliseconds(50);
  for (int i = 0; i < 45; ++i) server.create(node_json(i, 4));  // exactly enough
  server.inject(faults);
  auto berth = start_gangs();
  for (int i = 0; i < k_members; ++i)
    for (int g = 0; g < k_gangs; ++g) {
      if (i == 0) group("g" + std::to_string(g), k_members);
      member("g" + std::to_string(g) + "-" + std::to_string(i), "g" + std::to_string(g), "1");
    }
  ASSERT_TRUE(wait([&] { return bound() == k_gangs * k_members; })) << bound() << " bound\n" << berth->log();
  std::set<std::string> once;
  std::map<std::string, int> per_node;
  for (const BindRecord& record : server.store().bindings()) {
    EXPECT_TRUE(once.insert(record.uid).second) << record.name << " was bound twice";
    ++per_node[record.node];
  }
  for (const auto& [node, count] : per_node) EXPECT_LE(count, 4) << node << " holds more than it has";
  end(*berth);
}

TEST_F(GangsTest, WithoutTheDefinitionMembersWaitAndOthersDoNot) {
  server.create(node_json(1, 4));
  auto berth = start_gangs();
  member("member", "blue", "1");
  server.create(pod_json("plain", "1"));
  ASSERT_TRUE(wait([&] { return bound_of("plain") == 1 && !message("member").empty(); })) << berth->log();
  EXPECT_EQ(message("member"), "0/1 nodes are available: 1 PodGroup not found.");
  EXPECT_EQ(bound_of("member"), 0u);
  EXPECT_NE(berth->log().find("scheduling.x-k8s.io/v1alpha1/podgroups"), std::string::npos) << berth->log();
  end(*berth);
}

}  // namespace
}  // namespace berth::tests
