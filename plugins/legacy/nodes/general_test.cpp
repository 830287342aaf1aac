// SPDX-License-Identifier: Apache-2.0
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

namespace berth::legacy::tests::general_test {
namespace {

constexpr std::uint32_t k_extended = BERTH_RESOURCE_SCALAR | BERTH_RESOURCE_EXTENDED;

/// A pod with one container; the host's own sums are those of its requests.
PodSpec asking(std::map<std::string, std::int64_t> requests) {
  PodSpec pod;
  for (const auto& [name, amount] : requests)
    pod.resources.push_back(
        {.name = name, .request = amount, .effective = amount, .flags = name.find('/') == name.npos ? 0 : k_extended});
  pod.container_resources = {{.requests = std::move(requests)}};
  return pod;
}
NodeSpec node(std::map<std::string, std::int64_t> capacity, std::map<std::string, std::int64_t> requested = {},
              std::int64_t pods = 0) {
  capacity.try_emplace("pods", 110);
  return {.capacity = std::move(capacity), .requested = std::move(requested), .pods = pods};
}

struct FitCase {
  std::string name;
  PodSpec pod;
  NodeSpec on;
  Answer want;
  std::string args = {};
};
const std::vector<FitCase> k_fit_cases = {
    {"ExactFit", asking({{"cpu", 5}}), node({{"cpu", 10}}, {{"cpu", 5}}), passes()},
    {"PodCount", asking({}), node({{"pods", 2}}, {}, 2), unschedulable("Insufficient pods")},
    {"OneMorePodFits", asking({}), node({{"pods", 2}}, {}, 1), passes()},
    {"NothingAskedFitsAFullNode", asking({}), node({{"cpu", 10}}, {{"cpu", 20}}), passes()},
    {"ExplicitZerosAskForNothing", asking({{"cpu", 0}, {"memory", 0}}), node({{"cpu", 10}}, {{"cpu", 20}}), passes()},
    {"BeyondCapacityMayStillBePreempted", asking({{"cpu", 11}}), node({{"cpu", 10}}),
     unschedulable("Insufficient cpu")},
    {"OvercommittedCpuMattersToAMemoryPod", asking({{"memory", 1}}), node({{"cpu", 10}, {"memory", 10}}, {{"cpu", 20}}),
     unschedulable("Insufficient cpu")},
    {"OvercommittedStorageMattersToo", asking({{"cpu", 1}}), node({{"cpu", 10}}, {{"ephemeral-storage", 1}}),
     unschedulable("Insufficient ephemeral-storage")},
    {"AllReasons", asking({{"cpu", 6}, {"memory", 6}}),
     node({{"cpu", 10}, {"memory", 10}, {"pods", 1}}, {{"cpu", 5}, {"memory", 5}}, 1),
     unschedulable("Insufficient pods, Insufficient cpu, Insufficient memory")},
    {"Scalar", asking({{"example.com/gpu", 1}}), node({}), unschedulable("Insufficient example.com/gpu")},
    {"ScalarOfZeroIsCompared", asking({{"example.com/gpu", 0}}), node({}, {{"example.com/gpu", 1}}),
     unschedulable("Insufficient example.com/gpu")},
    {"ScalarOfZeroFits", asking({{"example.com/gpu", 0}}), node({}), passes()},
    {"ScalarOfZeroMakesCpuMatter", asking({{"example.com/gpu", 0}}), node({{"cpu", 1}}, {{"cpu", 2}}),
     unschedulable("Insufficient cpu")},
    {"IgnoredScalar", asking({{"example.com/gpu", 1}}), node({}), passes(),
     R"({"ignoredResources":["example.com/gpu"]})"},
    {"OtherScalarIsNotIgnored", asking({{"example.com/fpga", 1}}), node({}),
     unschedulable("Insufficient example.com/fpga"), R"({"ignoredResources":["example.com/gpu"]})"},
};

class PodFitsResourcesTable : public testing::TestWithParam<FitCase> {};
TEST_P(PodFitsResourcesTable, Filters) {
  for (const char* plugin : {"PodFitsResources", "GeneralPredicates"}) {
    Scene scene(plugin, GetParam().args);
    EXPECT_EQ(scene.filter(GetParam().pod, {GetParam().on}), Answers{GetParam().want}) << plugin;
  }
}
INSTANTIATE_TEST_SUITE_P(All, PodFitsResourcesTable, testing::ValuesIn(k_fit_cases),
                         [](const auto& instance) { return instance.param.name; });

TEST(PodFitsResources, TakesTheGreaterOfContainersAndEachInitContainerPlusOverhead) {
  PodSpec pod = asking({{"cpu", 0}});
  pod.container_resources = {{.requests = {{"cpu", 7}}, .kind = BERTH_CONTAINER_INIT},
                             {.requests = {{"cpu", 5}}, .kind = BERTH_CONTAINER_INIT},
                             {.requests = {{"cpu", 2}}},
                             {.requests = {{"cpu", 4}}}};
  pod.overhead = {{"cpu", 3}};
  Scene scene("PodFitsResources");
  EXPECT_EQ(scene.filter(pod, {node({{"cpu", 10}}), node({{"cpu", 9}})}),
            (Answers{passes(), unschedulable("Insufficient cpu")}));
}
TEST(PodFitsResources, CountsASidecarWithTheContainers) {
  PodSpec pod = asking({{"cpu", 0}});
  pod.container_resources = {{.requests = {{"cpu", 7}}, .kind = BERTH_CONTAINER_SIDECAR}, {.requests = {{"cpu", 2}}}};
  Scene scene("PodFitsResources");
  EXPECT_EQ(scene.filter(pod, {node({{"cpu", 9}}), node({{"cpu", 8}})}),
            (Answers{passes(), unschedulable("Insufficient cpu")}));
}
TEST(PodFitsResources, WakesPodsWhenRoomMayHaveAppeared) {
  Scene scene("PodFitsResources");
  EXPECT_TRUE(scene.policy.wakes({.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = PodSpec{}}, {}));
  EXPECT_TRUE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_ALLOCATABLE, .new_node = NodeSpec{}}, {}));
  EXPECT_FALSE(scene.policy.wakes({.actions = BERTH_ACTION_UPDATE_NODE_LABEL, .new_node = NodeSpec{}}, {}));
}

