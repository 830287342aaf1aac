// SPDX-License-Identifier: Apache-2.0
// From what a user writes to the plugins of each point.
#include "config/read/merge.hpp"

#include <gtest/gtest.h>

#include "test_plugins.hpp"

namespace berth::config::test {
namespace {

RawPluginSets sets(std::vector<std::pair<std::string, std::int32_t>> enabled, std::vector<std::string> disabled) {
  RawPluginSets out;
  for (auto& [name, weight] : enabled) out[k_multi_point].enabled.push_back({name, weight, {}, false});
  for (std::string& name : disabled) out[k_multi_point].disabled.push_back({name, 0, {}, false});
  return out;
}

std::string merged(const RawPluginSets& defaults, const RawPluginSets& user) {
  const RawPluginSets result = merge_over_defaults(defaults, user);
  std::string out;
  for (const RawPlugin& plugin : result[k_multi_point].enabled)
    out += plugin.name + (plugin.weight != 0 ? std::to_string(plugin.weight) : "") + ' ';
  return out;
}

TEST(Merge, KeepsTheDefaultsPlaceAndTakesTheUsersEntry) {
  EXPECT_EQ(merged(sets({{"A", 0}, {"B", 2}, {"C", 0}}, {}), sets({{"D", 0}, {"B", 7}}, {})), "A B7 C D ");
}

TEST(Merge, TakesTheLastOfSeveralEntriesAndKeepsTheOthersToBeRefused) {
  EXPECT_EQ(merged(sets({{"A", 0}, {"B", 0}}, {}), sets({{"A", 1}, {"A", 2}}, {})), "A2 B A1 ");
}

TEST(Merge, DropsDisabledDefaults) { EXPECT_EQ(merged(sets({{"A", 0}, {"B", 0}}, {}), sets({}, {"A"})), "B "); }

TEST(Merge, DropsWhatTheDefaultsDisable) { EXPECT_EQ(merged(sets({{"A", 0}, {"B", 0}}, {"A"}), sets({}, {})), "B "); }

TEST(Merge, MovesToTheEndWhatIsDisabledAndEnabled) {
  EXPECT_EQ(merged(sets({{"A", 0}, {"B", 0}}, {}), sets({{"A", 5}}, {"A"})), "B A5 ");
}

TEST(Merge, StarDropsAllDefaults) {
  EXPECT_EQ(merged(sets({{"A", 0}, {"B", 0}}, {}), sets({{"B", 3}, {"C", 0}}, {"*"})), "B3 C ");
}

TEST(Merge, KeepsTheUnionOfTheDisabledNames) {
  const RawPluginSets result = merge_over_defaults(sets({}, {"A", "B"}), sets({}, {"C", "B"}));
  ASSERT_EQ(result[k_multi_point].disabled.size(), 3u);
  EXPECT_EQ(result[k_multi_point].disabled[0].name, "C");
  EXPECT_EQ(result[k_multi_point].disabled[2].name, "A");
}

std::string absent_at(const Profile& profile, Point point) {
  std::string out;
  for (const EnabledPlugin& plugin : profile.at(point))
    if (plugin.absent) out += plugin.name + ' ';
  return out;
}

TEST(Expand, APlacementPluginThatIsAbsentStandsAtPreFilter) {
  const auto resolved = [](const std::string& plugins) {
    text::Diagnostics problems;
    const RawConfiguration raw =
        load(scheduler_configuration("profiles: [{plugins: {" + plugins + "}}]"), "berth.yaml", problems);
    const Configuration out = resolve(raw, bundled_plugins(), AbsentPlugins::embedded(), problems);
    EXPECT_EQ(problems.render(), "");
    return out.profiles.front();
  };
  const Profile named = resolved(
      "placementGenerate: {enabled: [{name: TopologyPlacementGenerator}]}, "
      "placementScore: {enabled: [{name: PodGroupPodsCount, weight: 2}]}");
  EXPECT_EQ(absent_at(named, Point::pre_filter), "TopologyPlacementGenerator PodGroupPodsCount ");
  EXPECT_EQ(absent_at(named, Point::permit), "");
  const Profile everywhere = resolved("multiPoint: {enabled: [{name: GangScheduling}, {name: PodGroupPodsCount}]}");
  EXPECT_EQ(absent_at(everywhere, Point::pre_filter), "PodGroupPodsCount ");
  EXPECT_EQ(absent_at(everywhere, Point::pre_enqueue), "GangScheduling ");
  EXPECT_EQ(absent_at(everywhere, Point::permit), "GangScheduling ");
}

TEST(EnableByGates, AddsPluginsToProfilesThatDoNotDisableThem) {
  text::Diagnostics problems;
  RawConfiguration raw =
      load(scheduler_configuration("profiles: [{schedulerName: a}, {schedulerName: b, plugins: {multiPoint: {disabled: "
                                   "[{name: GangScheduling}]}}}, {schedulerName: c, plugins: {multiPoint: {enabled: "
                                   "[{name: GangScheduling}]}}}]"),
           "berth.yaml", problems);
  ASSERT_EQ(problems.render(), "");
  const auto names = [&](std::size_t profile) {
    std::string out;
    for (const RawPlugin& plugin : raw.profiles[profile].plugins[k_multi_point].enabled)
      if (AbsentPlugins::embedded().find(plugin.name) != nullptr) out += plugin.name + ' ';
    return out;
  };
  enable_by_gates(raw.profiles, AbsentPlugins::embedded(), [](std::string_view) { return false; });
  EXPECT_EQ(names(0), "");
  enable_by_gates(raw.profiles, AbsentPlugins::embedded(),
                  [](std::string_view gate) { return gate == "GangScheduling"; });
  EXPECT_EQ(names(0), "GangScheduling ");
  EXPECT_EQ(names(1), "");
  EXPECT_EQ(names(2), "GangScheduling ");
}

struct DefaultOrder {
  Point point;
  std::string_view plugins;
};

TEST(Expand, DefaultProfileHasUpstreamsPluginsInUpstreamsOrder) {
  const Resolved resolved = resolve_text(scheduler_configuration(""));
  ASSERT_EQ(resolved.problems, "");
  const DefaultOrder cases[] = {
      {Point::pre_enqueue, "SchedulingGates, DynamicResources, DefaultPreemption"},
      {Point::queue_sort, "PrioritySort"},
      {Point::pre_filter,
       "NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, "
       "PodTopologySpread, InterPodAffinity, DynamicResources, NodeDeclaredFeatures"},
      {Point::filter,
       "NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, "
       "NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, "
       "NodeDeclaredFeatures"},
      {Point::post_filter, "DynamicResources, DefaultPreemption"},
      {Point::pre_score,
       "TaintToleration, NodeAffinity, NodeResourcesFit, VolumeBinding, PodTopologySpread, InterPodAffinity, "
       "NodeResourcesBalancedAllocation"},
      {Point::score,
       "TaintToleration 3, NodeAffinity 2, NodeResourcesFit 1, VolumeBinding 1, PodTopologySpread 2, InterPodAffinity "
       "2, "
       "DynamicResources 2, NodeResourcesBalancedAllocation 1, ImageLocality 1"},
      {Point::reserve, "VolumeBinding, DynamicResources"},
      {Point::permit, ""},
      {Point::pre_bind, "VolumeBinding, DynamicResources"},
      {Point::bind, "DefaultBinder"},
      {Point::post_bind, ""},
  };
  for (const DefaultOrder& c : cases)
    EXPECT_EQ(order(resolved.configuration.profiles.at(0), c.point), c.plugins) << name_of(c.point);
}

PluginCatalog with_foo_and_bar() {
  PluginCatalog catalog = bundled_plugins();
  catalog.plugins.push_back(plugin("Foo", {Point::filter, Point::score}));
  catalog.plugins.push_back(plugin("Bar", {Point::score}));
  return catalog;
}

// Weights, overrides, additions and a plugin that keeps filtering when it no longer scores, all in one profile.
TEST(Expand, OverridesFirstThenMultiPointThenTheRest) {
  const Resolved resolved = resolve_text(scheduler_configuration(R"(
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Foo}, {name: PodTopologySpread, weight: 7}]
      disabled: [{name: ImageLocality}]
    score:
      enabled: [{name: NodeAffinity, weight: 9}, {name: Bar}]
      disabled: [{name: TaintToleration}]
)"),
                                         with_foo_and_bar());
  ASSERT_EQ(resolved.problems, "");
  const Profile& profile = resolved.configuration.profiles.at(0);
  EXPECT_EQ(order(profile, Point::score),
            "NodeAffinity 9, NodeResourcesFit 1, VolumeBinding 1, PodTopologySpread 7, InterPodAffinity 2, "
            "DynamicResources 2, "
            "NodeResourcesBalancedAllocation 1, Foo 1, Bar 1");
  EXPECT_EQ(
      order(profile, Point::filter),
      "NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, "
      "NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, "
      "NodeDeclaredFeatures, Foo");
}

