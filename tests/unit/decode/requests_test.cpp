// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decoding.hpp"

namespace berth::decode {
namespace {

constexpr std::int64_t k_mi = 1024 * 1024;

model::PodRequests requests(Decoding& in, std::string_view spec, std::string_view status = "{}") {
  return in.pod("{metadata: {name: p, uid: u}, spec: " + std::string(spec) + ", status: " + std::string(status) + "}")
      ->requests;
}

model::PodResource resource(Decoding& in, const model::PodRequests& requests, std::string_view name) {
  for (const model::PodResource& r : requests.resources)
    if (r.name == in(name)) return r;
  ADD_FAILURE() << name << " is not there";
  return {};
}

struct RequestCase {
  std::string_view name, spec, status;
  std::int64_t request, effective, scoring, nonzero;  // cpu, in milli
};

TEST(Requests, SumCpuInEachOfUpstreamsWays) {
  const RequestCase cases[] = {
      {"nothing asked", "{containers: [{name: a}]}", "{}", 0, 0, 100, 100},
      {"explicit zero is asked", "{containers: [{name: a, resources: {requests: {cpu: 0}}}]}", "{}", 0, 0, 0, 0},
      {"sidecar first",
       "{containers: [{name: a, resources: {requests: {cpu: 100m}}}, {name: b, resources: {requests: {cpu: 200m}}}],"
       " initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 50m}}}, {name: i, resources: "
       "{requests: {cpu: 500m}}}],"
       " overhead: {cpu: 10m}}",
       "{}", 560, 560, 560, 560},
      {"sidecar after the init container",
       "{containers: [{name: a, resources: {requests: {cpu: 100m}}}, {name: b, resources: {requests: {cpu: 200m}}}],"
       " initContainers: [{name: i, resources: {requests: {cpu: 500m}}}, {name: s, restartPolicy: Always, resources: "
       "{requests: {cpu: 50m}}}],"
       " overhead: {cpu: 10m}}",
       "{}", 510, 510, 510, 510},
      {"rounded once",
       "{containers: [{name: a, resources: {requests: {cpu: 500u}}}, {name: b, resources: {requests: {cpu: 500u}}}]}",
       "{}", 1, 1, 1, 1},
      {"default per container, init ones too",
       "{containers: [{name: a}, {name: b}], initContainers: [{name: i}, {name: j, resources: {requests: {cpu: "
       "250m}}}]}",
       "{}", 250, 250, 250, 250},
      {"status above spec", "{containers: [{name: a, resources: {requests: {cpu: 100m}}}]}",
       "{containerStatuses: [{name: a, resources: {requests: {cpu: 300m}}, allocatedResources: {cpu: 200m}}]}", 100,
       300, 100, 300},
      {"allocated above actual", "{containers: [{name: a, resources: {requests: {cpu: 100m}}}]}",
       "{containerStatuses: [{name: a, resources: {}, allocatedResources: {cpu: 200m}}]}", 100, 200, 100, 200},
      {"status without resources says nothing", "{containers: [{name: a, resources: {requests: {cpu: 100m}}}]}",
       "{containerStatuses: [{name: a, allocatedResources: {cpu: 200m}}]}", 100, 100, 100, 100},
      {"status below spec", "{containers: [{name: a, resources: {requests: {cpu: 500m}}}]}",
       "{containerStatuses: [{name: a, resources: {requests: {cpu: 300m}}}]}", 500, 500, 500, 500},
      {"infeasible resize: spec is a wish", "{containers: [{name: a, resources: {requests: {cpu: 500m}}}]}",
       "{containerStatuses: [{name: a, resources: {requests: {cpu: 300m}}}], conditions: [{type: PodResizePending, "
       "reason: Infeasible}]}",
       500, 300, 500, 300},
      {"deferred resize comes first", "{containers: [{name: a, resources: {requests: {cpu: 500m}}}]}",
       "{containerStatuses: [{name: a, resources: {requests: {cpu: 300m}}}], conditions: [{type: PodResizePending, "
       "reason: Deferred},"
       " {type: PodResizePending, reason: Infeasible}]}",
       500, 500, 500, 500},
      {"init container's status is not looked at",
       "{containers: [{name: a, resources: {requests: {cpu: 1m}}}], initContainers: [{name: i, resources: {requests: "
       "{cpu: 100m}}}]}",
       "{initContainerStatuses: [{name: i, resources: {requests: {cpu: 300m}}}]}", 100, 100, 100, 100},
      {"sidecar's status is",
       "{containers: [{name: a, resources: {requests: {cpu: 1m}}}], initContainers: [{name: i, restartPolicy: Always, "
       "resources: {requests: {cpu: 100m}}}]}",
       "{initContainerStatuses: [{name: i, resources: {requests: {cpu: 300m}}}]}", 101, 301, 101, 301},
      {"pod level replaces the sum",
       "{resources: {requests: {cpu: 2}}, containers: [{name: a, resources: {requests: {cpu: 100m}}}]}", "{}", 2000,
       2000, 100, 2000},
      {"pod level plus overhead", "{resources: {requests: {cpu: 2}}, overhead: {cpu: 5m}, containers: [{name: a}]}",
       "{}", 2005, 2005, 105, 2005},
      {"pod level of memory only: default per container",
       "{resources: {requests: {memory: 1Gi}}, containers: [{name: a}, {name: b}]}", "{}", 0, 0, 200, 200},
      {"pod level of memory, cpu asked by a container",
       "{resources: {requests: {memory: 1Gi}}, containers: [{name: a, resources: {requests: {cpu: 10m}}}, {name: b}]}",
       "{}", 10, 10, 110, 10},
      {"pod level status", "{resources: {requests: {cpu: 1}}, containers: [{name: a}]}",
       "{resources: {requests: {cpu: 1500m}}, allocatedResources: {cpu: 2}}", 1000, 2000, 100, 2000},
      {"pod level infeasible", "{resources: {requests: {cpu: 4}}, containers: [{name: a}]}",
       "{resources: {requests: {cpu: 1500m}}, conditions: [{type: PodResizePending, reason: Infeasible}]}", 4000, 1500,
       100, 1500},
      {"pod level infeasible, not in status",
       "{resources: {requests: {cpu: 4}}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}",
       "{resources: {requests: {memory: 1}}, conditions: [{type: PodResizePending, reason: Infeasible}]}", 4000, 0,
       1000, 0},
      {"a kubelet's negative is nothing", "{containers: [{name: a, resources: {requests: {cpu: 5m}}}]}",
       "{containerStatuses: [{name: a, resources: {requests: {cpu: -300m}}}], conditions: [{type: PodResizePending, "
       "reason: Infeasible}]}",
       5, 0, 5, 0},
  };
  for (const RequestCase& c : cases) {
    Decoding in;
    const model::PodRequests got = requests(in, c.spec, c.status);
    const model::PodResource cpu = resource(in, got, "cpu");
    EXPECT_EQ(cpu.request, c.request) << c.name;
    EXPECT_EQ(cpu.effective, c.effective) << c.name;
    EXPECT_EQ(cpu.scoring, c.scoring) << c.name;
    EXPECT_EQ(got.nonzero_cpu_milli, c.nonzero) << c.name;
  }
}

TEST(Requests, TellTheQualityOfService) {
  const std::string both = "{cpu: 100m, memory: 1Gi}";
  const auto asks = [](const std::string& requests, const std::string& limits) {
    return "{name: a, resources: {requests: " + requests + ", limits: " + limits + "}}";
  };
  struct QosCase {
    std::string name, spec;
    model::Qos want;
  };
  const QosCase cases[] = {
      {"nothing asked", "{containers: [{name: a}]}", model::Qos::best_effort},
      {"zero is nothing", "{containers: [" + asks("{cpu: 0}", "{memory: 0}") + "]}", model::Qos::best_effort},
      {"only storage", "{containers: [" + asks("{ephemeral-storage: 1Gi}", "{}") + "]}", model::Qos::best_effort},
      {"limits equal to requests", "{containers: [" + asks(both, both) + "]}", model::Qos::guaranteed},
      {"limits alone, which fill the requests", "{containers: [{name: a, resources: {limits: " + both + "}}]}",
       model::Qos::guaranteed},
      {"a limit above the request", "{containers: [" + asks(both, "{cpu: 200m, memory: 1Gi}") + "]}",
       model::Qos::burstable},
      {"no limit of memory", "{containers: [" + asks("{cpu: 1}", "{cpu: 1}") + "]}", model::Qos::burstable},
      {"one container without", "{containers: [" + asks(both, both) + ", {name: b}]}", model::Qos::burstable},
      {"an init container without", "{containers: [" + asks(both, both) + "], initContainers: [{name: i}]}",
       model::Qos::burstable},
      {"for the pod as a whole", "{containers: [{name: a}], resources: {requests: " + both + ", limits: " + both + "}}",
       model::Qos::guaranteed},
      {"the pod as a whole counts instead of its containers",
       "{containers: [" + asks(both, both) + "], resources: {requests: {cpu: 1}}}", model::Qos::burstable},
  };
  for (const QosCase& c : cases) {
    Decoding in;
    in.options.defaulting = std::make_shared<Defaulting>();
    EXPECT_EQ(in.pod("{metadata: {name: p}, spec: " + c.spec + "}")->requests->qos, c.want) << c.name;
  }
}

TEST(Requests, DefaultMemoryPerContainer) {
  Decoding in;
  const auto got = requests(
      in, "{containers: [{name: a}, {name: b}], initContainers: [{name: s, restartPolicy: Always}, {name: i}]}");
  EXPECT_EQ(got.nonzero_memory_bytes, 600 * k_mi);
  EXPECT_EQ(resource(in, got, "memory").scoring, 600 * k_mi);
  EXPECT_EQ(resource(in, got, "memory").effective, 0);
}

TEST(Requests, RoundMemoryOfTheWholePodUp) {
  Decoding in;
  const auto got = requests(in,
                            "{containers: [{name: a, resources: {requests: {memory: 500m}}}, {name: b, resources: "
                            "{requests: {memory: 500m}}}]}");
  EXPECT_EQ(resource(in, got, "memory").request, 1);
}

TEST(Requests, KeepScalarNamesSortedBehindTheThree) {
  Decoding in;
  const auto got = requests(
      in,
      "{containers: [{name: a, resources: {requests: {example.com/b: 2, hugepages-2Mi: 4Mi, example.com/a: 1500m,"
      " attachable-volumes-x: 1, foo.kubernetes.io/x: 1, ephemeral-storage: 3, pods: 7, foo: 9, requests.cpu/x: 1,"
      " -bad/x: 1}}}]}");
  std::vector<std::string> names;
  for (const model::PodResource& r : got.resources) names.emplace_back(in.symbols.text(r.name));
  EXPECT_EQ(names,
            (std::vector<std::string>{"cpu", "memory", "ephemeral-storage", "attachable-volumes-x", "example.com/a",
                                      "example.com/b", "foo.kubernetes.io/x", "hugepages-2Mi"}));
  EXPECT_EQ(resource(in, got, "example.com/a").request, 2);
  EXPECT_TRUE(resource(in, got, "example.com/a").extended);
  EXPECT_TRUE(resource(in, got, "example.com/a").scalar);
  EXPECT_FALSE(resource(in, got, "hugepages-2Mi").extended);
  EXPECT_FALSE(resource(in, got, "foo.kubernetes.io/x").extended);
  EXPECT_FALSE(resource(in, got, "cpu").scalar);
  EXPECT_EQ(resource(in, got, "ephemeral-storage").request, 3);
}

TEST(Requests, TakePodLevelNamesOnlyWhereTheyMayBeGiven) {
  Decoding in;
  const auto got = requests(
      in,
      "{resources: {requests: {example.com/a: 9, hugepages-2Mi: 8Mi}}, containers: [{name: a, resources: {requests:"
      " {example.com/a: 1, hugepages-2Mi: 4Mi, cpu: 1}}}]}");
  EXPECT_EQ(resource(in, got, "example.com/a").request, 1);
  EXPECT_EQ(resource(in, got, "hugepages-2Mi").request, 8 * k_mi);
  EXPECT_EQ(resource(in, got, "cpu").request, 1000);
}

TEST(Requests, KeepTheContainersSumOfNamesThatOnlyThePodsStatusHas) {
  Decoding in;
  const auto got = requests(
      in, "{resources: {requests: {hugepages-2Mi: 4Mi}}, containers: [{name: a, resources: {requests: {cpu: 2}}}]}",
      "{resources: {requests: {memory: 1e3}}, allocatedResources: {cpu: 100m}}");
  EXPECT_EQ(resource(in, got, "cpu").effective, 2000);
  EXPECT_EQ(resource(in, got, "memory").effective, 0);
  EXPECT_EQ(resource(in, got, "hugepages-2Mi").effective, 4 * k_mi);
  EXPECT_EQ(resource(in, got, "hugepages-2Mi").request, 4 * k_mi);
}

TEST(Requests, ListContainersWithAmountsRoundedOneByOne) {
  Decoding in;
  const auto got = requests(
      in,
      "{containers: [{name: a, resources: {requests: {cpu: 500u}, limits: {cpu: 2, memory: 1500m}}}, {name: b}],"
      " initContainers: [{name: i, resources: {limits: {cpu: 0}}}, {name: s, restartPolicy: Always}],"
      " overhead: {cpu: 250m}}");
  using Kind = model::ContainerResources::Kind;
  EXPECT_EQ(got.containers, (std::vector<model::ContainerResources>{
                                {Kind::init, {{in("cpu"), false, true, 0, 0}}},
                                {Kind::sidecar, {}},
                                {Kind::app, {{in("cpu"), true, true, 1, 2000}, {in("memory"), false, true, 0, 2}}},
                                {Kind::app, {}}}));
  EXPECT_EQ(got.overhead, (std::vector<model::ContainerAmount>{{in("cpu"), true, false, 250, 0}}));
}

TEST(Requests, ReportMalformedQuantitiesWhereTheyStand) {
  Decoding in;
  EXPECT_EQ(in.try_pod("metadata: {name: p}\nspec:\n  containers:\n  - name: a\n    resources:\n      requests: {cpu: "
                       "1x}\n      limits: {memory: [1]}\n"),
            nullptr);
  EXPECT_EQ(
      in.problems.render(),
      "f.yaml:6:23: spec.containers[0].resources.requests.cpu: invalid quantity \"1x\": quantities must match the "
      "regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' (such as \"500m\" or \"1Gi\")\n"
      "f.yaml:7:24: spec.containers[0].resources.limits.memory: must be a quantity (such as \"500m\" or \"1Gi\")\n");
}

// A pod that asked for less than nothing would make room on a full node.
TEST(Requests, ThatAreNegativeAreRefusedWithTheMessageOfTheApiServer) {
  const std::string_view specs[] = {
      "{containers: [{name: a, resources: {requests: {cpu: -50}}}]}",
      "{containers: [{name: a, resources: {limits: {memory: -1}}}]}",
      "{containers: [{name: a}], initContainers: [{name: i, resources: {requests: {example.com/x: \"-1\"}}}]}",
      "{containers: [{name: a}], overhead: {cpu: -1n}}",
      "{containers: [{name: a}], resources: {requests: {cpu: -1}}}",
  };
  for (const std::string_view spec : specs) {
    Decoding in;
    EXPECT_EQ(in.try_pod("{metadata: {name: p}, spec: " + std::string(spec) + "}"), nullptr) << spec;
    EXPECT_NE(in.problems.render().find("must be greater than or equal to 0"), std::string::npos)
        << spec << in.problems.render();
  }
}

TEST(Requests, OfAManifestRoundUpWhateverTheirSize) {
  Decoding in;
  in.options.defaulting = std::make_shared<Defaulting>();
  const auto effective = [&](const std::string& amount) {
    return resource(in,
                    in.pod("{metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {memory: " +
                           amount + "}}}]}}")
                        ->requests,
                    "memory")
        .effective;
  };
  constexpr std::int64_t k_pi = std::int64_t{1} << 50;
  EXPECT_EQ(effective("9Pi"), 9 * k_pi);  // 2^63 thousandths are 8.2 Pi
  EXPECT_EQ(effective("1024Pi"), 1024 * k_pi);
  EXPECT_EQ(effective("1.5"), 2);
  EXPECT_EQ(effective("1u"), 1);
}

TEST(Requests, CountContainersOfManyResourcesAsThoseOfFew) {
  Decoding in;
  std::string many, sum = "{containers: [";
  for (int i = 0; i < 40; ++i) many += (i == 0 ? "" : ", ") + ("example.com/r" + std::to_string(i)) + ": 1";
  for (int i = 0; i < 3; ++i)
    sum += "{name: c" + std::to_string(i) + ", resources: {requests: {" + many + "}, limits: {" + many + "}}},";
  const model::PodRequests got = requests(in, sum + "]}");
  EXPECT_EQ(got.resources.size(), 43u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(resource(in, got, "example.com/r" + std::to_string(i)).effective, 3);
  ASSERT_EQ(got.containers.size(), 3u);
  EXPECT_EQ(got.containers[0].amounts.size(), 40u);
}

TEST(Requests, OfThePodAsAWholeCountAsTheirGatesSay) {
  const std::string_view spec =
      "{resources: {requests: {cpu: 2}, limits: {cpu: 3}}, containers: [{name: a, resources: "
      "{requests: {cpu: 500m}}}]}";
  const std::string_view status = "{resources: {requests: {cpu: 4}}}";
  Decoding usual, unresized, containers;
  unresized.options.gates.pod_level_resize = false;
  containers.options.gates.pod_level_resources = false;
  EXPECT_EQ(resource(usual, requests(usual, spec, status), "cpu").effective, 4000);
  EXPECT_EQ(resource(unresized, requests(unresized, spec, status), "cpu").effective, 2000);
  const model::PodRequests none = requests(containers, spec, status);
  EXPECT_EQ(resource(containers, none, "cpu").request, 500);
  EXPECT_EQ(resource(containers, none, "cpu").effective, 500);
  EXPECT_EQ(none.nonzero_cpu_milli, 500);
  EXPECT_TRUE(none.whole.empty());
}

}  // namespace
}  // namespace berth::decode
