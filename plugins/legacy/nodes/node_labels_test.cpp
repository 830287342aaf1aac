// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::node_labels_test {
namespace {

const Answer k_refused = unresolvable("node(s) didn't have the requested labels");
const std::vector<NodeSpec> k_nodes = {
    {.name = "none"}, {.labels = {{"foo", "1"}}}, {.labels = {{"foo", ""}, {"bar", "2"}}}, {.labels = {{"baz", "3"}}}};

TEST(CheckNodeLabelPresence, WantsAllLabelsOrNone) {
  Scene present("CheckNodeLabelPresence", R"({"labels":["foo","bar"],"presence":true})");
  EXPECT_EQ(present.filter({}, k_nodes), (Answers{k_refused, k_refused, passes(), k_refused}));
  Scene absent("CheckNodeLabelPresence", R"({"labels":["foo","bar"],"presence":false})");
  EXPECT_EQ(absent.filter({}, k_nodes), (Answers{passes(), k_refused, k_refused, passes()}));
  Scene by_default("CheckNodeLabelPresence", R"({"labels":["foo","bar"]})");
  EXPECT_EQ(by_default.filter({}, k_nodes), absent.filter({}, k_nodes));
}
TEST(CheckNodeLabelPresence, NeedsLabels) {
  EXPECT_EQ(refusal("CheckNodeLabelPresence", R"({"presence":true})"),
            "labels: Required value: at least one label must be specified");
}
TEST(CheckNodeLabelPresence, WakesPodsWhenLabelsChange) {
  Scene scene("CheckNodeLabelPresence", R"({"labels":["foo"]})");
  EXPECT_TRUE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_LABEL, .new_node = NodeSpec{}}, {}));
  EXPECT_FALSE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_TAINT, .new_node = NodeSpec{}}, {}));
}

TEST(NodeLabel, FiltersByTwoLists) {
  Scene scene("NodeLabel", R"({"presentLabels":["foo"],"absentLabels":["bar"]})");
  EXPECT_EQ(scene.filter({}, k_nodes), (Answers{k_refused, passes(), k_refused, k_refused}));
  Scene without("NodeLabel", "{}");
  EXPECT_EQ(without.filter({}, k_nodes), (Answers{passes(), passes(), passes(), passes()}));
}
TEST(NodeLabel, ScoresTheShareOfPreferencesThatHold) {
  Scene scene("NodeLabel", R"({"presentLabelsPreference":["foo","bar"],"absentLabelsPreference":["baz"]})");
  EXPECT_EQ(scene.score({}, k_nodes), (Scores{33, 66, 100, 0}));
  Scene of_ten("NodeLabel",
               with_max(10, R"("presentLabelsPreference":["foo","bar"],"absentLabelsPreference":["baz"])"));
  EXPECT_EQ(of_ten.score({}, k_nodes), (Scores{3, 6, 10, 0}));
  Scene without("NodeLabel", "{}");
  EXPECT_EQ(without.score({}, k_nodes), (Scores{0, 0, 0, 0}));
}
TEST(NodeLabel, RefusesALabelInBothLists) {
  EXPECT_EQ(refusal("NodeLabel", R"({"presentLabels":["a","b"],"absentLabels":["c","b"]})"),
            "detecting at least one label (e.g., \"b\") that exist in both the present([a b]) and absent([c b]) label "
            "list");
  EXPECT_EQ(
      refusal("NodeLabel", R"({"presentLabelsPreference":["a"],"absentLabelsPreference":["a"]})"),
      "detecting at least one label (e.g., \"a\") that exist in both the present([a]) and absent([a]) label list");
  EXPECT_EQ(refusal("NodeLabel", R"({"presentLabels":["a"],"absentLabelsPreference":["a"]})"), "");
}

TEST(NodeLabelPriority, GivesAllOrNothing) {
  Scene present("NodeLabelPriority", R"({"label":"foo","presence":true})");
  EXPECT_EQ(present.score({}, k_nodes), (Scores{0, 100, 100, 0}));
  Scene absent("NodeLabelPriority", with_max(10, R"("label":"foo","presence":false)"));
  EXPECT_EQ(absent.score({}, k_nodes), (Scores{10, 0, 0, 10}));
  EXPECT_EQ(refusal("NodeLabelPriority", "{}"), "label: Required value: a label must be specified");
}

TEST(MaxNodeScore, IsTenOrAHundred) {
  EXPECT_EQ(refusal("NodeLabelPriority", with_max(50, R"("label":"foo")")),
            "maxNodeScore: Invalid value: 50: must be 10 or 100");
}

}  // namespace
}  // namespace berth::legacy::tests::node_labels_test
