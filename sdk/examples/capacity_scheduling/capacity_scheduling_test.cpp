// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

#include <fstream>
#include <iterator>

#include "elastic_quota.hpp"

namespace {
using namespace berth::testkit;
using namespace capacity_scheduling;

berth::Json rows(const char* table) {
  std::ifstream in(ROWS_FILE);
  return berth::Json::parse(std::string{std::istreambuf_iterator<char>(in), {}})[table];
}

/// Names of resources as numbers, cpu, memory and storage first.
berth::Id id_of(const std::string& name) {
  static std::vector<std::string> names{"", "cpu", "memory", "ephemeral-storage"};
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<berth::Id>(at - names.begin());
  names.push_back(name);
  return static_cast<berth::Id>(names.size() - 1);
}
constexpr PlainResources k_plain{1, 2, 3};

Amounts amounts_of(const berth::Json& list) {
  Amounts amounts;
  for (const auto& [name, amount] : list.members()) amounts.add(id_of(name), amount.integer(name));
  return amounts;
}

TEST(ElasticQuota, IsExceededAsTheRowsOfUpstreamSay) {
  int judged = 0;
  const berth::Json all = rows("over");
  for (const berth::Json& row : all.array("over")) {
    SCOPED_TRACE(row["name"].string("name"));
    const std::string question = row["question"].string("question");
    ElasticQuota quota;
    quota.used = amounts_of(row["used"]);
    if (!row["limit"].is_null())
      (question == "max with" ? quota.max : quota.min) =
          Limits{amounts_of(row["limit"]), 0, question == "max with" ? Limits::k_none : 0};
    const Amounts asked = amounts_of(row["asked"]);
    const bool is_over = question == "max with"   ? quota.is_over_max_with(asked, k_plain)
                         : question == "min with" ? quota.is_over_min_with(asked, k_plain)
                                                  : quota.is_over_min(k_plain);
    EXPECT_EQ(is_over, row["expected"].boolean("expected"));
    ++judged;
  }
  EXPECT_EQ(judged, 15);
}

TEST(ElasticQuota, IsReadAsTheRowsOfUpstreamSay) {
  int judged = 0;
  const berth::Json all = rows("parsed");
  for (const berth::Json& row : all.array("parsed")) {
    SCOPED_TRACE(row["name"].string("name"));
    const auto expect = [&](const berth::Json& expected, const Limits& limits) {
      for (const auto& [name, amount] : expected.members()) {
        const Amounts::Entry* const named = limits.named.find(id_of(name));
        EXPECT_EQ(named == nullptr ? limits.plain : named->second, amount.integer(name)) << name;
      }
    };
    expect(row["minIs"], ElasticQuota::limits_of(row["min"], false, id_of));
    expect(row["maxIs"], ElasticQuota::limits_of(row["max"], true, id_of));
    ++judged;
  }
  EXPECT_EQ(judged, 4);
}

TEST(ElasticQuota, KnowsSumsThatDoNotFit) {
  Amounts amounts;
  amounts.add(1, INT64_MAX);
  amounts.add(1, 1);
  EXPECT_EQ(amounts.of(1), INT64_MAX);
}

constexpr const char* k_quotas = "scheduling.x-k8s.io/v1alpha1/elasticquotas";

/// Enough of the service for what is asked outside of a search.
struct NoPreemption {
  static std::uint32_t evicting(void*, berth_str uid) { return text_of(uid) == "evicts-uid" ? 1 : 0; }
  static constexpr berth_preemption_v1 table{
      sizeof(berth_preemption_v1), 0, nullptr, nullptr, nullptr, nullptr, &evicting, nullptr, nullptr};
};

/// Memory is all that is asked for and bounded.
struct Namespaces {
  static void prepare(FakeHost& host) {
    FakeCluster::install(host);
    host.extra_services["berth.preemption/1"] = &NoPreemption::table;
  }
  void quota(const std::string& ns, std::int64_t min, std::int64_t max) {
    cluster.put(k_quotas, ns, "quota",
                {FieldText("{\"memory\":\"" + std::to_string(min) + "\"}"),
                 FieldText("{\"memory\":\"" + std::to_string(max) + "\"}")});
  }
  static PodSpec pod(const std::string& name, const std::string& ns, std::int64_t memory, std::int64_t priority = 0) {
    return {.name = name,
            .ns = ns,
            .priority = priority,
            .resources = {{"cpu"}, {"memory", memory}, {"ephemeral-storage"}}};
  }
  void place(const std::string& name, const std::string& ns, std::int64_t memory) {
    pods.put(0, pod(name, ns, memory));
  }
  Outcome judge(const PodSpec& spec) { return Attempt(policy, spec, cluster.nodes = {{.name = "n"}}).pre_filter(); }

