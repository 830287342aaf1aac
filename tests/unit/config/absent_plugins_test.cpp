// SPDX-License-Identifier: Apache-2.0
#include "config/absent_plugins.hpp"

#include <gtest/gtest.h>

#include "config/args_schema.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

std::string needed_by(const AbsentPlugins& absent, std::string_view pod) {
  text::Problems problems;
  const auto documents = text::parse(pod, "pod", problems);
  EXPECT_TRUE(problems.empty()) << problems.render();
  std::string out;
  for (const AbsentPlugins::Need& need : absent.needed_by(documents.front().root()))
    out += (out.empty() ? "" : " ") + need.plugin;
  return out;
}

struct PodCase {
  std::string_view pod, plugins;
};

constexpr std::string_view k_two_plugins = R"(
plugins:
  - name: Disks
    points: [preFilter, filter]
    reason: r
    needs: [{field: "spec.volumes[].rbd"}, {field: "spec.volumes[].persistentVolumeClaim"}]
  - name: Devices
    points: [filter]
    reason: r
    needs: [{field: spec.resourceClaims}]
)";

TEST(AbsentPlugins, AreNeededByThePodsThatSetOneOfTheFields) {
  text::Problems problems;
  const AbsentPlugins absent = AbsentPlugins::parse(k_two_plugins, "f", problems);
  ASSERT_EQ(problems.render(), "");
  const PodCase cases[] = {
      {"{spec: {volumes: [{name: v, emptyDir: {}}, {name: c, configMap: {name: x}}]}}", ""},
      {"{spec: {}}", ""},
      {"{spec: {volumes: null}}", ""},
      {"{spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}", "Disks"},
      {"{spec: {volumes: [{emptyDir: {}}, {rbd: {image: i}}], resourceClaims: [{name: gpu}]}}", "Disks Devices"},
      {"{spec: {resourceClaims: [{name: gpu, resourceClaimName: c}]}}", "Devices"},
      {"{spec: {resourceClaims: []}}", ""},
  };
  for (const PodCase& c : cases) EXPECT_EQ(needed_by(absent, c.pod), c.plugins) << c.pod;
}

TEST(AbsentPlugins, NeedAllConditionsOfOneNeed) {
  text::Problems problems;
  const AbsentPlugins absent = AbsentPlugins::parse(
      "plugins: [{name: A, points: [filter], reason: r, needs: [{allOf: [{field: spec.kind, equals: x}, {field: "
      "'spec.items[].on'}]}]}]",
      "f", problems);
  ASSERT_EQ(problems.render(), "");
  EXPECT_EQ(needed_by(absent, "{spec: {kind: x, items: [{off: 1}, {on: 1}]}}"), "A");
  EXPECT_EQ(needed_by(absent, "{spec: {kind: y, items: [{on: 1}]}}"), "");
  EXPECT_EQ(needed_by(absent, "{spec: {kind: x}}"), "");
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

TEST(AbsentPlugins, AreReadStrictly) {
  text::Problems problems;
  (void)AbsentPlugins::parse("plugins: [{name: A, points: [filters], need: []}]", "f", problems);
  EXPECT_EQ(problems.render(),
            "f:1:29: plugins[0].points: \"filters\" is no extension point\n"
            "f:1:40: plugins[0]: unknown field \"need\" (did you mean \"needs\"?)\n");
}

TEST(AbsentPlugins, KnowWhatReplacedRemovedNames) {
  ASSERT_NE(AbsentPlugins::embedded().find_removed("SelectorSpread"), nullptr);
  EXPECT_EQ(AbsentPlugins::embedded().find_removed("SelectorSpread")->instead, "PodTopologySpread");
  EXPECT_EQ(AbsentPlugins::embedded().find_removed("NodeName"), nullptr);
}

}  // namespace
}  // namespace berth::config