TEST(HostName, AcceptsTheNamedNodeOnly) {
  Scene scene("HostName");
  const std::vector<NodeSpec> nodes = {{.name = "a"}, {.name = "b"}};
  EXPECT_EQ(scene.filter({}, nodes), (Answers{passes(), passes()}));
  EXPECT_EQ(scene.filter({.node_name = "b"}, nodes),
            (Answers{unresolvable("node(s) didn't match the requested hostname"), passes()}));
}

TEST(PodFitsHostPorts, RefusesNodesWherePortsAreTakenUnderEitherName) {
  for (const char* plugin : {"PodFitsHostPorts", "PodFitsPorts"}) {
    Scene scene(plugin);
    const std::vector<NodeSpec> nodes = {{.name = "free"},
                                         {.ports = {{.port = 80}}},
                                         {.ports = {{.port = 80, .protocol = "UDP"}}},
                                         {.ports = {{.port = 80, .ip = "10.0.0.1"}}}};
    const Answer taken = unschedulable("node(s) didn't have free ports for the requested pod ports");
    EXPECT_EQ(scene.filter({}, nodes), (Answers{passes(), passes(), passes(), passes()}));
    EXPECT_EQ(scene.filter({.ports = {{.port = 443}, {.port = 80}}}, nodes),
              (Answers{passes(), taken, passes(), taken}));
    EXPECT_EQ(scene.filter({.ports = {{.port = 80, .ip = "10.0.0.2"}}}, nodes),
              (Answers{passes(), taken, passes(), passes()}));
  }
}

