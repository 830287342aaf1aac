// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/module.hpp>
#include <berth/testkit/placed_pods.hpp>

namespace {
using namespace berth::testkit;

constexpr const char* k_args =
    R"({"quotas": [{"namespace": "shop", "cpuMilli": 1000}, {"namespace": "batch", "memoryMiB": 100}]})";
const Outcome k_allowed{BERTH_SKIP, ""};
const Outcome k_no_cpu{BERTH_UNRESOLVABLE, "namespace shop has used up its cpu"};
const Outcome k_no_memory{BERTH_UNRESOLVABLE, "namespace batch has used up its memory"};

PodSpec asks(const std::string& name, const std::string& ns, std::int64_t cpu_milli, std::int64_t memory_mib = 0) {
  return {.name = name, .ns = ns, .resources = {{"cpu", cpu_milli}, {"memory", memory_mib << 20}}};
}

struct Quotas {
  Outcome judge(const PodSpec& pod) { return Attempt(policy, pod, {{.name = "n"}}).pre_filter(); }
  Policy policy{tested_library(), k_args, FakePods::install};
  FakePods& pods = FakePods::of(policy);
};

TEST(NamespaceQuota, LetsPodsInUntilTheQuotaIsUsedUp) {
  Quotas q;
  EXPECT_EQ(q.judge(asks("a", "shop", 600)), k_allowed);
  q.pods.put(0, asks("a", "shop", 600));
  EXPECT_EQ(q.judge(asks("b", "shop", 400)), k_allowed);
  EXPECT_EQ(q.judge(asks("b", "shop", 401)), k_no_cpu);
  EXPECT_EQ(q.judge(asks("c", "batch", 99'000, 100)), k_allowed) << "no quota of cpu";
  EXPECT_EQ(q.judge(asks("c", "batch", 1, 101)), k_no_memory);
  EXPECT_EQ(q.judge(asks("d", "other", 99'000)), k_allowed) << "a namespace without a quota";
}

TEST(NamespaceQuota, CountsPodsOfAllSchedulersUntilTheyAreGone) {
  Quotas q;
  q.pods.put(0, asks("a", "shop", 500), BERTH_PLACED_OTHER_SCHEDULER);
  q.pods.put(1, asks("b", "shop", 500), BERTH_PLACED_TERMINATING);
  EXPECT_EQ(q.judge(asks("c", "shop", 1)), k_no_cpu);
  q.pods.take("b");
  EXPECT_EQ(q.judge(asks("c", "shop", 500)), k_allowed);
}

TEST(NamespaceQuota, FollowsWhatComesAndGoesWithoutCountingAllAgain) {
  Quotas q;
  for (int i = 0; i < 9; ++i) q.pods.put(0, asks("p" + std::to_string(i), "shop", 100));
  EXPECT_EQ(q.judge(asks("x", "shop", 101)), k_no_cpu);
  EXPECT_EQ(q.pods.visits_of_all, 1);
  q.pods.take("p3");
  q.pods.put(1, asks("p4", "shop", 50));  // asks for less now
  EXPECT_EQ(q.judge(asks("x", "shop", 250)), k_allowed);
  EXPECT_EQ(q.judge(asks("x", "shop", 251)), k_no_cpu);
  EXPECT_EQ(q.pods.visits_of_all, 1);
  q.pods.take("p5");
  q.pods.forget_changes();
  EXPECT_EQ(q.judge(asks("x", "shop", 350)), k_allowed);
  EXPECT_EQ(q.pods.visits_of_all, 2) << "the host did not remember";
}

TEST(NamespaceQuota, WakesPodsOfTheNamespaceFromWhichOneGoes) {
  Quotas q;
  const auto gone = [](const PodSpec& pod) {
    return EventSpec{.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = pod};
  };
  EXPECT_TRUE(q.policy.wakes(gone(asks("a", "shop", 100)), asks("x", "shop", 100)));
  EXPECT_FALSE(q.policy.wakes(gone(asks("a", "batch", 100)), asks("x", "shop", 100)));
}

TEST(NamespaceQuota, RefusesArgsThatAreNoQuotas) {
  EXPECT_THROW(Policy(tested_library(), R"({"quotas": [{"cpuMilli": 5}]})", FakePods::install), CallError);
}

}  // namespace
