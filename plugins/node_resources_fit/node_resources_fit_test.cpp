// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/policy.hpp>

namespace node_resources_fit_test {
namespace {
using namespace berth::testkit;

constexpr std::uint32_t k_scalar = BERTH_RESOURCE_SCALAR;
constexpr std::uint32_t k_extended = BERTH_RESOURCE_SCALAR | BERTH_RESOURCE_EXTENDED;
constexpr std::int64_t k_gi = std::int64_t{1} << 30;
constexpr std::int64_t k_mi = std::int64_t{1} << 20;

ResourceSpec asks(std::string name, std::int64_t amount, std::uint32_t flags = 0) {
  return {.name = std::move(name), .request = amount, .effective = amount, .scoring = amount, .flags = flags};
}
NodeSpec node(std::map<std::string, std::int64_t> capacity, std::map<std::string, std::int64_t> requested = {},
              std::int64_t pods = 0) {
  capacity.try_emplace("pods", 110);
  return {.capacity = std::move(capacity), .requested = requested, .nonzero = requested, .pods = pods};
}

struct FilterCase {
  std::string name;
  std::vector<ResourceSpec> pod;
  NodeSpec node;
  Answer want;
  std::string args = {};
};
const std::vector<FilterCase> k_filter_cases = {
    {"NothingAskedFitsAFullNode", {}, node({{"cpu", 10}}, {{"cpu", 20}}), passes()},
    {"ExactFit", {asks("cpu", 5), asks("memory", 7)}, node({{"cpu", 10}, {"memory", 7}}, {{"cpu", 5}}), passes()},
    {"PodCount", {}, node({{"pods", 2}}, {}, 2), unschedulable("Too many pods")},
    {"NoPodsAllowedIsNotUnresolvable", {}, node({{"pods", 0}}), unschedulable("Too many pods")},
    {"Cpu", {asks("cpu", 6)}, node({{"cpu", 10}}, {{"cpu", 5}}), unschedulable("Insufficient cpu")},
    {"CpuBeyondCapacity", {asks("cpu", 11)}, node({{"cpu", 10}}), unresolvable("Insufficient cpu")},
    {"Memory", {asks("memory", 6)}, node({{"memory", 10}}, {{"memory", 5}}), unschedulable("Insufficient memory")},
    {"EphemeralStorage",
     {asks("ephemeral-storage", 6)},
     node({{"ephemeral-storage", 10}}, {{"ephemeral-storage", 5}}),
     unschedulable("Insufficient ephemeral-storage")},
    {"OvercommittedMemoryDoesNotMatterToACpuPod",
     {asks("cpu", 1)},
     node({{"cpu", 10}, {"memory", 5}}, {{"memory", 50}}),
     passes()},
    {"AllReasonsInOrder",
     {asks("cpu", 6), asks("memory", 6)},
     node({{"cpu", 10}, {"memory", 10}, {"pods", 1}}, {{"cpu", 5}, {"memory", 5}}, 1),
     unschedulable("Too many pods, Insufficient cpu, Insufficient memory")},
    {"OneUnresolvableResourceIsEnough",
     {asks("cpu", 6), asks("memory", 60)},
     node({{"cpu", 10}, {"memory", 10}}, {{"cpu", 5}}),
     unresolvable("Insufficient cpu, Insufficient memory")},
    {"AbsentScalar", {asks("example.com/gpu", 1, k_extended)}, node({}), unresolvable("Insufficient example.com/gpu")},
    {"ScalarInUse",
     {asks("example.com/gpu", 2, k_extended)},
     node({{"example.com/gpu", 2}}, {{"example.com/gpu", 1}}),
     unschedulable("Insufficient example.com/gpu")},
    {"ScalarOfZeroIsNotChecked", {asks("example.com/gpu", 0, k_extended)}, node({}), passes()},
    {"HugePages",
     {asks("hugepages-2Mi", 4, k_scalar)},
     node({{"hugepages-2Mi", 2}}),
     unresolvable("Insufficient hugepages-2Mi")},
    {"NegativeSumsCountAsNothing", {asks("cpu", -5)}, node({{"cpu", 10}}, {{"cpu", 20}}), passes()},
    {"IgnoredResource",
     {asks("example.com/gpu", 1, k_extended)},
     node({}),
     passes(),
     R"({"ignoredResources":["example.com/gpu"]})"},
    {"IgnoredGroup",
     {asks("example.com/gpu", 1, k_extended)},
     node({}),
     passes(),
     R"({"ignoredResourceGroups":["example.com"]})"},
    {"OnlyExtendedResourcesCanBeIgnored",
     {asks("hugepages-2Mi", 4, k_scalar)},
     node({}),
     unresolvable("Insufficient hugepages-2Mi"),
     R"({"ignoredResources":["hugepages-2Mi"]})"},
};

class FitFilter : public testing::TestWithParam<FilterCase> {};
TEST_P(FitFilter, Decides) {
  Policy policy(tested_library(), GetParam().args);
  Attempt attempt(policy, {.resources = GetParam().pod}, {node({{"cpu", 1000}, {"memory", 1000}}), GetParam().node});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter()[1], GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(All, FitFilter, testing::ValuesIn(k_filter_cases), [](const auto& i) { return i.param.name; });

TEST(FitFilter, WithoutPreFilterIsAnError) {
  Policy policy(tested_library());
  Attempt attempt(policy, {}, {node({})});
  try {
    attempt.filter();
    FAIL();
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome,
              (Outcome{BERTH_ERROR, R"(error reading "PreFilterNodeResourcesFit" from cycleState: not found)"}));
  }
}

const std::string k_ratio_rising =
    R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":
        {"shape":[{"utilization":0,"score":0},{"utilization":100,"score":10}]}}})";