struct SelectorCase {
  const char* name;
  PodSpec pod;
  bool fits;
};
const std::vector<SelectorCase> k_selector_cases = {
    {"NoSelection", {}, true},
    {"SelectorMatches", {.node_selector = Strings{{"disk", "ssd"}}}, true},
    {"SelectorMisses", {.node_selector = Strings{{"disk", "hdd"}}}, false},
    {"SelectorKeyIsAbsent", {.node_selector = Strings{{"rack", "1"}}}, false},
    {"RequiredMatches", {.required = std::vector<TermSpec>{{.expressions = {{"disk", "In", {"ssd"}}}}}}, true},
    {"RequiredMisses", {.required = std::vector<TermSpec>{{.expressions = {{"disk", "NotIn", {"ssd"}}}}}}, false},
    {"BothMustMatch",
     {.node_selector = Strings{{"disk", "ssd"}},
      .required = std::vector<TermSpec>{{.expressions = {{"rack", "Exists"}}}}},
     false},
    {"NoTermsMatchNothing", {.required = std::vector<TermSpec>{}}, false},
    {"AnEmptyTermMatchesNothing", {.required = std::vector<TermSpec>{{}}}, false},
    {"ATermThatDoesNotParseIsSkipped",
     {.required = std::vector<TermSpec>{{.expressions = {{"disk", "Exists"}}, .error = "bad"},
                                        {.expressions = {{"disk", "Exists"}}}}},
     true},
    {"FieldsCount", {.required = std::vector<TermSpec>{{.fields = {{"metadata.name", "In", {"other"}}}}}}, false},
};
class MatchNodeSelectorTable : public testing::TestWithParam<SelectorCase> {};
TEST_P(MatchNodeSelectorTable, Filters) {
  for (const char* plugin : {"MatchNodeSelector", "GeneralPredicates"}) {
    Scene scene(plugin);
    EXPECT_EQ(scene.filter(GetParam().pod, {{.name = "n", .labels = {{"disk", "ssd"}}, .capacity = {{"pods", 1}}}}),
              Answers{GetParam().fits ? passes() : unresolvable("node(s) didn't match node selector")})
        << plugin;
  }
}
INSTANTIATE_TEST_SUITE_P(All, MatchNodeSelectorTable, testing::ValuesIn(k_selector_cases),
                         [](const auto& instance) { return instance.param.name; });

TEST(GeneralPredicates, NamesAllThatFailInItsOrder) {
  PodSpec pod = asking({{"cpu", 6}});
  pod.node_name = "other";
  pod.ports = {{.port = 80}};
  pod.node_selector = Strings{{"disk", "ssd"}};
  NodeSpec full = node({{"cpu", 5}});
  full.name = "n";
  full.ports = {{.port = 80}};
  NodeSpec good = node({{"cpu", 6}});
  good.name = "other";
  good.labels = {{"disk", "ssd"}};
  NodeSpec ports_only = good;
  ports_only.ports = {{.port = 80}};
  Scene scene("GeneralPredicates");
  EXPECT_EQ(scene.filter(pod, {full, good, ports_only}),
            (Answers{unresolvable("Insufficient cpu, node(s) didn't match the requested hostname, node(s) didn't have "
                                  "free ports for the requested pod ports, node(s) didn't match node selector"),
                     passes(), unschedulable("node(s) didn't have free ports for the requested pod ports")}));
}

TEST(GeneralPredicates, TellsManyNodesApart) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 200; ++i) {
    nodes.push_back(node({{"cpu", i % 3 == 0 ? 1 : 9}}));
    nodes.back().labels = {{"disk", i % 5 == 0 ? "hdd" : "ssd"}};
  }
  PodSpec pod = asking({{"cpu", 5}});
  pod.node_selector = Strings{{"disk", "ssd"}};
  Scene scene("GeneralPredicates");
  const Answers answers = scene.filter(pod, nodes);
  for (int i = 0; i < 200; ++i) {
    const bool lacks = i % 3 == 0, elsewhere = i % 5 == 0;
    const Answer want =
        elsewhere ? unresolvable(std::string(lacks ? "Insufficient cpu, " : "") + "node(s) didn't match node selector")
        : lacks   ? unschedulable("Insufficient cpu")
                  : passes();
    EXPECT_EQ(answers[static_cast<std::size_t>(i)], want) << i;
  }
}

}  // namespace
}  // namespace berth::legacy::tests::general_test
