// SPDX-License-Identifier: Apache-2.0
#include "../../shared/storage/storage_scene.hpp"
#include "../legacy_scene.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace berth::legacy::tests::volumes_test {
namespace {

using namespace storage::testing;

VolumeSpec disk(const std::string& source) { return {"d", BERTH_VOLUME_INLINE, "{" + source + "}"}; }
VolumeSpec claims(const std::string& name) { return {"c", BERTH_VOLUME_CLAIM, name}; }
NodeVolumeSpec on_node(const std::string& source) { return {BERTH_VOLUME_INLINE, "{" + source + "}"}; }
NodeVolumeSpec claimed(const std::string& name, const std::string& ns = "default") {
  return {BERTH_VOLUME_CLAIM, name, ns};
}

const std::string k_gce = R"("gcePersistentDisk":{"pdName":"a"})";
const std::string k_gce_read = R"("gcePersistentDisk":{"pdName":"a","readOnly":true})";
const std::string k_ebs = R"("awsElasticBlockStore":{"volumeID":"a","readOnly":true})";
const std::string k_rbd = R"("rbd":{"image":"i","pool":"p","monitors":["m","n"]})";
const std::string k_rbd_pool = R"("rbd":{"image":"i","pool":"q","monitors":["m"]})";
const std::string k_iscsi = R"("iscsi":{"iqn":"i"})";

TEST(NoDiskConflict, KeepsUsersOfOneDiskApart) {
  Scene scene("NoDiskConflict");
  const Answer refused = unschedulable("node(s) had no available disk");
  const auto conflict = [&](const std::string& wanted, const std::string& used) {
    const Answers answers = scene.filter({.volumes = {disk(wanted)}}, {{.name = "free"}, {.volumes = {on_node(used)}}});
    EXPECT_TRUE(answers[0].passes);
    EXPECT_TRUE(answers[1].passes || answers[1] == refused) << answers[1];
    return !answers[1].passes;
  };
  EXPECT_TRUE(conflict(k_gce, k_gce));
  EXPECT_TRUE(conflict(k_gce, k_gce_read));
  EXPECT_FALSE(conflict(k_gce_read, k_gce_read)) << "all of them read";
  EXPECT_TRUE(conflict(k_ebs, k_ebs)) << "EBS disks bear one user even so";
  EXPECT_TRUE(conflict(k_rbd, k_rbd));
  EXPECT_FALSE(conflict(k_rbd, k_rbd_pool));
  EXPECT_TRUE(conflict(k_iscsi, k_iscsi));
  EXPECT_FALSE(conflict(k_gce, k_ebs));
  EXPECT_FALSE(conflict(R"("emptyDir":{})", R"("emptyDir":{})"));
}
TEST(NoDiskConflict, DoesNotLookAtClaims) {
  Scene scene("NoDiskConflict");
  EXPECT_EQ(scene.filter({.volumes = {claims("c")}}, {{.volumes = {claimed("c")}}}), Answers{passes()});
}

const char* const k_beta = "failure-domain.beta.kubernetes.io/zone";
const char* const k_general = "topology.kubernetes.io/zone";
const std::vector<NodeSpec> k_zones = {{.name = "none"},
                                       {.name = "a", .labels = {{k_beta, "a"}}},
                                       {.name = "b", .labels = {{k_beta, "b"}}},
                                       {.name = "g", .labels = {{k_general, "a"}}}};
const Answer k_elsewhere = unresolvable("node(s) had no available volume zone");

struct ZoneScene : Scene {
  explicit ZoneScene(std::string_view args = "{}") : Scene("NoVolumeZoneConflict", args) {}
  void put_in(const std::string& name, const storage::Pairs& labels) {
    put_claim(cluster(), {.name = name, .volume = "v-" + name, .bound = true});
    put_volume(cluster(), {.name = "v-" + name, .claim = name, .labels = labels});
  }
  std::string error(const PodSpec& pod, const std::vector<NodeSpec>& nodes = k_zones) {
    try {
      filter(pod, nodes);
    } catch (const CallError& e) {
      return e.outcome.text;
    }
    return {};
  }
};

TEST(NoVolumeZoneConflict, KeepsPodsInTheZonesOfTheirVolumes) {
  ZoneScene scene;
  scene.put_in("one", {{k_beta, "a"}});
  scene.put_in("both", {{k_beta, "a__b"}});
  scene.put_in("bad", {{k_beta, "a____b"}});
  scene.put_in("plain", {});
  EXPECT_EQ(scene.filter({.volumes = {claims("one")}}, k_zones), (Answers{passes(), passes(), k_elsewhere, passes()}));
  EXPECT_EQ(scene.filter({.volumes = {claims("both")}}, k_zones), (Answers{passes(), passes(), passes(), passes()}));
  EXPECT_EQ(scene.filter({.volumes = {claims("bad")}}, k_zones), (Answers{passes(), passes(), passes(), passes()}))
      << "a label that cannot be read says nothing";
  EXPECT_EQ(scene.filter({.volumes = {claims("plain"), claims("one")}}, k_zones),
            (Answers{passes(), passes(), k_elsewhere, passes()}));
}
TEST(NoVolumeZoneConflict, TakesAMissingRegionForAnEmptyOne) {
  ZoneScene scene;
  scene.put_in("one", {{"failure-domain.beta.kubernetes.io/region", "r"}});
  EXPECT_EQ(scene.filter({.volumes = {claims("one")}}, k_zones),
            (Answers{passes(), k_elsewhere, k_elsewhere, passes()}));
}
TEST(NoVolumeZoneConflict, LooksAtGeneralLabelsWhenTold) {
  ZoneScene then, later(R"({"gaLabels":true})");
  for (ZoneScene* scene : {&then, &later}) scene->put_in("one", {{k_general, "b"}});
  EXPECT_EQ(then.filter({.volumes = {claims("one")}}, k_zones), (Answers{passes(), passes(), passes(), passes()}));
  EXPECT_EQ(later.filter({.volumes = {claims("one")}}, k_zones),
            (Answers{passes(), k_elsewhere, k_elsewhere, k_elsewhere}));
}
TEST(NoVolumeZoneConflict, EndsTheAttemptForWhatItCannotLookUp) {
  ZoneScene scene;
  put_claim(scene.cluster(), {.name = "unbound", .class_name = "now"});
  put_claim(scene.cluster(), {.name = "no-class"});
  put_claim(scene.cluster(), {.name = "waits", .class_name = "later"});
  put_claim(scene.cluster(), {.name = "no-mode", .class_name = "odd"});
  put_claim(scene.cluster(), {.name = "lost", .volume = "gone", .bound = true});
  put(scene.cluster(), storage::k_classes, storage_class("now", "p", "Immediate"));
  put(scene.cluster(), storage::k_classes, storage_class("later", "p", "WaitForFirstConsumer"));
  put(scene.cluster(), storage::k_classes, storage_class("odd", "p", ""));
  EXPECT_EQ(scene.error({.volumes = {claims("")}}), "PersistentVolumeClaim had no name");
  EXPECT_EQ(scene.error({.volumes = {claims("absent")}}), "PersistentVolumeClaim was not found: \"absent\"");
  EXPECT_EQ(scene.error({.volumes = {claims("unbound")}}), "PersistentVolumeClaim was not found: \"unbound\"");
  EXPECT_EQ(scene.error({.volumes = {claims("no-class")}}), "PersistentVolumeClaim was not found: \"no-class\"");
  EXPECT_EQ(scene.error({.volumes = {claims("no-mode")}}), "VolumeBindingMode not set for StorageClass \"odd\"");
  EXPECT_EQ(scene.error({.volumes = {claims("lost")}}), "PersistentVolume was not found: \"gone\"");
  EXPECT_EQ(scene.error({.volumes = {claims("waits")}}), "");
}
TEST(NoVolumeZoneConflict, AsksOnlyAsFarAsSomeNodeGets) {
  ZoneScene scene;
  scene.put_in("one", {{k_beta, "a"}});
  const PodSpec pod = {.volumes = {claims("one"), claims("absent")}};
  EXPECT_EQ(scene.error(pod, {{.name = "none"}}), "") << "a node without zone is not asked at all";
  EXPECT_EQ(scene.filter(pod, {{.name = "b", .labels = {{k_beta, "b"}}}}), Answers{k_elsewhere})
      << "it failed before the claim that is not there";
  EXPECT_NE(scene.error(pod), "");
}

struct TypeCase {
  const char* predicate;
  const char* plugin;
  const char* source;  // with %s for the id
  const char* provisioner;
  const char* resource;
  int limit;
};
const std::vector<TypeCase> k_types = {
    {"MaxEBSVolumeCount", "EBSLimits", R"("awsElasticBlockStore":{"volumeID":"%s"})", "kubernetes.io/aws-ebs",
     "attachable-volumes-aws-ebs", 39},
    {"MaxGCEPDVolumeCount", "GCEPDLimits", R"("gcePersistentDisk":{"pdName":"%s"})", "kubernetes.io/gce-pd",
     "attachable-volumes-gce-pd", 16},
    {"MaxAzureDiskVolumeCount", "AzureDiskLimits", R"("azureDisk":{"diskName":"%s"})", "kubernetes.io/azure-disk",
     "attachable-volumes-azure-disk", 16},
    {"MaxCinderVolumeCount", "CinderLimits", R"("cinder":{"volumeID":"%s"})", "kubernetes.io/cinder",
     "attachable-volumes-cinder", 256}};
const Answer k_too_many = unschedulable("node(s) exceed max volume count");

std::string source_of(const TypeCase& type, const std::string& id) {
  std::string text = type.source;
  return text.replace(text.find("%s"), 2, id);
}
NodeSpec with_disks(const TypeCase& type, int count) {
  NodeSpec node;
  for (int i = 0; i < count; ++i) node.volumes.push_back(on_node(source_of(type, "used-" + std::to_string(i))));
  return node;
}

class DiskLimits : public testing::TestWithParam<TypeCase> {};
INSTANTIATE_TEST_SUITE_P(All, DiskLimits, testing::ValuesIn(k_types),
                         [](const auto& instance) { return instance.param.predicate; });

/// Both names, and with and without the pre-filter point, which must not differ.
void expect_all_ways(const TypeCase& type, const PodSpec& pod, const std::vector<NodeSpec>& nodes, const Answers& want,
                     void (*prepare)(FakeCluster&, const TypeCase&) = nullptr, std::string_view args = "{}") {
  for (const char* name : {type.predicate, type.plugin}) {
    for (const bool prepared : {false, true}) {
      Scene scene(name, args);
      if (prepare != nullptr) prepare(scene.cluster(), type);
      Attempt& attempt = scene.attempt(pod, nodes);
      if (prepared && attempt.pre_filter().code == BERTH_SKIP) {
        EXPECT_TRUE(std::all_of(want.begin(), want.end(), [](const Answer& a) { return a.passes; }));
        continue;
      }
      EXPECT_EQ(attempt.filter(), want) << name << (prepared ? " prepared" : "");
    }
  }
}

TEST_P(DiskLimits, RefuseTheDiskBeyondTheDefault) {
  const TypeCase& type = GetParam();
  const PodSpec pod = {.volumes = {disk(source_of(type, "new"))}};
  expect_all_ways(type, pod, {with_disks(type, type.limit - 1), with_disks(type, type.limit)}, {passes(), k_too_many});
  expect_all_ways(type, {}, {with_disks(type, type.limit + 5)}, {passes()});
  expect_all_ways(type, {.volumes = {disk(source_of(type, "used-0"))}}, {with_disks(type, type.limit)}, {passes()});
}
TEST_P(DiskLimits, CountEachDiskOnceAndOtherTypesNotAtAll) {
  const TypeCase& type = GetParam();
  NodeSpec node = with_disks(type, type.limit - 1);
  node.volumes.push_back(on_node(source_of(type, "used-0")));
  for (const TypeCase& other : k_types)
    if (other.predicate != type.predicate) node.volumes.push_back(on_node(source_of(other, "x")));
  PodSpec pod = {.volumes = {disk(source_of(type, "new")), disk(source_of(type, "new"))}};
  expect_all_ways(type, pod, {node}, {passes()});
  pod.volumes.push_back(disk(source_of(type, "newer")));
  expect_all_ways(type, pod, {node}, {k_too_many});
}
TEST_P(DiskLimits, FollowTheNodeThenTheOperator) {
  const TypeCase& type = GetParam();
  const PodSpec pod = {.volumes = {disk(source_of(type, "new"))}};
  NodeSpec own = with_disks(type, 3);
  own.capacity = {{type.resource, 3}};
  expect_all_ways(type, pod, {own, with_disks(type, 4), with_disks(type, 5)}, {k_too_many, passes(), k_too_many},
                  nullptr, R"({"maxVolumes":5})");
}
TEST_P(DiskLimits, ResolveClaims) {
  const TypeCase& type = GetParam();
  const auto prepare = [](FakeCluster& cluster, const TypeCase& t) {
    put_claim(cluster, {.name = "bound", .volume = "v", .bound = true});
    put_volume(cluster, {.name = "v", .source = source_of(t, "from-claim")});
    put_claim(cluster, {.name = "other", .volume = "w", .bound = true});
    put_volume(cluster, {.name = "w", .source = R"("nfs":{})"});
    put_claim(cluster, {.name = "unbound", .class_name = "of-type"});
    put_claim(cluster, {.name = "lost", .class_name = "of-type", .volume = "gone", .bound = true});
    put_claim(cluster, {.name = "foreign", .class_name = "foreign"});
    put(cluster, storage::k_classes, storage_class("of-type", t.provisioner, "Immediate"));
    put(cluster, storage::k_classes, storage_class("foreign", "example.com/other", "Immediate"));
  };
  NodeSpec full = with_disks(type, 1);
  full.capacity = {{type.resource, 1}};
  const auto counts = [&](const char* claim, bool expected) {
    expect_all_ways(type, {.volumes = {claims(claim)}}, {full}, {expected ? k_too_many : passes()}, prepare);
  };
  counts("bound", true);
  counts("unbound", true);
  counts("lost", true);
  counts("other", false);
  counts("foreign", false);
  counts("absent", false);
  NodeSpec has_it;
  has_it.capacity = {{type.resource, 1}};
  has_it.volumes = {claimed("bound")};
  expect_all_ways(type, {.volumes = {claims("bound")}}, {has_it}, {passes()}, prepare);
  expect_all_ways(type, {.volumes = {disk(source_of(type, "from-claim"))}}, {has_it}, {passes()}, prepare);
  expect_all_ways(type, {.volumes = {disk(source_of(type, "new"))}}, {has_it}, {k_too_many}, prepare);
  has_it.volumes = {claimed("bound", "elsewhere")};
  expect_all_ways(type, {.volumes = {disk(source_of(type, "new"))}}, {has_it}, {passes()}, prepare);
}
TEST_P(DiskLimits, DoNotConcernNodesWhereACsiDriverTookOver) {
  const TypeCase& type = GetParam();
  NodeSpec full = with_disks(type, 1), migrated = full;
  full.name = "full";
  migrated.name = "migrated";
  full.capacity = migrated.capacity = {{type.resource, 1}};
  expect_all_ways(type, {.volumes = {disk(source_of(type, "new"))}}, {full, migrated}, {k_too_many, passes()},
                  [](FakeCluster& cluster, const TypeCase& t) {
                    put(cluster, storage::k_csi_nodes, csi_node("full", "[]", "kubernetes.io/other"));
                    put(cluster, storage::k_csi_nodes,
                        csi_node("migrated", "[]", std::string("kubernetes.io/other,") + t.provisioner));
                  });
}
TEST_P(DiskLimits, ReadTheCsiNodeOfANodeOncePerPod) {
  const TypeCase& type = GetParam();
  Scene scene(type.predicate);
  NodeSpec full = with_disks(type, 1);
  full.capacity = {{type.resource, 1}};
  Attempt& attempt = scene.prepared({.volumes = {disk(source_of(type, "new"))}}, {full});
  EXPECT_EQ(attempt.filter(), Answers{k_too_many});
  put(scene.cluster(), storage::k_csi_nodes, csi_node(full.name, "[]", type.provisioner));
  EXPECT_EQ(attempt.filter(), Answers{k_too_many}) << "what the attempt has read holds for all of it";
  EXPECT_EQ(scene.prepared({.volumes = {disk(source_of(type, "new"))}}, {full}).filter(), Answers{passes()});
}
TEST(MaxEBSVolumeCount, AllowsFewerOnNitroInstances) {
  const TypeCase& ebs = k_types[0];
  const auto fits = [&](const std::string& type, int disks) {
    Scene scene("MaxEBSVolumeCount");
    NodeSpec node = with_disks(ebs, disks);
    node.labels["beta.kubernetes.io/instance-type"] = type;
    return scene.filter({.volumes = {disk(source_of(ebs, "new"))}}, {node})[0].passes;
  };
  for (const char* nitro : {"c5.large", "m5d.large", "r5.xlarge", "t3.nano", "z1d.large", "xt3"}) {
    EXPECT_TRUE(fits(nitro, 24)) << nitro;
    EXPECT_FALSE(fits(nitro, 25)) << nitro;
  }
  for (const char* older : {"m4.large", "xc5.large", "t2.nano", ""}) {
    EXPECT_TRUE(fits(older, 38)) << older;
    EXPECT_FALSE(fits(older, 39)) << older;
  }
}
TEST(MaxGCEPDVolumeCount, ReadsTheLimitOfTheEnvironment) {
  const TypeCase& gce = k_types[1];
  const auto fits = [&](const char* value, int disks, std::string_view args = "{}") {
    ::setenv("KUBE_MAX_PD_VOLS", value, 1);
    Scene scene("MaxGCEPDVolumeCount", args);
    ::unsetenv("KUBE_MAX_PD_VOLS");
    return scene.filter({.volumes = {disk(source_of(gce, "new"))}}, {with_disks(gce, disks)})[0].passes;
  };
  EXPECT_TRUE(fits("3", 2));
  EXPECT_FALSE(fits("3", 3));
  for (const char* unusable : {"", "-1", "0", "many"}) {
    EXPECT_TRUE(fits(unusable, 15)) << unusable;
    EXPECT_FALSE(fits(unusable, 16)) << unusable;
  }
  EXPECT_FALSE(fits("9", 2, R"({"maxVolumes":2})")) << "args win";
  EXPECT_EQ(refusal("MaxGCEPDVolumeCount", R"({"maxVolumes":0})"),
            "maxVolumes: Invalid value: 0: must be greater than zero");
}
TEST(MaxGCEPDVolumeCount, CountsANodeAgainWhenAnObjectChanges) {
  const TypeCase& gce = k_types[1];
  Scene scene("MaxGCEPDVolumeCount", R"({"maxVolumes":1})");
  put_claim(scene.cluster(), {.name = "c", .volume = "v", .bound = true});
  const PodSpec pod = {.volumes = {disk(source_of(gce, "new"))}};
  const auto answer = [&] {
    Attempt& attempt = scene.attempt(pod, {{.volumes = {claimed("c")}}});
    EXPECT_EQ(attempt.pre_filter(), Outcome{});
    return attempt.filter()[0];
  };
  EXPECT_EQ(answer(), passes());
  put_volume(scene.cluster(), {.name = "v", .source = source_of(gce, "d")});
  EXPECT_EQ(answer(), k_too_many);
}

}  // namespace
}  // namespace berth::legacy::tests::volumes_test