const std::string k_ratio_falling =
    R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":
        {"shape":[{"utilization":0,"score":10},{"utilization":100,"score":0}]}}})";
const std::string k_most = R"({"scoringStrategy":{"type":"MostAllocated"}})";
const std::string k_with_gpu =
    R"({"scoringStrategy":{"type":"LeastAllocated",
        "resources":[{"name":"cpu"},{"name":"example.com/gpu","weight":3}]}})";

struct ScoreCase {
  std::string name;
  std::vector<ResourceSpec> pod;
  NodeSpec node;
  std::int64_t want;
  std::string args = {};
};
const std::vector<ResourceSpec> k_three_quarters = {asks("cpu", 3000), asks("memory", 5000)};
const NodeSpec k_small = node({{"cpu", 4000}, {"memory", 10000}});
const std::vector<ScoreCase> k_score_cases = {
    {"Least", k_three_quarters, k_small, 37},
    {"Most", k_three_quarters, k_small, 62, k_most},
    {"RatioRoundsHalfUp", k_three_quarters, k_small, 63, k_ratio_rising},
    {"RatioLeavesOutScoresOfZero", {asks("cpu", 4000), asks("memory", 4000)}, k_small, 60, k_ratio_falling},
    {"DefaultsPerContainer",
     {{.name = "cpu", .scoring = 100}, {.name = "memory", .scoring = 200 * k_mi}},
     node({{"cpu", 1000}, {"memory", k_gi}}),
     85},
    {"OverCapacityRatesZero", {asks("cpu", 5000), asks("memory", 5000)}, k_small, 25},
    {"OverCapacityIsFullForMost", {asks("cpu", 5000), asks("memory", 5000)}, k_small, 75, k_most},
    {"AbsentResourceTakesNoPart", {asks("cpu", 1000), asks("example.com/gpu", 1, k_extended)}, k_small, 75, k_with_gpu},
    {"UnaskedScalarTakesNoPart", {asks("cpu", 1000)}, node({{"cpu", 4000}, {"example.com/gpu", 8}}), 75, k_with_gpu},
    {"WeightsCount",
     {asks("cpu", 1000), asks("example.com/gpu", 2, k_extended)},
     node({{"cpu", 4000}, {"example.com/gpu", 8}}, {{"example.com/gpu", 2}}),
     (75 + 3 * 50) / 4,
     k_with_gpu},
    {"NothingCounts", {asks("cpu", 1000)}, node({}), 0},
    {"PetabytesDoNotOverflow",
     {asks("cpu", 0), asks("memory", k_gi << 18)},
     node({{"memory", k_gi << 20}}, {{"memory", k_gi << 18}}),
     50},
    {"PodCountIsNoResourceToScore",
     {asks("cpu", 1000)},
     k_small,
     75,
     R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu"},{"name":"pods"}]}})"},
};

