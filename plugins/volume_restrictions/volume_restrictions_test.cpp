// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "../shared/storage/storage_scene.hpp"
#include "disks.hpp"

namespace {
using namespace berth::testkit;
using namespace storage::testing;

const Answer k_disk = unschedulable("node(s) had no available disk");
const Answer k_claim = unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod");

VolumeSpec inline_volume(std::string json) { return {"v", BERTH_VOLUME_INLINE, std::move(json)}; }
NodeVolumeSpec on_node(std::string json) { return {BERTH_VOLUME_INLINE, std::move(json)}; }

struct DiskCase {
  const char* name;
  const char* wanted;
  const char* used;
  bool conflict;
};
const std::vector<DiskCase> k_disks = {
    {"SameGceDisk", R"({"gcePersistentDisk":{"pdName":"d"}})", R"({"gcePersistentDisk":{"pdName":"d"}})", true},
    {"OtherGceDisk", R"({"gcePersistentDisk":{"pdName":"d"}})", R"({"gcePersistentDisk":{"pdName":"e"}})", false},
    {"GceReadersOnly", R"({"gcePersistentDisk":{"pdName":"d","readOnly":true}})",
     R"({"gcePersistentDisk":{"pdName":"d","readOnly":true}})", false},
    {"GceReaderAndWriter", R"({"gcePersistentDisk":{"pdName":"d","readOnly":true}})",
     R"({"gcePersistentDisk":{"pdName":"d"}})", true},
    {"EbsReadersToo", R"({"awsElasticBlockStore":{"volumeID":"d","readOnly":true}})",
     R"({"awsElasticBlockStore":{"volumeID":"d","readOnly":true}})", true},
    {"IscsiByNameAlone", R"({"iscsi":{"iqn":"q","lun":1}})", R"({"iscsi":{"iqn":"q","lun":2}})", true},
    {"RbdSharesAMonitor", R"({"rbd":{"monitors":["a","b"],"pool":"p","image":"i"}})",
     R"({"rbd":{"monitors":["b","c"],"pool":"p","image":"i"}})", true},
    {"RbdOtherMonitors", R"({"rbd":{"monitors":["a"],"pool":"p","image":"i"}})",
     R"({"rbd":{"monitors":["c"],"pool":"p","image":"i"}})", false},
    {"RbdOtherPool", R"({"rbd":{"monitors":["a"],"pool":"p","image":"i"}})",
     R"({"rbd":{"monitors":["a"],"pool":"q","image":"i"}})", false},
    {"KindsDiffer", R"({"gcePersistentDisk":{"pdName":"d"}})", R"({"awsElasticBlockStore":{"volumeID":"d"}})", false},
};
class Disks : public testing::TestWithParam<DiskCase> {};
TEST_P(Disks, BearOneUserAtATime) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  Attempt attempt(policy, {.volumes = {inline_volume(GetParam().wanted)}},
                  seen(policy, {{.name = "used", .volumes = {on_node(GetParam().used)}}, {.name = "empty"}}));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{GetParam().conflict ? k_disk : passes(), passes()}));
}
INSTANTIATE_TEST_SUITE_P(All, Disks, testing::ValuesIn(k_disks),
                         [](const auto& instance) { return instance.param.name; });

TEST(VolumeRestrictions, AreSkippedWhereNothingIsExclusive) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  put_claim(FakeCluster::of(policy), {.name = "shared"});
  put_claim(FakeCluster::of(policy), {.name = "mine", .modes = {"ReadWriteOncePod"}});
  const auto nodes = seen(policy, {{.name = "a", .volumes = {{BERTH_VOLUME_CLAIM, "shared"}}}});
  for (const PodSpec& pod : {PodSpec{}, PodSpec{.volumes = {{"v", BERTH_VOLUME_CLAIM, "shared"}}},
                             PodSpec{.volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}}}})
    EXPECT_EQ(Attempt(policy, pod, nodes).pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
}

TEST(VolumeRestrictions, KeepTheSecondUserOfAnExclusiveClaimOffAllNodes) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  put_claim(FakeCluster::of(policy), {.name = "mine", .modes = {"ReadWriteOncePod"}});
  Attempt attempt(policy, {.volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}}},
                  seen(policy, {{.name = "a", .volumes = {{BERTH_VOLUME_CLAIM, "mine"}}}, {.name = "b"}}));
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  EXPECT_EQ(attempt.filter(), (std::vector<Answer>{k_claim, k_claim}));
}

TEST(VolumeRestrictions, DoNotMixUpNamespaces) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  put_claim(FakeCluster::of(policy), {.name = "mine", .modes = {"ReadWriteOncePod"}});
  Attempt attempt(policy, {.volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}}},
                  seen(policy, {{.name = "a", .volumes = {{BERTH_VOLUME_CLAIM, "mine", "other"}}}}));
  EXPECT_EQ(attempt.pre_filter().code, static_cast<berth_code>(BERTH_SKIP));
}

