// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "decoding.hpp"

namespace berth::decode {
namespace {

TEST(ObjectDecoder, NamesResourcesAsTheirPlural) {
  EXPECT_EQ(resource_of("v1", "Service"), "core/v1/services");
  EXPECT_EQ(resource_of("apps/v1", "ReplicaSet"), "apps/v1/replicasets");
  EXPECT_EQ(resource_of("storage.k8s.io/v1", "StorageClass"), "storage.k8s.io/v1/storageclasses");
  EXPECT_EQ(resource_of("storage.k8s.io/v1", "CSIStorageCapacity"), "storage.k8s.io/v1/csistoragecapacities");
  EXPECT_EQ(resource_of("v1", "Endpoints"), "core/v1/endpoints");
}

TEST(ObjectDecoder, KeepsObjectsWholeAndTellsOfKindsItDoesNotKnow) {
  Decoding in;
  std::vector<std::string> unknown;
  in.options.on_unknown_kind = [&](std::string_view version, std::string_view kind) {
    unknown.push_back(std::string(version) + " " + std::string(kind));
  };
  const auto set = in.object(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"n","uid":"u","resourceVersion":"3"},"spec":{"x":[1,1.50]}})");
  ASSERT_TRUE(set);
  const model::Object& object = *std::get<model::ObjectPtr>(*set);
  EXPECT_EQ(object.resource, "apps/v1/replicasets");
  EXPECT_EQ(object.ns + "/" + object.name + " " + object.uid + " " + object.resource_version, "n/r u 3");
  EXPECT_EQ(
      object.json,
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"n","uid":"u","resourceVersion":"3"},"spec":{"x":[1,1.50]}})");
  EXPECT_FALSE(in.object("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}"));
  EXPECT_FALSE(in.object("{apiVersion: example.com/v1, kind: Pod, metadata: {name: d}}"));
  EXPECT_EQ(unknown, (std::vector<std::string>{"apps/v1 Deployment", "example.com/v1 Pod"}));
  EXPECT_TRUE(in.problems.empty()) << in.problems.render();
  in.options.watched = {"example.com/v1/widgets"};
  EXPECT_TRUE(in.object("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}"));
}

TEST(ObjectDecoder, ReadsOfStorageClassesWhetherTheyWaitForAPod) {
  Decoding in;
  const auto waits = [&](const std::string& fields) {
    const auto decoded =
        in.object("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}" + fields + "}");
    return decoded && std::get<model::ObjectPtr>(*decoded)->waits_for_first_consumer;
  };
  EXPECT_TRUE(waits(", volumeBindingMode: WaitForFirstConsumer"));
  EXPECT_FALSE(waits(", volumeBindingMode: Immediate"));
  EXPECT_FALSE(waits(""));
  EXPECT_FALSE(waits(", parameters: {volumeBindingMode: WaitForFirstConsumer}"));
  EXPECT_TRUE(in.problems.empty()) << in.problems.render();
}

TEST(ObjectDecoder, ReportsWhatIsNoObject) {
  Decoding in;
  for (const std::string_view yaml :
       {"[1]", "just text", "{metadata: {name: x}}", "{apiVersion: v1, kind: 3}", "{apiVersion: v1, kind: Service}"})
    EXPECT_FALSE(in.object(yaml));
  EXPECT_EQ(in.problems.render(),
            "f.yaml:1:1: must be a Kubernetes object (a mapping with apiVersion, kind and metadata)\n"
            "f.yaml:1:1: must be a Kubernetes object (a mapping with apiVersion, kind and metadata)\n"
            "f.yaml:1:1: apiVersion: an object needs apiVersion\n"
            "f.yaml:1:1: kind: an object needs kind\n"
            "f.yaml:1:24: kind: must be a string, not a number (write \"3\")\n"
            "f.yaml:1:1: metadata.name: an object needs a name\n");
}

TEST(ObjectDecoder, KeepsBodiesOfThosePodsThatAreAskedForAndOfNodes) {
  Decoding in;
  in.options.keeps_pod_body = [](const model::Pod& pod) { return pod.name == "kept"; };
  const char* const spec = R"(, "managedFields": [{}]}, "spec": {"containers": [{"name": "c"}], "odd": {"x": 1.50}}})";
  const auto pod = [&](const std::string& name) {
    return in.pod(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name +
                  R"(", "namespace": "n", "uid": "u")" + spec);
  };
  EXPECT_EQ(
      pod("kept")->body.text(),
      R"({"spec":{"containers":[{"name":"c"}],"odd":{"x":1.50}},"metadata":{"name":"kept","namespace":"n","uid":"u"}})");
  EXPECT_TRUE(pod("other")->body.empty());
  const char* const node = R"({"metadata": {"name": "a", "uid": "u"}, "status": {"nodeInfo": {"machineID": "m"}}})";
  EXPECT_TRUE(in.node(node)->body.empty());
  in.options.keep_node_bodies = true;
  EXPECT_EQ(in.node(node)->body.text(),
            R"({"status":{"nodeInfo":{"machineID":"m"}},"metadata":{"name":"a","uid":"u"}})");
}