class FitScore : public testing::TestWithParam<ScoreCase> {};
TEST_P(FitScore, Scores) {
  Policy policy(tested_library(), GetParam().args);
  Attempt attempt(policy, {.resources = GetParam().pod}, {node({}), GetParam().node});
  EXPECT_EQ(attempt.score()[1], GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(All, FitScore, testing::ValuesIn(k_score_cases), [](const auto& i) { return i.param.name; });

/// Devices of class "gpu" stand for example.com/gpu: four on node a, one of which another class has.
class FitDevices : public testing::Test {
 protected:
  static constexpr const char* k_slices = "resource.k8s.io/v1/resourceslices";
  static constexpr const char* k_claims = "resource.k8s.io/v1/resourceclaims";
  static constexpr const char* k_classes = "resource.k8s.io/v1/deviceclasses";
  static constexpr const char* k_is_gpu = "device.attributes['d'].kind == 'gpu'";

  FitDevices() {
    put_class(k_is_gpu);
    put_slice(
        "a", R"("nodeName":"a")",
        R"([{"name":"0","attributes":{"kind":{"string":"gpu"}}},{"name":"1","attributes":{"kind":{"string":"gpu"}}},)"
        R"({"name":"2","attributes":{"kind":{"string":"gpu"}}},{"name":"3","attributes":{"kind":{"string":"gpu"}}},)"
        R"({"name":"n","attributes":{"kind":{"string":"nic"}}}])");
  }
  void put_class(const std::string& selector) {
    cluster.put(
        k_classes, "", "gpu",
        {R"({"name":"gpu"})",
         R"({"extendedResourceName":"example.com/gpu","selectors":[{"cel":{"expression":")" + selector + R"("}}]})"});
  }
  /// Pools with too few slices count as well.
  void put_slice(const std::string& name, const std::string& nodes, const std::string& devices) {
    cluster.put(k_slices, "", name,
                {R"({"name":")" + name + R"("})", R"({"driver":"d","pool":{"name":")" + name +
                                                      R"(","generation":1,"resourceSliceCount":2},)" + nodes +
                                                      R"(,"devices":)" + devices + "}"});
  }
  void take(const std::string& device, const std::string& more = "") {
    cluster.put(k_claims, "default", device,
                {R"({"name":"c","namespace":"default","uid":"u)" + device + R"("})", "{}",
                 R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"a","device":")" + device +
                     R"(")" + more + "}]}}})"});
  }
  /// Of nodes a and b, for a pod that asks for one.
  std::vector<std::int64_t> scores() {
    NodeSpec a = node({}), b = node({});
    a.name = "a";
    b.name = "b";
    b.labels = {{"zone", "z"}};
    Attempt attempt(policy, {.resources = {asks("example.com/gpu", 1, k_extended)}}, {a, b});
    attempt.pre_score();
    return attempt.score();
  }

  Policy policy{tested_library(),
                R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"example.com/gpu"}]}})",
                FakeCluster::install};
  FakeCluster& cluster = FakeCluster::of(policy);
};

TEST_F(FitDevices, AreCountedWhereANodeHasNone) {
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{75, 0}));
  take("1");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{50, 0}));
  take("n");                            // none of the class
  take("2", R"(,"adminAccess":true)");  // uses nothing up
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{50, 0}));
  cluster.remove(k_claims, "default", "1");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{75, 0}));
}

TEST_F(FitDevices, AreThoseThatTheNodeSees) {
  const std::string one = R"([{"name":"0","attributes":{"kind":{"string":"gpu"}}}])";
  put_slice("z", R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]})",
            one);
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{75, 0}));  // one of one
  put_slice("all", R"("allNodes":true)", one);
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{80, 50}));
  put_slice("some", R"("perDeviceNodeSelection":true)",
            R"([{"name":"0","nodeName":"b","attributes":{"kind":{"string":"gpu"}}},)"
            R"({"name":"1","nodeName":"b","attributes":{"kind":{"string":"gpu"}}}])");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{80, 75}));
}

TEST_F(FitDevices, AreNoneWhereTheSelectorFails) {
  put_slice("b", R"("nodeName":"b")", R"([{"name":"0"}])");  // has no kind
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{75, 0}));
  put_slice("all", R"("allNodes":true)", R"([{"name":"0"}])");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0}));
  // As upstream, a class that keeps its name keeps the selectors it had when it got that.
  put_class("device.driver == 'd'");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0}));
  cluster.remove(k_classes, "", "gpu");
  scores();
  put_class("device.driver == 'd'");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{83, 50}));
  cluster.remove(k_classes, "", "gpu");
  scores();
  put_class("(");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0}));
}

