// SPDX-License-Identifier: Apache-2.0
// What is kept of classes of pods, in a cluster that changes at random (changing_cluster.hpp): after each change pods of a few
// classes are tried twice, by what is kept of their class and by a computation that keeps nothing, for each policy of the
// default profile by itself, for all of them, and for all of them with gangs. In half of the runs each kept verdict and score
// is held against a fresh one as well. After each fifth change a new scheduler has to come to the same, so that what plugins keep
// for all classes is held, too. The seed is in each failure; BERTH_SEED=n runs that one only, BERTH_LONG=1 makes 100,000 changes
// for each policy.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "cases/changing_cluster.hpp"
#include "config/resolve.hpp"
#include "support/seeds.hpp"

namespace berth::cases::kept_verdicts {
namespace {

constexpr int k_changes = 100;  // of a seed
constexpr int k_new_scheduler_every = 5;
constexpr std::size_t k_usual_runs = 2;  // seeds for each policy, without BERTH_LONG

/// A profile with one policy, and what a pod needs to come to a node at all. "all": the default profile.
std::string configuration_of(std::string_view policy) {
  const std::string head =
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{"schedulerName":"default-scheduler")";
  if (policy == "all") return head + "}]}";
  if (policy == "gangs")
    return head +
           R"(,"plugins":{"multiPoint":{"enabled":[{"name":"Coscheduling"}]},"queueSort":{"enabled":[{"name":"Coscheduling"}],"disabled":[{"name":"*"}]}}}]})";
  // Without scores the first node that fits is taken, and nothing is kept; and evictions need a filter.
  constexpr std::string_view k_need_another[] = {
      "NodeUnschedulable", "NodeName",   "NodePorts",         "VolumeRestrictions",
      "NodeVolumeLimits",  "VolumeZone", "DefaultPreemption", "NodeDeclaredFeatures"};
  const bool needs_another =
      std::find(std::begin(k_need_another), std::end(k_need_another), policy) != std::end(k_need_another);
  const std::string others = needs_another ? R"({"name":"NodeResourcesFit"},)" : "";
  return head +
         fmt::format(
             R"(,"plugins":{{"multiPoint":{{"disabled":[{{"name":"*"}}],"enabled":[{{"name":"PrioritySort"}},{}{{"name":"{}"}},{{"name":"DefaultBinder"}}]}}}}}}]}})",
             others, policy);
}

class KeptVerdicts : public ::testing::TestWithParam<const char*> {};

TEST_P(KeptVerdicts, AreWhatAFreshComputationFindsAfterEachRandomChange) {
  const std::string_view policy = GetParam();
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load(configuration_of(policy), "policy", problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  const app::PluginLibrary plugins = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
  ASSERT_TRUE(plugins.ok()) << plugins.report.render();
  config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  std::vector<std::uint32_t> seeds = tests::seeds();
  if (std::getenv("BERTH_LONG") == nullptr && seeds.size() > k_usual_runs) seeds.resize(k_usual_runs);
  std::printf("of these %zu, from %u to %u\n", seeds.size(), seeds.front(), seeds.back());
  const bool scores_images = policy == "all" || policy == "gangs" || policy == "ImageLocality";
  std::uint64_t changes = 0, reused = 0;
  ChangingCluster::Counts all;
  for (const std::uint32_t seed : seeds) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    configuration.plugins.verdict_reuse = seed % 2 == 0 ? config::VerdictReuse::on : config::VerdictReuse::verify;
    ChangingCluster cluster(configuration, plugins, seed, policy == "gangs");
    for (int i = 0; i < k_changes; ++i, ++changes) {
      SCOPED_TRACE(fmt::format("change {}", i));
      cluster.change();
      cluster.expect_kept_is_fresh();
      if (i % k_new_scheduler_every == 0) cluster.expect_as_of_a_new_scheduler(scores_images);
      if (HasFailure()) return;
    }
    reused += cluster.reuse().reused;
    all.without_class += cluster.counts().without_class;
    all.placed += cluster.counts().placed;
    all.rejected += cluster.counts().rejected;
    all.evicts += cluster.counts().evicts;
    all.new_schedulers += cluster.counts().new_schedulers;
  }
  std::printf(
      "%s",
      fmt::format("{}: {} changes, {} decisions by what was kept; tries: {} with a node, {} without, {} that "
                  "would evict, {} of pods without a class; {} new schedulers\n",
                  policy, changes, reused, all.placed, all.rejected, all.evicts, all.without_class, all.new_schedulers)
          .c_str());
  EXPECT_GT(reused, changes / 2) << "hardly anything is kept";
}

INSTANTIATE_TEST_SUITE_P(Each, KeptVerdicts,
                         ::testing::Values("all", "gangs", "NodeUnschedulable", "NodeName", "TaintToleration",
                                           "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
                                           "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
                                           "InterPodAffinity", "DynamicResources", "DefaultPreemption",
                                           "NodeResourcesBalancedAllocation", "ImageLocality", "NodeDeclaredFeatures"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace berth::cases::kept_verdicts
