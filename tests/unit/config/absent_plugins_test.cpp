// SPDX-License-Identifier: Apache-2.0
#include "config/absent_plugins.hpp"

#include <gtest/gtest.h>

#include "config/args/args_schema.hpp"
#include "config/embedded.hpp"

namespace berth::config {
namespace {

std::string written(const model::FieldNeed& need) {
  std::string out;
  for (const model::FieldCondition& condition : need.all_of)
    out += (out.empty() ? "" : " & ") + condition.path + (condition.equals ? "=" + *condition.equals : "");
  return out;
}

TEST(AbsentPlugins, SayWhichFieldsOfAPodNeedThem) {
  text::Diagnostics problems;
  const AbsentPlugins absent = AbsentPlugins::parse(R"(
plugins:
  - name: Disks
    points: [preFilter, filter]
    reason: r
    needs: [{field: "spec.volumes[].rbd"}, {allOf: [{field: spec.kind, equals: x}, {field: "spec.items[].on"}]}]
)",
                                                    "f", problems);
  ASSERT_EQ(problems.render(), "");
  const AbsentPlugin* const disks = absent.find("Disks");
  ASSERT_NE(disks, nullptr);
  ASSERT_EQ(disks->needs.size(), 2u);
  EXPECT_EQ(written(disks->needs[0]), "spec.volumes[].rbd");
  EXPECT_EQ(written(disks->needs[1]), "spec.kind=x & spec.items[].on");
}

TEST(AbsentPlugins, SayWhyWhereverAPodCanNeedThem) {
  for (const AbsentPlugin& plugin : AbsentPlugins::embedded().all()) {
    EXPECT_NE(plugin.points, 0u) << plugin.name;
    EXPECT_TRUE(plugin.needs.empty() || !plugin.reason.empty()) << plugin.name;
    if (!plugin.args_schema.empty()) {
      const auto schema = ArgsSchema::parse(plugin.args_schema);
      EXPECT_TRUE(schema.ok()) << plugin.name << ": " << (schema ? "" : schema.error().message);
    }
  }
}

TEST(AbsentPlugins, AreOnlyThoseBehindFeatureGates) {
  text::Diagnostics problems;
  EXPECT_TRUE(AbsentPlugins::parse(embedded::absent_plugins(), "f", problems).all().empty());
  const AbsentPlugins gated = AbsentPlugins::parse(embedded::gated_plugins(), "f", problems);
  EXPECT_EQ(problems.render(), "");
  EXPECT_EQ(gated.all().size(), 3u);
  for (const AbsentPlugin& plugin : gated.all()) EXPECT_NE(plugin.gate, "") << plugin.name;
}

TEST(AbsentPlugins, ThatScheduleGroupsAreNeededByPodsOfAPodGroup) {
  for (const char* name : {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}) {
    const AbsentPlugin* const plugin = AbsentPlugins::embedded().find(name);
    ASSERT_NE(plugin, nullptr) << name;
    ASSERT_EQ(plugin->needs.size(), 1u) << name;
    EXPECT_EQ(written(plugin->needs[0]), "spec.schedulingGroup.podGroupName") << name;
    EXPECT_NE(plugin->reason.find(name), std::string::npos);
  }
}

TEST(AbsentPlugins, AreReadStrictly) {
  text::Diagnostics problems;
  (void)AbsentPlugins::parse("plugins: [{name: A, points: [filters], need: []}]", "f", problems);
  EXPECT_EQ(problems.render(),
            "f:1:29: plugins[0].points: \"filters\" is no extension point\n"
            "f:1:40: plugins[0]: unknown field \"need\" (did you mean \"needs\"?)\n");
}

TEST(AbsentPlugins, NameTheReplacementOfARemovedPlugin) {
  ASSERT_NE(AbsentPlugins::embedded().find_removed("SelectorSpread"), nullptr);
  EXPECT_EQ(AbsentPlugins::embedded().find_removed("SelectorSpread")->instead, "PodTopologySpread");
  EXPECT_EQ(AbsentPlugins::embedded().find_removed("NodeName"), nullptr);
}

}  // namespace
}  // namespace berth::config
