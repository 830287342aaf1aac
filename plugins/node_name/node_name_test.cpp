// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

const Answer k_refused = unresolvable("node(s) didn't match the requested node name");

TEST(NodeName, AcceptsEveryNodeWithoutAName) {
  Policy policy(tested_library());
  EXPECT_EQ(Attempt(policy, {}, {{.name = "a"}, {.name = "b"}}).filter(), (std::vector<Answer>{passes(), passes()}));
}

TEST(NodeName, AcceptsTheNamedNodeOnly) {
  Policy policy(tested_library());
  EXPECT_EQ(Attempt(policy, {.node_name = "b"}, {{.name = "a"}, {.name = "b"}, {.name = "bb"}}).filter(),
            (std::vector<Answer>{k_refused, passes(), k_refused}));
  EXPECT_EQ(Attempt(policy, {.node_name = "elsewhere"}, {{.name = "a"}}).filter(), std::vector<Answer>{k_refused});
}

TEST(NodeName, IgnoresTheNominatedNode) {
  Policy policy(tested_library());
  EXPECT_EQ(Attempt(policy, {.nominated_node = "b"}, {{.name = "a"}}).filter(), std::vector<Answer>{passes()});
}

TEST(NodeName, WakesPodsForEachNewNode) {
  Policy policy(tested_library());
  const PodSpec waiting{.node_name = "b"};
  EXPECT_TRUE(policy.wakes({.actions = BERTH_ACTION_ADD, .new_node = NodeSpec{.name = "a"}}, waiting));
  EXPECT_FALSE(policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_LABEL, .new_node = NodeSpec{.name = "b"}}, waiting));
}

}  // namespace