  Policy policy{tested_library(), "", prepare};
  FakeCluster& cluster = FakeCluster::of(policy);
  FakePods& pods = FakePods::of(policy);
};
const Outcome k_over_max{BERTH_UNSCHEDULABLE, "ElasticQuota shop is more than Max"};
const Outcome k_over_all{BERTH_UNSCHEDULABLE, "total ElasticQuota used is more than min"};
const Outcome k_fits{};
const Outcome k_no_quota{BERTH_SKIP, ""};

TEST(CapacityScheduling, RejectsPodsAsTheRowsOfUpstreamSay) {
  int judged = 0;
  const berth::Json all = rows("preFilter");
  for (const berth::Json& row : all.array("preFilter")) {
    SCOPED_TRACE(row["name"].string("name"));
    Namespaces cluster;
    for (const auto& [ns, quota] : row["quotas"].members()) {
      cluster.quota(ns, quota["min"].integer("min"), quota["max"].integer("max"));
      cluster.place("used-by-" + ns, ns, quota["used"].integer("used"));
    }
    for (const berth::Json& each : row["pods"].items()) {
      const Outcome outcome =
          cluster.judge(Namespaces::pod("p", each["ns"].string("ns"), each["memory"].integer("memory")));
      EXPECT_EQ(outcome.code == BERTH_OK || outcome.code == BERTH_SKIP, each["fits"].boolean("fits")) << outcome;
      ++judged;
    }
  }
  EXPECT_EQ(judged, 4);
}

TEST(CapacityScheduling, CountsPodsUntilTheyAreGone) {
  Namespaces cluster;
  cluster.quota("shop", 1000, 1000);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 1000)), k_fits);
  cluster.place("a", "shop", 600);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 401)), k_over_max);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "other", 401)), k_no_quota);
  cluster.pods.take("a");
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 401)), k_fits);
  EXPECT_EQ(cluster.pods.visits_of_all, 1);
}

TEST(CapacityScheduling, FollowsQuotasThatComeChangeAndGo) {
  Namespaces cluster;
  cluster.place("a", "shop", 600);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500)), k_no_quota);
  cluster.quota("shop", 1000, 1000);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500)), k_over_max);
  cluster.quota("shop", 1000, 1100);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500)), k_over_all);
  cluster.quota("batch", 100, 100);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500)), k_fits) << "batch does not use what it is guaranteed";
  cluster.cluster.remove(k_quotas, "shop", "quota");
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500)), k_no_quota);
}

TEST(CapacityScheduling, CountsNominatedPodsThatMatterAsMuch) {
  Namespaces cluster;
  cluster.quota("shop", 1000, 1000);
  cluster.quota("batch", 1000, 1000);
  PodSpec comes = Namespaces::pod("comes", "shop", 600, 5);
  comes.nominated_node = "n";
  cluster.pods.nominate(0, comes);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500, 5)), k_over_max);
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 500, 6)), k_fits);
  EXPECT_EQ(cluster.judge(comes), k_fits) << "not itself";
}

TEST(CapacityScheduling, GuaranteesNothingWithoutAnAmount) {
  Namespaces cluster;
  cluster.cluster.put(k_quotas, "shop", "quota", {FieldText(""), FieldText(R"({"memory":"a lot"})")});
  EXPECT_EQ(cluster.judge(Namespaces::pod("p", "shop", 1)), k_no_quota) << "an amount that is none";
  ASSERT_FALSE(cluster.policy.host().log.empty());
  EXPECT_EQ(cluster.policy.host().log.back().message, "ElasticQuota shop/quota: memory: \"a lot\" is no quantity");
}

TEST(CapacityScheduling, HoldsAPodWhoseVictimsAreBeingEvicted) {
  Namespaces cluster;
  EXPECT_EQ(cluster.policy.pre_enqueue(Namespaces::pod("evicts", "shop", 1)).code, BERTH_UNRESOLVABLE);
  EXPECT_EQ(cluster.policy.pre_enqueue(Namespaces::pod("other", "shop", 1)), k_fits);
}

TEST(CapacityScheduling, TriesAgainWhenAPodGoesOrAQuotaChanges) {
  Namespaces cluster;
  const PodSpec waiting = Namespaces::pod("p", "shop", 1);
  EXPECT_TRUE(
      cluster.policy.wakes({.kind = BERTH_KIND_POD, .actions = BERTH_ACTION_DELETE, .old_pod = waiting}, waiting));
  EXPECT_FALSE(
      cluster.policy.wakes({.kind = BERTH_KIND_NODE, .actions = BERTH_ACTION_ADD, .new_node = NodeSpec{}}, waiting));
}

}  // namespace
