// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

const Answer k_refused = unresolvable("node(s) didn't match Pod's required features");
const char* const k_restart = "RestartAllContainersOnContainerExits";
const char* const k_users = "UserNamespacesHostNetworkSupport";
constexpr std::uint32_t k_users_flags = BERTH_SPEC_HOST_NETWORK | BERTH_SPEC_HOST_USERS_FALSE;

struct Case {
  const char* name;
  std::uint32_t flags;
  std::vector<std::string> declared;
  bool fits;
};
const std::vector<Case> k_cases = {
    {"Declared", BERTH_SPEC_RESTARTS_ALL, {k_restart}, true},
    {"NothingDeclared", BERTH_SPEC_RESTARTS_ALL, {}, false},
    {"AnotherDeclared", BERTH_SPEC_RESTARTS_ALL, {k_users}, false},
    {"UserNamespaces", k_users_flags, {k_users}, true},
    {"UserNamespacesMissing", k_users_flags, {k_restart}, false},
    {"BothNeeded", BERTH_SPEC_RESTARTS_ALL | k_users_flags, {k_restart, k_users}, true},
    {"BothNeededOneDeclared", BERTH_SPEC_RESTARTS_ALL | k_users_flags, {k_users}, false},
    {"UnknownNamesBefore", BERTH_SPEC_RESTARTS_ALL, {"Aardvark", k_restart, "Zebra"}, true},
    {"UnsortedListHidesASmallerName", BERTH_SPEC_RESTARTS_ALL, {"Foo", k_users, k_restart}, false},
    {"UnsortedListKeepsTheLargerName", k_users_flags, {"Foo", k_users, k_restart}, true},
    {"HiddenBehindAnUnknownName", BERTH_SPEC_RESTARTS_ALL, {"Zebra", k_restart}, false},
};

class NodeDeclaredFeaturesTable : public testing::TestWithParam<Case> {};
TEST_P(NodeDeclaredFeaturesTable, ComparesWithWhatTheNodeDeclares) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.spec_flags = GetParam().flags}, {{.name = "n", .features = GetParam().declared}});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), std::vector<Answer>{GetParam().fits ? passes() : k_refused});
}
INSTANTIATE_TEST_SUITE_P(All, NodeDeclaredFeaturesTable, testing::ValuesIn(k_cases),
                         [](const auto& instance) { return instance.param.name; });

TEST(NodeDeclaredFeatures, IsSkippedWithoutRequirements) {
  Policy policy(tested_library());
  for (const std::uint32_t flags :
       {0u, std::uint32_t{BERTH_SPEC_HOST_NETWORK}, std::uint32_t{BERTH_SPEC_HOST_USERS_FALSE}}) {
    EXPECT_EQ(Attempt(policy, {.spec_flags = flags}, {{.name = "n"}}).pre_filter().code,
              static_cast<berth_code>(BERTH_SKIP));
  }
}

TEST(NodeDeclaredFeatures, FailsWithoutPreFilter) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.spec_flags = BERTH_SPEC_RESTARTS_ALL}, {{.name = "n"}});
  try {
    attempt.filter();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found"}));
  }
}

TEST(NodeDeclaredFeatures, WakesPodsForNewNodesAndChangedFeatures) {
  const PodSpec waiting{.spec_flags = BERTH_SPEC_RESTARTS_ALL};
  const NodeSpec bare{.name = "n"};
  const NodeSpec other{.name = "n", .features = {"Zebra"}};
  Policy policy(tested_library());
  const auto wakes = [&](std::uint32_t actions, std::optional<NodeSpec> before, std::optional<NodeSpec> after) {
    return policy.wakes({.actions = actions, .old_node = before, .new_node = after}, waiting);
  };
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, {}, bare));
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE, bare, other)) << "any change wakes";
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE, other, other));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, bare, other)) << "not an interest";
}

TEST(NodeDeclaredFeatures, WakesThePodWhoseRequirementsChanged) {
  const PodSpec needs{.name = "p", .spec_flags = BERTH_SPEC_RESTARTS_ALL};
  Policy policy(tested_library());
  const auto wakes = [&](const PodSpec& before, const PodSpec& after, std::uint32_t actions = BERTH_ACTION_UPDATE) {
    return policy.wakes({.kind = BERTH_KIND_POD, .actions = actions, .old_pod = before, .new_pod = after}, needs);
  };
  EXPECT_TRUE(wakes(needs, {.name = "p"}));
  EXPECT_TRUE(wakes(needs, {.name = "p"}, BERTH_ACTION_UPDATE_POD_LABEL));
  EXPECT_FALSE(wakes(needs, needs));
  EXPECT_FALSE(wakes({.name = "q", .spec_flags = BERTH_SPEC_RESTARTS_ALL}, {.name = "q"})) << "another pod";
}

}  // namespace
