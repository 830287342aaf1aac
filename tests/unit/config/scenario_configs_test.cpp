// SPDX-License-Identifier: Apache-2.0
// Configurations that kube-scheduler v1.36.2 ran with: all of them must be accepted, and some say what must come out.
#include <gtest/gtest.h>

#include <filesystem>

#include "test_plugins.hpp"

namespace berth::config::test {
namespace {

const std::string k_data = std::string(BERTH_SOURCE_DIR) + "/tests/unit/config/data";

Configuration resolve_file(const std::string& path) {
  text::Diagnostics problems;
  const RawConfiguration raw = load_file(path, problems);
  Configuration configuration = resolve(raw, bundled_plugins(), AbsentPlugins::embedded(), problems);
  EXPECT_EQ(problems.render(), "") << path;
  return configuration;
}

TEST(ScenarioConfigs, AreAllAccepted) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(k_data)) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    EXPECT_FALSE(resolve_file(entry.path().string()).profiles.empty());
  }
  EXPECT_GE(count, 13u);
}

TEST(ScenarioConfigs, ExplicitFiltersComeFirst) {
  const Configuration configuration = resolve_file(k_data + "/config-tpub-003.config.json");
  EXPECT_EQ(
      order(configuration.profiles.at(0), Point::filter),
      "VolumeRestrictions, InterPodAffinity, VolumeZone, NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, "
      "NodePorts, NodeResourcesFit, NodeVolumeLimits, VolumeBinding, PodTopologySpread, DynamicResources, "
      "NodeDeclaredFeatures");
  EXPECT_EQ(order(configuration.profiles.at(1), Point::score), "NodeResourcesFit 3");
}

TEST(ScenarioConfigs, StarAtScoreLeavesNothing) {
  const Configuration configuration = resolve_file(k_data + "/config-tpub-005.config.json");
  EXPECT_EQ(order(configuration.profiles.at(0), Point::score), "");
  EXPECT_EQ(order(configuration.profiles.at(0), Point::pre_score).substr(0, 33), "TaintToleration, NodeResourcesFit");
}

}  // namespace
}  // namespace berth::config::test