TEST(VolumeRestrictions, NameTheClaimThatIsMissing) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  Attempt attempt(policy, {.volumes = {{"v", BERTH_VOLUME_CLAIM, "gone"}}}, seen(policy, {{.name = "a"}}));
  EXPECT_EQ(attempt.pre_filter(), (Outcome{BERTH_UNRESOLVABLE, "persistentvolumeclaim \"gone\" not found"}));
}

TEST(VolumeRestrictions, FailWithoutPreFilter) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  Attempt attempt(policy, {}, {{.name = "a"}});
  try {
    attempt.filter();
    FAIL() << "no error";
  } catch (const CallError& e) {
    EXPECT_EQ(e.outcome, (Outcome{BERTH_ERROR, "cannot read \"PreFilterVolumeRestrictions\" from cycleState"}));
  }
}

TEST(VolumeRestrictions, WakeThePodWhoseDiskOrClaimWasLetGo) {
  Policy policy(tested_library(), {}, FakeCluster::install);
  const PodSpec waiting{
      .name = "w",
      .volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}, inline_volume(R"({"gcePersistentDisk":{"pdName":"d"}})")}};
  const auto wakes = [&](const PodSpec& gone) {
    return policy.wakes({.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = gone}, waiting);
  };
  EXPECT_TRUE(wakes({.name = "x", .volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}}}));
  EXPECT_TRUE(wakes({.name = "x", .volumes = {inline_volume(R"({"gcePersistentDisk":{"pdName":"d"}})")}}));
  EXPECT_FALSE(wakes({.name = "x", .volumes = {{"v", BERTH_VOLUME_CLAIM, "other"}}}));
  EXPECT_FALSE(wakes({.name = "x", .ns = "other", .volumes = {{"v", BERTH_VOLUME_CLAIM, "mine"}}}));
  EXPECT_FALSE(wakes({.name = "x"}));
  const auto claim_wakes = [&](const ClaimSpec& added) {
    return policy.wakes(
        {.kind = BERTH_KIND_PERSISTENT_VOLUME_CLAIM, .actions = BERTH_ACTION_ADD, .new_object = claim(added)}, waiting);
  };
  EXPECT_TRUE(claim_wakes({.name = "mine"}));
  EXPECT_FALSE(claim_wakes({.name = "mine", .ns = "other"}));
  EXPECT_FALSE(claim_wakes({.name = "other"}));
}

/// Any order of imagined arrivals and departures that ends where it began ends with the same answers.
TEST(VolumeRestrictions, AreWhatTheyWereAfterPodsCameAndWent) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() + 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Policy policy(tested_library(), {}, FakeCluster::install);
  for (const char* name : {"a", "b", "c"})
    put_claim(FakeCluster::of(policy), {.name = name, .modes = {"ReadWriteOncePod"}});
  const auto* prepare = policy.ops<berth_prepare_ops_v1>("berth.prepare/1");
  for (int round = 0; round < 100; ++round) {
    Attempt attempt(policy, {.volumes = {{"v", BERTH_VOLUME_CLAIM, "a"}, {"w", BERTH_VOLUME_CLAIM, "b"}}},
                    seen(policy, {{.name = "n", .volumes = {{BERTH_VOLUME_CLAIM, "a"}}}}));
    ASSERT_EQ(attempt.pre_filter(), Outcome{});
    const std::vector<Answer> before = attempt.filter();
    berth_cycle_v1 what_if = *attempt.cycle();
    NoteRecord note;
    ASSERT_EQ(prepare->state_clone(policy.self(), attempt.cycle()->state, &what_if.state, note.raw()),
              static_cast<berth_code>(BERTH_OK));
    std::vector<PodSpec> pods;
    for (int i = 0; i < 5; ++i)
      pods.push_back({.name = "p" + std::to_string(i),
                      .volumes = {{"v", BERTH_VOLUME_CLAIM, std::string(1, static_cast<char>('a' + random() % 3))}}});
    std::vector<const PodSpec*> there;
    for (const PodSpec& pod : pods) {
      const PodRecord other(policy.host(), pod);
      ASSERT_EQ(prepare->pod_added(policy.self(), &what_if, other.raw(), 0, note.raw()),
                static_cast<berth_code>(BERTH_OK));
      there.push_back(&pod);
    }
    std::shuffle(there.begin(), there.end(), random);
    for (const PodSpec* pod : there) {
      const PodRecord other(policy.host(), *pod);
      ASSERT_EQ(prepare->pod_removed(policy.self(), &what_if, other.raw(), 0, note.raw()),
                static_cast<berth_code>(BERTH_OK));
    }
    EXPECT_EQ(attempt.filter(), before) << "the cycle's own state is not the clone's";
    std::swap(attempt.cycle()->state, what_if.state);
    EXPECT_EQ(attempt.filter(), before) << "there and back";
    std::swap(attempt.cycle()->state, what_if.state);
    prepare->state_free(policy.self(), what_if.state);
  }
}

}  // namespace
