// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decode/object_decoder.hpp"
#include "report/simulate_report.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

/// A cache with what a text describes, and everything a report is made from.
class MakeReport : public ::testing::Test {
 protected:
  void load(std::string_view yaml) {
    text::Diagnostics problems;
    decode::DecodeOptions options;
    options.defaulting = std::make_shared<decode::Defaulting>();
    const decode::ObjectDecoder decoder(symbols_, options);
    for (const text::Document& document : text::parse_yaml(yaml, "test", problems)) {
      const auto decoded = decoder.decode(document, document.root(), problems);
      if (!decoded) continue;
      if (const auto* node = std::get_if<model::NodePtr>(&*decoded)) cache_.add_node(*node);
      if (const auto* pod = std::get_if<model::PodPtr>(&*decoded)) pods_.push_back(*pod);
    }
    ASSERT_TRUE(problems.empty()) << problems.render();
    for (const model::PodPtr& pod : pods_)
      if (pod->node_name != k_no_symbol) {
        ASSERT_TRUE(cache_.add_pod(pod).ok());
      }
  }
  const model::PodPtr& pod(std::string_view name) const {
    for (const model::PodPtr& pod : pods_)
      if (pod->name == name) return pod;
    throw std::out_of_range(std::string(name));
  }
  report::Decision decision(std::string_view name, std::string node, std::string message) const {
    report::Decision out;
    out.pod = pod(name);
    out.node = std::move(node);
    out.message = std::move(message);
    return out;
  }
  report::SimulationReport report(const std::vector<report::Decision>& decisions, bool decisions_bind) {
    return report::make_report({symbols_, cache_, snapshot_, pods_, decisions, waiting_,
                                [](std::string_view name) { return name == "default-scheduler"; }, decisions_bind});
  }
  static const report::PodLine& line(const report::SimulationReport& report, std::string_view name) {
    for (const report::PodLine& pod : report.pods)
      if (pod.name == name) return pod;
    throw std::out_of_range(std::string(name));
  }

  SymbolTable symbols_;
  cache::ClusterCache cache_{symbols_};
  cache::Snapshot snapshot_;
  std::vector<model::PodPtr> pods_;
  std::vector<queue::PendingPod> waiting_;
};

constexpr const char* k_cluster = R"(
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {topology.kubernetes.io/zone: z1}},
 status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10", example.com/gpu: "2"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, spec: {unschedulable: true}, status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: old}, spec: {nodeName: a, containers: [{name: c, resources: {requests: {cpu: 1500m, example.com/gpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {priority: 7, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {schedulerName: night, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gone, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: over}, spec: {containers: [{name: c}]}, status: {phase: Failed}}
)";

TEST_F(MakeReport, SortsPodsByWhatBecameOfThem) {
  load(k_cluster);
  const report::SimulationReport made = report({}, true);
  EXPECT_EQ(line(made, "old").state, report::PodState::running);
  EXPECT_EQ(line(made, "new").state, report::PodState::pending);
  EXPECT_EQ(line(made, "new").message, "not tried yet");
  EXPECT_EQ(line(made, "new").priority, 7);
  EXPECT_EQ(line(made, "other").state, report::PodState::foreign);
  EXPECT_EQ(line(made, "gone").state, report::PodState::deleting);
  EXPECT_EQ(line(made, "over").state, report::PodState::finished);
}

TEST_F(MakeReport, NodesCarryAllThatIsOnThem) {
  load(k_cluster);
  const report::SimulationReport made = report({}, true);
  ASSERT_EQ(made.resources.size(), 5u);
  EXPECT_EQ(made.resources[4].name, "example.com/gpu");
  ASSERT_EQ(made.nodes.size(), 2u);
  const report::NodeLine& a = made.nodes[made.nodes[0].name == "a" ? 0 : 1];
  const report::NodeLine& b = made.nodes[made.nodes[0].name == "a" ? 1 : 0];
  EXPECT_EQ(a.zone, "z1");
  EXPECT_FALSE(a.unschedulable);
  EXPECT_TRUE(b.unschedulable);
  EXPECT_EQ(a.usage[0].requested, 1500);
  EXPECT_EQ(a.usage[0].allocatable, 4000);
  EXPECT_EQ(a.usage[2].requested, 1);
  EXPECT_EQ(a.usage[2].allocatable, 10);
  EXPECT_EQ(a.usage[4].requested, 1);
  EXPECT_EQ(a.usage[4].allocatable, 2);
  EXPECT_EQ(made.total(0).allocatable, 6000);
}

TEST_F(MakeReport, CountsAttemptsAndKeepsTheLastAnswerWithThePostFiltersPart) {
  load(k_cluster);
  std::vector<report::Decision> decisions;
  decisions.push_back(decision("new", "", "first."));
  decisions.push_back(decision("new", "", "second."));
  decisions[1].post_filter_message = "preemption: no.";
  const report::SimulationReport made = report(decisions, false);
  EXPECT_EQ(line(made, "new").attempts, 2u);
  EXPECT_EQ(line(made, "new").message, "second. preemption: no.");
}

TEST_F(MakeReport, EqualMessagesOfManyPodsAreInMemoryOnce) {
  load(k_cluster);
  std::vector<report::Decision> decisions;
  for (const char* name : {"new", "other"}) decisions.push_back(decision(name, "", "no room."));
  for (const char* name : {"gone", "over"}) decisions.push_back(decision(name, "a-node-with-a-long-name", ""));
  ASSERT_NE(decisions[0].message.get().data(), decisions[1].message.get().data());
  const report::SimulationReport made = report(decisions, true);
  EXPECT_EQ(&line(made, "new").message.get(), &line(made, "other").message.get());
  EXPECT_EQ(&line(made, "gone").node.get(), &line(made, "over").node.get());
  EXPECT_EQ(&line(made, "new").ns.get(), &pod("new")->ns.get()) << "the pod's own";

  report::SharedTexts texts;
  for (report::Decision& each : decisions) report::share_texts(each, texts);
  EXPECT_EQ(texts.size(), 2U);
  EXPECT_EQ(&decisions[0].message.get(), &decisions[1].message.get());
  EXPECT_EQ(&decisions[2].node.get(), &decisions[3].node.get());
  EXPECT_EQ(decisions[3].node, "a-node-with-a-long-name");
  EXPECT_TRUE(decisions[2].message.is_none()) << "nothing takes no memory";
}

TEST_F(MakeReport, ADecisionBindsOnlyWhereNoExtenderDoes) {
  load(k_cluster);
  std::vector<report::Decision> decisions;
  decisions.push_back(decision("new", "a", ""));
  const report::SimulationReport single_pass = report(decisions, true);
  EXPECT_EQ(line(single_pass, "new").state, report::PodState::placed);
  EXPECT_EQ(line(single_pass, "new").node, "a");
  const report::SimulationReport bind_failed = report(decisions, false);
  EXPECT_EQ(line(bind_failed, "new").state, report::PodState::pending);
  EXPECT_EQ(line(bind_failed, "new").message, "was to go to a, and is not bound");
}

TEST_F(MakeReport, GatedPodsSayWhatTheyWaitFor) {
  load(k_cluster);
  queue::PendingPod gated;
  gated.pod = pod("new");
  gated.gate = 0;
  gated.gate_message = "waiting for scheduling gates: [quota]";
  waiting_.push_back(gated);
  const report::SimulationReport made = report({}, true);
  EXPECT_EQ(line(made, "new").state, report::PodState::gated);
  EXPECT_EQ(line(made, "new").message, "waiting for scheduling gates: [quota]");
}

}  // namespace
}  // namespace berth::app
