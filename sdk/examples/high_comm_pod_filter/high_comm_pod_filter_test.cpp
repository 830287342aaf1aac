// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/module.hpp>

namespace {
using namespace berth::testkit;

const NodeSpec k_rdma{.name = "a", .labels = {{"node.kubernetes.io/rdma-enabled", "true"}, {"rdma", "true"}}};
const NodeSpec k_refuses{.name = "b", .labels = {{"node.kubernetes.io/rdma-enabled", "false"}, {"rdma", "false"}}};
const NodeSpec k_plain{.name = "c"};
const PodSpec k_high_comm{.labels = {{"high-comm", ""}}};
const PodSpec k_high_comm_true{.labels = {{"high-comm", "true"}}};
const PodSpec k_other{.labels = {{"app", "web"}}};
const Answer k_no_rdma = unresolvable("Node does not support RDMA");
const Answer k_no_label = unresolvable("Pod does not have high-comm=true label");
constexpr const char* k_strict = R"({"strict": true})";

std::vector<Answer> filter(const PodSpec& pod, const char* args = "") {
  Policy policy(tested_library(), args);
  return Attempt(policy, pod, {k_rdma, k_refuses, k_plain}).filter();
}
bool wakes(std::uint32_t actions, const NodeSpec& node, const PodSpec& waiting) {
  Policy policy(tested_library());
  return policy.wakes({.actions = actions, .new_node = node}, waiting);
}

TEST(HighCommPodFilter, SendsLabelledPodsToNodesWithRdma) {
  EXPECT_EQ(filter(k_high_comm), (std::vector<Answer>{passes(), k_no_rdma, k_no_rdma}));
  EXPECT_EQ(filter(k_high_comm_true), (std::vector<Answer>{passes(), k_no_rdma, k_no_rdma}));
}

TEST(HighCommPodFilter, LeavesOtherPodsAlone) {
  EXPECT_EQ(filter(k_other), (std::vector<Answer>{passes(), passes(), passes()}));
}

TEST(HighCommPodFilter, StrictRefusesPodsWithoutTheLabelEverywhere) {
  EXPECT_EQ(filter(k_other, k_strict), (std::vector<Answer>{k_no_label, k_no_label, k_no_label}));
  EXPECT_EQ(filter(k_high_comm, k_strict), (std::vector<Answer>{k_no_label, k_no_label, k_no_label}));
}

TEST(HighCommPodFilter, StrictLooksForTheOtherNodeLabel) {
  EXPECT_EQ(filter(k_high_comm_true, k_strict), (std::vector<Answer>{passes(), k_no_rdma, k_no_rdma}));
  Policy policy(tested_library(), k_strict);
  const NodeSpec usual{.name = "a", .labels = {{"node.kubernetes.io/rdma-enabled", "true"}}};
  EXPECT_EQ(Attempt(policy, k_high_comm_true, {usual}).filter(), std::vector<Answer>{k_no_rdma});
}

TEST(HighCommPodFilter, IsAskedAgainWhenANodeAppearsOrIsLabelled) {
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, k_rdma, k_high_comm));
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, k_rdma, k_high_comm));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_ALLOCATABLE, k_rdma, k_high_comm));
}

TEST(HighCommPodFilter, WakesAPodForItsOwnLabelsOnly) {
  Policy policy(tested_library(), k_strict);
  const PodSpec waiting{.name = "waiting"}, other{.name = "other"};
  const auto labelled = [](PodSpec pod) {
    pod.labels = {{"high-comm", "true"}};
    return pod;
  };
  const auto event = [&](const PodSpec& pod) {
    return EventSpec{
        .kind = BERTH_KIND_POD, .actions = BERTH_ACTION_UPDATE_POD_LABEL, .old_pod = pod, .new_pod = labelled(pod)};
  };
  EXPECT_TRUE(policy.wakes(event(waiting), waiting));
  EXPECT_FALSE(policy.wakes(event(other), waiting));
}

}  // namespace