TEST(Expand, SeveralOverridesKeepTheirOwnOrder) {
  const Resolved resolved = resolve_text(scheduler_configuration(
      "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 4}, {name: NodeAffinity}]}}}]"));
  ASSERT_EQ(resolved.problems, "");
  const std::string score = order(resolved.configuration.profiles.at(0), Point::score);
  EXPECT_EQ(score.substr(0, score.find(", Node", 20)), "ImageLocality 4, NodeAffinity 1, TaintToleration 3");
}

TEST(Expand, StarAtAPointLeavesOnlyWhatIsListedThere) {
  const Resolved resolved = resolve_text(scheduler_configuration(
      "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 3}]}}}]"));
  ASSERT_EQ(resolved.problems, "");
  const Profile& profile = resolved.configuration.profiles.at(0);
  EXPECT_EQ(order(profile, Point::score), "NodeResourcesFit 3");
  EXPECT_EQ(order(profile, Point::pre_score).substr(0, 15), "TaintToleration");
}

TEST(Expand, WrittenWeightOfZeroIsOne) {
  const Resolved resolved = resolve_text(
      scheduler_configuration("profiles: [{plugins: {multiPoint: {enabled: [{name: TaintToleration, weight: 0}]}}}]"));
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(resolved.configuration.profiles.at(0).at(Point::score).front().weight, 1);
}

