// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/volume_controller.hpp"

#include <gtest/gtest.h>

#include "cluster/embedded/embedded_cluster.hpp"
#include "text/parse.hpp"

namespace berth::cluster {
namespace {

constexpr const char* k_wait = "storage.k8s.io/v1/storageclasses";

class VolumeControllerTest : public testing::Test {
 protected:
  void put(std::string_view resource, std::string ns, std::string name, std::string json) {
    auto object = std::make_shared<model::Object>();
    object->resource = resource;
    object->ns = std::move(ns);
    object->name = std::move(name);
    object->uid = "uid-" + object->name;
    object->json = std::move(json);
    cluster.put_object(std::move(object));
  }
  void put_claim(const std::string& spec) {
    put(k_claims, "ns", "c", R"({"metadata":{"name":"c"},"spec":)" + spec + "}");
  }
  /// The value at a path; annotations by '#'.
  std::string at(std::string_view resource, std::string_view ns, std::string_view name, std::string_view path) {
    const model::ObjectPtr object = cluster.find_object(resource, ns, name);
    if (object == nullptr) return "(no such object)";
    text::Diagnostics problems;
    const auto documents = text::parse_json(object->json, "object", problems);
    const text::Value* value = path.substr(0, 1) == "#" ? documents.front().root().find_path("metadata.annotations")
                                                        : documents.front().root().find_path(path);
    if (value != nullptr && path.substr(0, 1) == "#") value = value->find(path.substr(1));
    if (value == nullptr) return "(nothing)";
    return value->is_mapping() || value->is_sequence() ? text::to_json(*value) : std::string(value->text());
  }
  std::string claim(std::string_view path) { return at(k_claims, "ns", "c", path); }
  std::string patch(const std::string& json) {
    std::string outcome;
    cluster.patch_object({std::string(k_claims), "ns", "c"}, json, [&](const Status& status) {
      outcome = status.ok() ? "ok" : std::string(error_name(status.error().code));
    });
    cluster.deliver();
    return outcome;
  }

  SymbolTable symbols;
  ManualClock clock{1'000};
  EmbeddedCluster cluster{symbols, clock, {.volume_controller = true}};
};

TEST_F(VolumeControllerTest, BindsAClaimToTheVolumeThatNamesIt) {
  put_claim(R"({"accessModes":["ReadWriteOnce"]})");
  EXPECT_EQ(claim("spec.volumeName"), "(nothing)");
  put(k_volumes, "", "v",
      R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"5Gi"},"accessModes":["ReadWriteOnce"],)"
      R"("claimRef":{"namespace":"ns","name":"c"}},"status":{"phase":"Available"}})");
  EXPECT_EQ(claim("spec.volumeName"), "v");
  EXPECT_EQ(claim("status.phase"), "Bound");
  EXPECT_EQ(claim("#pv.kubernetes.io/bind-completed"), "yes");
  EXPECT_EQ(claim("status.capacity.storage"), "5Gi");
  EXPECT_EQ(at(k_volumes, "", "v", "status.phase"), "Bound");
  EXPECT_EQ(at(k_volumes, "", "v", "spec.claimRef.uid"), "uid-c");
}

TEST_F(VolumeControllerTest, LeavesAVolumeThatIsMeantForAnotherClaimOfThatName) {
  put_claim("{}");
  put(k_volumes, "", "v", R"({"spec":{"claimRef":{"namespace":"ns","name":"c","uid":"an earlier one"}}})");
  EXPECT_EQ(claim("spec.volumeName"), "(nothing)");
}

TEST_F(VolumeControllerTest, ProvisionsWhereTheSchedulerSaid) {
  auto node = std::make_shared<model::Node>();
  node->name = "n";
  node->labels = {{symbols.intern("zone"), symbols.intern("z1")}};
  cluster.put_node(node);
  put(k_wait, "", "wait", R"({"provisioner":"d"})");
  put("storage.k8s.io/v1/csinodes", "", "n", R"({"spec":{"drivers":[{"name":"d","topologyKeys":["zone"]}]}})");
  put_claim(R"({"storageClassName":"wait","resources":{"requests":{"storage":"2Gi"}}})");
  EXPECT_EQ(claim("spec.volumeName"), "(nothing)") << "it waits for the scheduler";
  EXPECT_EQ(patch(R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}})"), "ok");
  EXPECT_EQ(claim("spec.volumeName"), "pvc-uid-c");
  EXPECT_EQ(claim("status.phase"), "Bound");
  EXPECT_EQ(at(k_volumes, "", "pvc-uid-c", "spec.capacity.storage"), "2Gi");
  EXPECT_EQ(at(k_volumes, "", "pvc-uid-c", "spec.nodeAffinity.required.nodeSelectorTerms"),
            R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["z1"]}]}])");
}

TEST_F(VolumeControllerTest, ProvisionsNothingForClassesWithoutProvisioner) {
  put(k_wait, "", "local", R"({"provisioner":"kubernetes.io/no-provisioner"})");
  put_claim(R"({"storageClassName":"local"})");
  EXPECT_EQ(patch(R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"n"}}})"), "ok");
  EXPECT_EQ(claim("spec.volumeName"), "(nothing)");
}

TEST_F(VolumeControllerTest, PatchesOnlyTheVersionThatWasRead) {
  put_claim("{}");
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"a":"1"}}})"), "ok");
  const std::string version = claim("metadata.resourceVersion");
  EXPECT_EQ(patch(R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"a":"2"}}})"), "ok");
  EXPECT_EQ(patch(R"({"metadata":{"resourceVersion":")" + version + R"(","labels":{"a":"3"}}})"), "conflict");
  EXPECT_EQ(patch(R"({"metadata":{"uid":"another"}})"), "conflict");
  EXPECT_EQ(patch("[]"), "invalid");
  EXPECT_EQ(claim("metadata.labels.a"), "2");
  cluster.remove_object(k_claims, "ns", "c");
  EXPECT_EQ(patch("{}"), "not_found");
}

}  // namespace
}  // namespace berth::cluster