TEST(ObjectDecoder, BodiesHaveTheNamesThatWereFilledIn) {
  Decoding in;
  in.options.defaulting = std::make_shared<Defaulting>();
  in.options.keeps_pod_body = [](const model::Pod&) { return true; };
  const auto pod = in.pod("{metadata: {name: p}, spec: {containers: [{name: c}]}}");
  EXPECT_EQ(pod->body.text(), R"({"spec":{"containers":[{"name":"c"}]},"metadata":{"name":"p","uid":")" +
                                  pod->uid.text() + R"(","namespace":"default"}})");
}

TEST(ManagedResources, AreThoseThatContainersName) {
  Decoding in;
  in.options.managed_resources = {"example.com/a", "example.com/b", "example.com/c"};
  const auto named = [&](const std::string& spec) {
    std::vector<std::string> out;
    const auto pod = in.pod("{metadata: {name: p, namespace: n, uid: u}, spec: {" + spec + "}}");
    for (const Symbol symbol : pod->spec->managed_resources) out.emplace_back(in.symbols.text(symbol));
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(named("containers: [{name: c, resources: {requests: {cpu: 1, example.com/x: 1}}}]"), Names{});
  EXPECT_EQ(named("containers: [{name: c, resources: {limits: {example.com/b: 0}}}]"), Names{"example.com/b"});
  EXPECT_EQ(named("containers: [{name: c}, {name: d, resources: {requests: {example.com/c: 1}}}], "
                  "initContainers: [{name: i, resources: {limits: {example.com/a: 1}}}]"),
            (Names{"example.com/a", "example.com/c"}));
  EXPECT_EQ(named("containers: [{name: c}], resources: {limits: {example.com/a: 1}}"), Names{});
}

TEST(FieldNeeds, HoldWhenAllTestsDo) {
  Decoding in;
  in.options.needs = {
      {"Claims", {{"spec.volumes[].persistentVolumeClaim"}}},
      {"Claims", {{"spec.volumes[].ephemeral"}}},
      {"Devices", {{"spec.resourceClaims"}}},
      {"Both", {{"spec.hostNetwork", "true"}, {"spec.hostUsers", "false"}}},
      {"Never", {}},
  };
  using Unsupported = std::vector<model::PodSpec::Unsupported>;
  EXPECT_EQ(in.with_spec("hostNetwork: true, volumes: [{name: a}]")->spec->unsupported, Unsupported{});
  EXPECT_EQ(in.with_spec("volumes: [{name: a}, {name: b, ephemeral: {}}]")->spec->unsupported,
            (Unsupported{{"Claims", "spec.volumes[].ephemeral"}}));
  EXPECT_EQ(in.with_spec("volumes: [{name: a, persistentVolumeClaim: {claimName: c}}, {name: b, ephemeral: {}}], "
                         "resourceClaims: [{name: x}]")
                ->spec->unsupported,
            (Unsupported{{"Claims", "spec.volumes[].persistentVolumeClaim"}, {"Devices", "spec.resourceClaims"}}));
  EXPECT_EQ(in.with_spec("resourceClaims: []")->spec->unsupported, Unsupported{});
  EXPECT_EQ(in.with_spec("resourceClaims: null, volumes: null")->spec->unsupported, Unsupported{});
  EXPECT_EQ(in.with_spec("hostNetwork: false, hostUsers: false")->spec->unsupported, Unsupported{});
  EXPECT_EQ(in.with_spec("hostNetwork: true, hostUsers: false")->spec->unsupported,
            (Unsupported{{"Both", "spec.hostNetwork"}}));
}

TEST(SymbolsOfObjects, AreHeldByTheObjectAndItsCopies) {
  Decoding in;
  const auto pod = in.pod(
      "{metadata: {name: p, namespace: team-1, labels: {job: job-1}}, spec: {nodeName: node-1, containers: [{name: "
      "c}]}}");
  const Symbol job = in.symbols.find("job-1"), node = in.symbols.find("node-1");
  ASSERT_NE(job, k_no_symbol);
  const auto list = pod->symbols.list();
  EXPECT_NE(std::find(list.begin(), list.end(), job), list.end());
  EXPECT_EQ(std::find(list.begin(), list.end(), node), list.end()) << "it is the pod's own";
  EXPECT_GT(in.symbols.size().symbols, 4u);
  const std::size_t unused_before = in.symbols.size().unused_bytes;
  const auto copy = std::make_shared<model::Pod>(*pod);
  EXPECT_EQ(in.symbols.size().unused_bytes, unused_before);
}

TEST(SymbolsOfObjects, OfPodsOfOneWorkloadAreOneList) {
  Decoding in;
  const ObjectDecoder decoder(in.symbols, {});
  const auto pod = [&](const std::string& name, const std::string& node) {
    const auto documents =
        text::parse("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", labels: {app: web}}, spec: {containers: [{name: c}], nodeName: " + node + "}}",
                    "f.yaml", in.problems);
    return std::get<model::PodPtr>(*decoder.decode(documents.at(0), documents.at(0).root(), in.problems));
  };
  const auto a = pod("a", "n1"), b = pod("b", "n2");
  ASSERT_FALSE(a->symbols.list().empty());
  EXPECT_EQ(a->symbols.list().data(), b->symbols.list().data());
}

}  // namespace
}  // namespace berth::decode