TEST_F(FitDevices, ThatCameAreAnnounced) {
  Attempt attempt(policy, {.resources = {asks("example.com/gpu", 1, k_extended)}}, {node({})});
  attempt.pre_filter();
  const std::uint32_t before = cluster.epoch_bumps;
  attempt.pre_score();
  EXPECT_EQ(cluster.epoch_bumps, before) << "nothing has changed";
  take("1");
  attempt.pre_filter();
  EXPECT_EQ(cluster.epoch_bumps, before + 1);
  take("2");
  attempt.pre_score();
  EXPECT_EQ(cluster.epoch_bumps, before + 2) << "scores that are kept are of another number of devices";
}

/// A selector of some 20 million steps for each of five devices, of which a refresh does four.
class FitSlowDevices : public FitDevices {
 protected:
  void put_slow(const std::string& selector) {
    std::string devices;
    for (int i = 0; i < 5; ++i)
      devices += (i == 0 ? "" : ",") + (R"({"name":")" + std::to_string(i) + R"(","attributes":{"index":{"int":)") +
                 std::to_string(i) + "}}}";
    put_slice("a", R"("nodeName":"a")", "[" + devices + "]");
    cluster.remove(k_classes, "", "gpu");
    scores();
    cluster.epoch_bumps = 0;
    put_class("!'" + std::string(2800, 'a') + "'.matches('((a?){9}){99}((a?){9}){99}b') && " + selector);
  }
};

TEST_F(FitSlowDevices, AreCountedFurtherWithEachRefresh) {
  put_slow("true");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0})) << "some are not judged yet";
  EXPECT_EQ(cluster.epoch_bumps, 1u);
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{80, 0}));
  EXPECT_EQ(cluster.epoch_bumps, 2u);
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{80, 0}));
  EXPECT_EQ(cluster.epoch_bumps, 2u) << "all are known";
}

// Before, half a second for each pod, and nothing was reused.
TEST_F(FitSlowDevices, OfWhichNothingCanBeKnownAreNotJudgedForEver) {
  put_slow("device.attributes['d'].none == 1");
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(cluster.epoch_bumps, 1u);
  EXPECT_EQ(scores(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(cluster.epoch_bumps, 1u) << "judged again, and nothing was learned the first time";
}

TEST_F(FitDevices, DoNotAddToWhatANodeHasItself) {
  NodeSpec a = node({{"example.com/gpu", 2}});
  a.name = "a";
  Attempt attempt(policy, {.resources = {asks("example.com/gpu", 1, k_extended)}}, {a});
  attempt.pre_score();
  EXPECT_EQ(attempt.score(), (std::vector<std::int64_t>{50}));
}

TEST(FitScore, WatchesNoDevicesForNothing) {
  Policy policy(tested_library(), "", FakeCluster::install);
  EXPECT_EQ(FakeCluster::of(policy).watched(), (std::vector<std::string>{"resource.k8s.io/v1/deviceclasses"}));
}

struct ArgsCase {
  std::string name;
  std::string args;
  std::string want;
};
const std::vector<ArgsCase> k_args_cases = {
    {"GroupWithSlash", R"({"ignoredResourceGroups":["a.com/b"]})",
     R"(ignoredResourceGroups[0]: Invalid value: "a.com/b": resource group name can't contain '/')"},
    {"TypeIsNotDefaulted", R"({"scoringStrategy":{}})",
     R"(scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", )"
     R"("RequestedToCapacityRatio")"},
    {"Weight", R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu","weight":101}]}})",
     "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]"},
    {"RatioWithoutShape", R"({"scoringStrategy":{"type":"RequestedToCapacityRatio"}})",
     "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
     "RequestedToCapacityRatio"},
    {"EmptyShape", R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{"shape":[]}}})",
     "scoringStrategy.shape: Required value: at least one point must be specified"},
    {"AllProblemsAtOnce",
     R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":
         {"shape":[{"utilization":5,"score":1},{"utilization":5,"score":11}]}}})",
     "[scoringStrategy.shape[1].utilization: Invalid value: 5: values must be sorted in increasing order, "
     "scoringStrategy.shape[1].score: Invalid value: 11: not in valid range [0, 10]]"},
    {"WrongType", R"({"ignoredResources":"gpu"})", "ignoredResources: must be an array"},
};

class FitArgs : public testing::TestWithParam<ArgsCase> {};
TEST_P(FitArgs, AreRefused) {
  try {
    Policy policy(tested_library(), GetParam().args);
    FAIL() << "accepted";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_BAD_ARGS, GetParam().want}));
  }
}
INSTANTIATE_TEST_SUITE_P(All, FitArgs, testing::ValuesIn(k_args_cases), [](const auto& i) { return i.param.name; });

