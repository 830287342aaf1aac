// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;

const Answer k_refused = unschedulable("node(s) didn't have free ports for the requested pod ports");

struct Case {
  const char* name;
  std::vector<PortSpec> wanted;
  std::vector<PortSpec> used;
  bool conflict;
};
const std::vector<Case> k_cases = {
    {"FreeNode", {{.port = 8080}}, {}, false},
    {"SamePort", {{.port = 8080}}, {{.port = 8080}}, true},
    {"OtherPort", {{.port = 8080}}, {{.port = 8081}}, false},
    {"OtherProtocol", {{.port = 8080, .protocol = "UDP"}}, {{.port = 8080}}, false},
    {"SecondWanted", {{.port = 8000}, {.port = 8080}}, {{.port = 8080}}, true},
    {"SecondUsed", {{.port = 8080}}, {{.port = 8000}, {.port = 8080}}, true},
    {"SameAddress", {{.port = 80, .ip = "127.0.0.1"}}, {{.port = 80, .ip = "127.0.0.1"}}, true},
    {"OtherAddress", {{.port = 80, .ip = "127.0.0.1"}}, {{.port = 80, .ip = "127.0.0.2"}}, false},
    {"WantsAllAddresses", {{.port = 80}}, {{.port = 80, .ip = "127.0.0.1"}}, true},
    {"AllAddressesUsed", {{.port = 80, .ip = "127.0.0.1"}}, {{.port = 80}}, true},
    {"AllAddressesUsedByOtherProtocol", {{.port = 80, .protocol = "SCTP", .ip = "1.2.3.4"}}, {{.port = 80}}, false},
    {"UnspecifiedIpv6IsAnOrdinaryAddress", {{.port = 80, .ip = "::"}}, {{.port = 80, .ip = "127.0.0.1"}}, false},
};

class NodePortsTable : public testing::TestWithParam<Case> {};
TEST_P(NodePortsTable, ComparesWithThePortsInUse) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.ports = GetParam().wanted}, {{.name = "a", .ports = GetParam().used}, {.name = "free"}});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{GetParam().conflict ? k_refused : passes(), passes()}));
}
TEST_P(NodePortsTable, WakesThePodWhoseConflictWentAway) {
  Policy policy(tested_library());
  const auto wakes = [&](const char* node, const char* nominated) {
    return policy.wakes(
        {.kind = BERTH_KIND_POD,
         .actions = BERTH_ACTION_DELETE,
         .old_pod = PodSpec{.name = "gone", .node_name = node, .nominated_node = nominated, .ports = GetParam().used}},
        {.name = "p", .ports = GetParam().wanted});
  };
  EXPECT_EQ(wakes("a", ""), GetParam().conflict);
  EXPECT_EQ(wakes("", "a"), GetParam().conflict);
  EXPECT_FALSE(wakes("", "")) << "it never had a node";
}
INSTANTIATE_TEST_SUITE_P(All, NodePortsTable, testing::ValuesIn(k_cases),
                         [](const auto& instance) { return instance.param.name; });

TEST(NodePorts, IsSkippedWithoutHostPorts) {
  Policy policy(tested_library());
  EXPECT_EQ(Attempt(policy, {}, {{.name = "a"}}).pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
}

TEST(NodePorts, DoesNotComparePortsWithinThePod) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.ports = {{.port = 80}, {.port = 80}}}, {{.name = "a"}});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), std::vector<Answer>{passes()});
}

TEST(NodePorts, FailsWithoutPreFilter) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.ports = {{.port = 80}}}, {{.name = "a"}});
  try {
    attempt.filter();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "reading \"PreFilterNodePorts\" from cycleState: not found"}));
  }
}

TEST(NodePorts, WakesPodsForEachNewNode) {
  Policy policy(tested_library());
  EXPECT_TRUE(policy.wakes({.new_node = NodeSpec{.ports = {{.port = 80}}}}, {.ports = {{.port = 80}}}));
}

TEST(NodePorts, TellsManyNodesApart) {
  std::vector<NodeSpec> nodes(300);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].ports = {{.port = static_cast<std::int32_t>(1 + i % 150)}};
  Policy policy(tested_library());
  Attempt attempt(policy, {.ports = {{.port = 77}}}, nodes);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const std::vector<Answer> answers = attempt.filter();
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(answers[i], 1 + i % 150 == 77 ? k_refused : passes()) << i;
}

}  // namespace
