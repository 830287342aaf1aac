// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/defaulting.hpp"

#include <gtest/gtest.h>

#include "decoding.hpp"

namespace berth::decode {
namespace {

class DefaultingTest : public testing::Test {
 protected:
  void SetUp() override {
    auto defaulting = std::make_shared<Defaulting>(42);
    for (const std::string_view yaml : {
             "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000, "
             "preemptionPolicy: Never}",
             "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 10, "
             "globalDefault: true}",
         }) {
      const auto documents = text::parse(yaml, "class.yaml", in.problems);
      defaulting->add_priority_class(documents.at(0), documents.at(0).root(), in.problems);
    }
    in.options.defaulting = std::move(defaulting);
  }
  /// No uid: written by a person.
  model::PodPtr pod(std::string_view spec, std::string_view metadata = "") {
    return in.pod("{metadata: {name: p" + std::string(metadata.empty() ? "" : ", ") + std::string(metadata) +
                  "}, spec: {" +
                  (spec.find("containers") == std::string_view::npos ? "containers: [{name: c}], " : "") +
                  std::string(spec) + "}}");
  }
  std::int64_t request(const model::PodPtr& pod, std::string_view name) {
    for (const model::PodResource& r : pod->requests->resources)
      if (r.name == in(name)) return r.request;
    return -1;
  }
  Decoding in;
};

TEST_F(DefaultingTest, GivesIdentityAndState) {
  const auto made = pod("hostNetwork: false");
  EXPECT_EQ(made->ns, "default");
  EXPECT_EQ(made->uid, pod("hostNetwork: true")->uid);
  EXPECT_NE(made->uid, pod("hostNetwork: false", "namespace: other")->uid);
  EXPECT_EQ(made->uid.text().size(), 36u);
  EXPECT_EQ(made->creation_ns, 42);
  EXPECT_EQ(made->spec->generation, 1);
  EXPECT_EQ(made->phase, "Pending");
  EXPECT_EQ(made->scheduler_name, "default-scheduler");
}

TEST_F(DefaultingTest, LeavesObjectsFromAServerAlone) {
  const auto pod = in.with_spec("hostNetwork: true, priorityClassName: no-such-class");
  EXPECT_EQ(pod->uid, "u");
  EXPECT_EQ(pod->creation_ns, 0);
  EXPECT_EQ(pod->scheduler_name, "");
  EXPECT_EQ(pod->priority, 0);
  EXPECT_TRUE(pod->spec->tolerations.empty());
  EXPECT_EQ(pod->phase, "");
}

TEST_F(DefaultingTest, TakesRequestsFromLimits) {
  const auto made =
      pod("containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}, {name: b, "
          "resources: {limits: {cpu: 1500u}}}],"
          " initContainers: [{name: i, resources: {limits: {example.com/x: 3}}}]");
  EXPECT_EQ(request(made, "cpu"), 1002);
  EXPECT_EQ(request(made, "memory"), 1 << 30);
  EXPECT_EQ(request(made, "example.com/x"), 3);
}

TEST_F(DefaultingTest, RoundsQuantitiesToThousandths) {
  EXPECT_EQ(request(pod("containers: [{name: a, resources: {requests: {cpu: 500u}}}, {name: b, resources: {requests: "
                        "{cpu: 500u}}}]"),
                    "cpu"),
            2);
}

TEST_F(DefaultingTest, FillsPodLevelRequestsFromContainersThenLimits) {
  const auto made =
      pod("resources: {limits: {cpu: 4, memory: 2Gi}}, containers: [{name: a, resources: {requests: {cpu: 1}}}]");
  EXPECT_EQ(request(made, "cpu"), 1000);
  EXPECT_EQ(request(made, "memory"), std::int64_t{2} << 30);
}

TEST_F(DefaultingTest, MakesPortsOfTheHostNetworkHostPorts) {
  const auto made = pod(
      "hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 82}]}]");
  ASSERT_EQ(made->spec->host_ports.size(), 2u);
  EXPECT_EQ(made->spec->host_ports[0].port, 80);
  EXPECT_EQ(made->spec->host_ports[1].port, 82);
  EXPECT_TRUE(pod("containers: [{name: a, ports: [{containerPort: 80}]}]")->spec->host_ports.empty());
}

TEST_F(DefaultingTest, FindsPriorities) {
  EXPECT_EQ(pod("priorityClassName: high")->priority, 1000);
  EXPECT_FALSE(pod("priorityClassName: high")->spec->preempts);
  EXPECT_TRUE(pod("priorityClassName: high, preemptionPolicy: PreemptLowerPriority")->spec->preempts);
  EXPECT_EQ(pod("priorityClassName: system-node-critical")->priority, 2000001000);
  EXPECT_EQ(pod("priorityClassName: system-cluster-critical")->priority, 2000000000);
  EXPECT_EQ(pod("hostNetwork: false")->priority, 10);
  EXPECT_EQ(pod("priority: 7")->priority, 7);
  EXPECT_EQ(Defaulting().priority_of("")->value, 0);
  EXPECT_EQ(in.try_pod("{metadata: {name: p}, spec: {containers: [{name: c}], priorityClassName: gone}}"), nullptr);
  EXPECT_NE(in.problems.render().find("spec.priorityClassName: no PriorityClass with name gone was found"),
            std::string::npos);
}

TEST_F(DefaultingTest, ToleratesLostNodesForFiveMinutesUnlessThePodSaysOtherwise) {
  using O = model::TolerationOperator;
  using E = model::TaintEffect;
  const model::Toleration not_ready{in("node.kubernetes.io/not-ready"), 1, O::exists, E::no_execute, 300};
  const model::Toleration unreachable{in("node.kubernetes.io/unreachable"), 1, O::exists, E::no_execute, 300};
  EXPECT_EQ(pod("hostNetwork: false")->spec->tolerations, (std::vector<model::Toleration>{not_ready, unreachable}));
  EXPECT_EQ(pod("tolerations: [{operator: Exists}]")->spec->tolerations.size(), 1u);
  EXPECT_EQ(pod("tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]")->spec->tolerations[1],
            unreachable);
  EXPECT_EQ(pod("tolerations: [{operator: Exists, effect: NoSchedule}]")->spec->tolerations.size(), 3u);
}

TEST_F(DefaultingTest, MergesLabelKeysIntoSelectors) {
  const auto made =
      pod("topologySpreadConstraints: [{labelSelector: {}, matchLabelKeys: [k, absent]}, {matchLabelKeys: [k]}], "
          "affinity: {podAffinity:"
          " {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}, matchLabelKeys: [k], "
          "mismatchLabelKeys: [l]}]}}",
          "labels: {k: v, l: w}");
  using Requirements = std::vector<model::Requirement>;
  const model::Requirement in_v{in("k"), model::Operator::in, {in("v")}, 0};
  EXPECT_EQ(made->spec->spread[0].selector.requirements, Requirements{in_v});
  EXPECT_EQ(made->spec->spread[1].selector.kind, model::Selector::Kind::nothing);
  EXPECT_EQ(made->spec->affinity.required[0].selector.requirements,
            (Requirements{in_v, {in("l"), model::Operator::not_in, {in("w")}, 0}}));
}

TEST_F(DefaultingTest, CompletesOtherObjects) {
  const auto service = std::get<model::ObjectPtr>(
      *in.object("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {a: b}}}"));
  EXPECT_EQ(service->ns, "default");
  EXPECT_EQ(service->json,
            R"({"apiVersion":"v1","kind":"Service","spec":{"selector":{"a":"b"}},"metadata":{"name":"s","uid":")" +
                service->uid + R"(","namespace":"default"}})");
  const auto space =
      std::get<model::ObjectPtr>(*in.object("{apiVersion: v1, kind: Namespace, metadata: {name: n, labels: {a: b}}}"));
  EXPECT_EQ(space->ns, "");
  EXPECT_NE(space->json.find(R"("labels":{"a":"b","kubernetes.io/metadata.name":"n"})"), std::string::npos)
      << space->json;
}

}  // namespace
}  // namespace berth::decode