/// The bundled plugins without a file for VolumeZone, and an entry that says what it would be.
PluginCatalog without_volume_zone() {
  PluginCatalog catalog = bundled_plugins();
  std::erase_if(catalog.plugins, [](const CatalogPlugin& known) { return known.name == "VolumeZone"; });
  return catalog;
}
AbsentPlugins absent_volume_zone() {
  return AbsentPlugins({{.name = "VolumeZone",
                         .points = bit_of(Point::pre_filter) | bit_of(Point::filter),
                         .needs = {},
                         .reason = "",
                         .filter_error_without_pre_filter = "",
                         .score_error_without_pre_filter = "",
                         .args_schema = ""}},
                       {});
}

TEST(Expand, MarksPluginsThatAreAbsent) {
  const AbsentPlugins absent = absent_volume_zone();
  const Resolved resolved = resolve_text(scheduler_configuration(""), without_volume_zone(), absent);
  ASSERT_EQ(resolved.problems, "");
  for (const EnabledPlugin& enabled : resolved.configuration.profiles.at(0).at(Point::filter))
    EXPECT_EQ(enabled.absent, enabled.name == "VolumeZone") << enabled.name;
}

TEST(Expand, ALoadedPluginTakesPrecedenceOverItsAbsentEntry) {
  const AbsentPlugins absent = absent_volume_zone();
  PluginCatalog catalog = without_volume_zone();
  catalog.plugins.push_back(plugin("VolumeZone", {Point::filter}));
  const Resolved resolved = resolve_text(scheduler_configuration(""), catalog, absent);
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(order(resolved.configuration.profiles.at(0), Point::pre_filter).find("VolumeZone"), std::string::npos);
  for (const EnabledPlugin& enabled : resolved.configuration.profiles.at(0).at(Point::filter))
    EXPECT_FALSE(enabled.name == "VolumeZone" && enabled.absent);
}

}  // namespace
}  // namespace berth::config::test