TEST(FitArgs, MayCarryTheirKind) {
  EXPECT_NO_THROW(
      Policy(tested_library(), R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"NodeResourcesFitArgs"})"));
}

struct NodeHintCase {
  std::string name;
  std::vector<ResourceSpec> pod;
  std::optional<NodeSpec> before;
  NodeSpec after;
  bool wakes;
};
const std::vector<NodeHintCase> k_node_hints = {
    {"NewNodeThatFits", {asks("cpu", 5)}, {}, node({{"cpu", 5}}), true},
    {"NewNodeTooSmall", {asks("cpu", 5)}, {}, node({{"cpu", 4}}), false},
    {"UseOfTheNodeDoesNotMatter", {asks("cpu", 5)}, {}, node({{"cpu", 5}}, {{"cpu", 5}}, 110), true},
    {"NewNodeWithoutRoomForPods", {}, {}, node({{"pods", 0}}), false},
    {"MoreOfWhatIsAsked", {asks("cpu", 5)}, node({{"cpu", 4}}), node({{"cpu", 5}}), true},
    {"MoreButStillTooSmall", {asks("cpu", 5)}, node({{"cpu", 3}}), node({{"cpu", 4}}), false},
    {"MoreOfSomethingElse",
     {asks("cpu", 5)},
     node({{"cpu", 5}, {"memory", 1}}),
     node({{"cpu", 5}, {"memory", 2}}),
     false},
    {"LessOfWhatIsAsked", {asks("cpu", 5)}, node({{"cpu", 9}}), node({{"cpu", 6}}), false},
    {"MorePods", {asks("cpu", 5)}, node({{"cpu", 5}, {"pods", 1}}), node({{"cpu", 5}, {"pods", 2}}), true},
    {"NothingAskedAndMoreCpu", {}, node({{"cpu", 4}}), node({{"cpu", 5}}), false},
    {"MoreOfAScalar", {asks("example.com/gpu", 1, k_extended)}, node({}), node({{"example.com/gpu", 1}}), true},
};
class FitNodeHint : public testing::TestWithParam<NodeHintCase> {};
TEST_P(FitNodeHint, Answers) {
  const NodeHintCase& c = GetParam();
  Policy policy(tested_library());
  EXPECT_EQ(policy.wakes({.actions = c.before ? BERTH_ACTION_UPDATE_NODE_ALLOCATABLE : BERTH_ACTION_ADD,
                          .old_node = c.before,
                          .new_node = c.after},
                         {.resources = c.pod}),
            c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, FitNodeHint, testing::ValuesIn(k_node_hints), [](const auto& i) { return i.param.name; });

struct PodHintCase {
  std::string name;
  std::optional<PodSpec> before;
  std::optional<PodSpec> after;
  bool wakes;
};
PodSpec placed(std::string name, std::string on, std::int64_t cpu, std::int64_t memory = 0) {
  return {.name = std::move(name), .node_name = std::move(on), .resources = {asks("cpu", cpu), asks("memory", memory)}};
}
const std::vector<PodHintCase> k_pod_hints = {
    {"PlacedPodGone", placed("q", "n", 1), {}, true},
    {"NominatedPodGone", PodSpec{.name = "q", .nominated_node = "n"}, {}, true},
    {"PendingPodGone", placed("q", "", 1), {}, false},
    {"PlacedPodShrinks", placed("q", "n", 2), placed("q", "n", 1), true},
    {"PlacedPodShrinksElsewhere", placed("q", "n", 2, 2), placed("q", "n", 2, 1), false},
    {"PendingPodShrinks", placed("q", "", 2), placed("q", "", 1), false},
    {"TheWaitingPodItselfShrinks", placed("pod", "", 2), placed("pod", "", 1), true},
};
class FitPodHint : public testing::TestWithParam<PodHintCase> {};
TEST_P(FitPodHint, Answers) {
  const PodHintCase& c = GetParam();
  Policy policy(tested_library());
  EXPECT_EQ(policy.wakes({.kind = BERTH_KIND_POD,
                          .actions = c.after ? BERTH_ACTION_UPDATE_POD_SCALE_DOWN : BERTH_ACTION_DELETE,
                          .old_pod = c.before,
                          .new_pod = c.after},
                         {.name = "pod", .resources = {asks("cpu", 3)}}),
            c.wakes);
}
INSTANTIATE_TEST_SUITE_P(All, FitPodHint, testing::ValuesIn(k_pod_hints), [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace node_resources_fit_test
