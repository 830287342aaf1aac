// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "../shared/storage/storage_scene.hpp"

namespace {
using namespace berth::testkit;
using namespace storage::testing;

const Answer k_refused = unresolvable("node(s) had no available volume zone");
constexpr const char* k_ga = "topology.kubernetes.io/zone";
constexpr const char* k_beta = "failure-domain.beta.kubernetes.io/zone";
const PodSpec k_pod{.volumes = {{"v", BERTH_VOLUME_CLAIM, "c"}}};

void put_zoned(Policy& policy, const storage::Pairs& labels) {
  put_claim(FakeCluster::of(policy), {.name = "c", .volume = "v", .bound = true});
  put_volume(FakeCluster::of(policy), {.name = "v", .claim = "c", .labels = labels});
}

struct ZoneCase {
  const char* name;
  storage::Pairs volume;
  Strings node;
  bool fits;
};
const std::vector<ZoneCase> k_cases = {
    {"Same", {{k_ga, "z1"}}, {{k_ga, "z1"}}, true},
    {"Other", {{k_ga, "z1"}}, {{k_ga, "z2"}}, false},
    {"OneOfSeveral", {{k_ga, "z1__z2"}}, {{k_ga, "z2"}}, true},
    {"PartsAreTrimmed", {{k_ga, " z1 __ z2 "}}, {{k_ga, "z1"}}, true},
    {"BetaVolumeOnGaNode", {{k_beta, "z1"}}, {{k_ga, "z1"}}, true},
    {"GaVolumeOnBetaNode", {{k_ga, "z1"}}, {{k_beta, "z1"}}, false},
    {"BetaLabelOfTheNodeComesFirst", {{k_beta, "z1"}}, {{k_beta, "z2"}, {k_ga, "z1"}}, false},
    {"NodeWithoutAnyOfTheLabels", {{k_ga, "z1"}}, {{"x", "y"}}, true},
    {"RegionAsWell", {{k_ga, "z1"}, {"topology.kubernetes.io/region", "r1"}}, {{k_ga, "z1"}}, false},
};
class Zones : public testing::TestWithParam<ZoneCase> {};
TEST_P(Zones, OfVolumeAndNodeAreCompared) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  put_zoned(policy, GetParam().volume);
  Attempt attempt(policy, k_pod, {{.name = "n", .labels = GetParam().node}});
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), std::vector<Answer>{GetParam().fits ? passes() : k_refused});
}
TEST_P(Zones, AreComparedInTheSameWayWithoutPreFilter) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  put_zoned(policy, GetParam().volume);
  Attempt attempt(policy, k_pod, {{.name = "n", .labels = GetParam().node}});
  EXPECT_EQ(attempt.filter(), std::vector<Answer>{GetParam().fits ? passes() : k_refused});
}
INSTANTIATE_TEST_SUITE_P(All, Zones, testing::ValuesIn(k_cases),
                         [](const auto& instance) { return instance.param.name; });

struct ClaimCase {
  const char* name;
  ClaimSpec claim;
  Outcome outcome;
};
const Outcome k_skip{BERTH_SKIP, ""};
const std::vector<ClaimCase> k_claims_of_pods = {
    {"WithoutZones", {.name = "c", .volume = "plain", .bound = true}, k_skip},
    {"UnreadableZones", {.name = "c", .volume = "unreadable", .bound = true}, k_skip},
    {"WaitsForThePod", {.name = "c", .class_name = "wait"}, k_skip},
    {"Missing", {.name = "other"}, {BERTH_UNRESOLVABLE, "persistentvolumeclaim \"c\" not found"}},
    {"WithoutClass", {.name = "c"}, {BERTH_UNRESOLVABLE, "PersistentVolumeClaim had no pv name and storageClass name"}},
    {"UnknownClass",
     {.name = "c", .class_name = "none"},
     {BERTH_UNRESOLVABLE, "storageclass.storage.k8s.io \"none\" not found"}},
    {"ClassWithoutMode",
     {.name = "c", .class_name = "modeless"},
     {BERTH_UNRESOLVABLE, "VolumeBindingMode not set for StorageClass \"modeless\""}},
    {"BoundAtOnce", {.name = "c", .class_name = "now"}, {BERTH_UNRESOLVABLE, "PersistentVolume had no name"}},
    {"VolumeGone", {.name = "c", .volume = "gone"}, {BERTH_UNRESOLVABLE, "persistentvolume \"gone\" not found"}},
};
class ClaimsOfPods : public testing::TestWithParam<ClaimCase> {};
TEST_P(ClaimsOfPods, AreJudgedBeforeTheNodes) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  FakeCluster& cluster = FakeCluster::of(policy);
  put(cluster, storage::k_classes, storage_class("wait", "p", "WaitForFirstConsumer"));
  put(cluster, storage::k_classes, storage_class("now", "p", "Immediate"));
  put(cluster, storage::k_classes, storage_class("modeless", "p", ""));
  put_volume(cluster, {.name = "plain"});
  put_volume(cluster, {.name = "unreadable", .labels = {{k_ga, "z1____z2"}}});
  put_claim(cluster, GetParam().claim);
  EXPECT_EQ(Attempt(policy, k_pod, {{.name = "n"}}).pre_filter(), GetParam().outcome);
}
INSTANTIATE_TEST_SUITE_P(All, ClaimsOfPods, testing::ValuesIn(k_claims_of_pods),
                         [](const auto& instance) { return instance.param.name; });

TEST(VolumeZone, WakesPodsForChangesThatCount) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  const auto wakes = [&](EventSpec event) { return policy.wakes(event, k_pod); };
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_STORAGE_CLASS, .new_object = storage_class("c", "p", "WaitForFirstConsumer")}));
  EXPECT_FALSE(wakes({.kind = BERTH_KIND_STORAGE_CLASS, .new_object = storage_class("c", "p", "Immediate")}));
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .new_object = claim({.name = "c"})}));
  EXPECT_FALSE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .new_object = claim({.name = "d"})}));
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME, .new_object = volume({.name = "any"})}));
  const auto changed = [&](const storage::Pairs& before, const storage::Pairs& after) {
    return wakes({.kind = BERTH_KIND_PERSISTENT_VOLUME,
                  .actions = BERTH_ACTION_UPDATE,
                  .old_object = volume({.name = "v", .labels = before}),
                  .new_object = volume({.name = "v", .labels = after})});
  };
  EXPECT_TRUE(changed({{k_ga, "z1"}}, {{k_ga, "z2"}}));
  EXPECT_FALSE(changed({{k_ga, "z1"}}, {{k_ga, "z1"}, {"x", "y"}}));
  EXPECT_TRUE(wakes({.kind = BERTH_KIND_NODE, .actions = BERTH_ACTION_ADD}));
}

}  // namespace
