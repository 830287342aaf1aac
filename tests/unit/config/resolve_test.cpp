// SPDX-License-Identifier: Apache-2.0
// What a configuration may and may not say about the plugins that there are.
#include "config/resolve.hpp"

#include <gtest/gtest.h>

#include "test_plugins.hpp"

namespace berth::config::test {
namespace {

struct ProfileRefusal {
  std::string_view name;
  std::string body;
  std::string_view problem;
};

class RefusedProfile : public testing::TestWithParam<ProfileRefusal> {};

TEST_P(RefusedProfile, IsReportedWithPlaceProblemAndAdvice) {
  PluginCatalog catalog = bundled_plugins();
  catalog.plugins.push_back(plugin("OtherSort", {Point::queue_sort}));
  EXPECT_EQ(resolve_text(scheduler_configuration(GetParam().body), catalog).problems,
            std::string(GetParam().problem) + "\n");
}

const ProfileRefusal k_refusals[] = {
    {"plugin_mistyped", "profiles: [{plugins: {score: {enabled: [{name: NodeAfinity}]}}}]",
     "berth.yaml:3:41: profiles[0].plugins.score.enabled[0]: plugin \"NodeAfinity\" is not loaded (did you mean "
     "\"NodeAffinity\"?)"},
    {"plugin_removed_upstream", "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
     "berth.yaml:3:42: profiles[0].plugins.filter.enabled[0]: plugin \"EBSLimits\" is not loaded: it was removed from "
     "Kubernetes (use NodeVolumeLimits)"},
    {"args_of_a_removed_plugin", "profiles: [{pluginConfig: [{name: GCEPDLimits}]}]",
     "berth.yaml:3:28: profiles[0].pluginConfig[0]: Invalid value: \"GCEPDLimits\": was removed from Kubernetes (use "
     "NodeVolumeLimits)"},
    {"plugin_at_a_point_it_lacks", "profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]",
     "berth.yaml:3:41: profiles[0].plugins.score.enabled[0]: plugin \"NodePorts\" does not extend ScorePlugin plugin "
     "(it "
     "offers \"preFilter\", \"filter\")"},
    {"plugin_at_a_point_that_it_lacks", "profiles: [{plugins: {permit: {enabled: [{name: VolumeZone}]}}}]",
     "berth.yaml:3:42: profiles[0].plugins.permit.enabled[0]: plugin \"VolumeZone\" does not extend PermitPlugin "
     "plugin (it "
     "offers \"preFilter\", \"filter\")"},
    {"placement", "profiles: [{plugins: {placementScore: {enabled: [{name: NodePorts}]}}}]",
     "berth.yaml:3:50: profiles[0].plugins.placementScore.enabled[0]: plugin \"NodePorts\" does not extend "
     "PlacementScorePlugin plugin (it offers \"preFilter\", \"filter\")"},
    {"twice_at_a_point", "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}}}]",
     "berth.yaml:3:63: profiles[0].plugins.score.enabled[1]: plugin \"NodeAffinity\" already registered as "
     "\"ScorePlugin\" "
     "(list it once)"},
    {"no_queue_sort", "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]",
     "berth.yaml:3:12: profiles[0]: only one queue sort plugin required for profile with scheduler name "
     "\"default-scheduler\", but got 0 (enable one at queueSort)"},
    {"two_queue_sorts", "profiles: [{plugins: {queueSort: {enabled: [{name: OtherSort}]}}}]",
     "berth.yaml:3:12: profiles[0]: only one queue sort plugin required for profile with scheduler name "
     "\"default-scheduler\", but got 2 (disable the others at queueSort)"},
    {"no_bind", "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]",
     "berth.yaml:3:12: profiles[0]: at least one bind plugin is needed for profile with scheduler name "
     "\"default-scheduler\" (enable one at bind)"},
    {"args_out_of_range", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
     "berth.yaml:3:83: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range "
     "[0, "
     "100]"},
    {"args_of_another_kind", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {kind: NodeAffinityArgs}}]}]",
     "berth.yaml:3:66: profiles[0].pluginConfig[0].args.kind: args for plugin InterPodAffinity were not of type "
     "kubescheduler.config.k8s.io/v1.InterPodAffinityArgs, got \"NodeAffinityArgs\" (write \"InterPodAffinityArgs\" or "
     "leave it out)"},
    {"args_with_an_unknown_field", "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardWeight: 1}}]}]",
     "berth.yaml:3:60: profiles[0].pluginConfig[0].args: unknown field \"hardWeight\" (known here: "
     "\"hardPodAffinityWeight\", \"ignorePreferredTermsOfExistingPods\")"},
    {"args_of_volume_binding", "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}]",
     "berth.yaml:3:77: profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: invalid "
     "BindTimeoutSeconds, "
     "should not be a negative value"},
    {"args_that_do_not_go_together",
     "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, "
     "minCandidateNodesAbsolute: 0}}]}]",
     "berth.yaml:3:60: profiles[0].pluginConfig[0].args: Invalid value: "
     "{\"minCandidateNodesPercentage\":0,\"minCandidateNodesAbsolute\"…: minCandidateNodesPercentage cannot be zero at "
     "the "
     "same "
     "time as minCandidateNodesAbsolute"},
    {"binding_timeout", "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 10ms}}]}]",
     "berth.yaml:3:76: profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: \"10ms\": must be at least 1 "
     "second"},
    {"profiles_with_other_queue_sorts",
     "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {disabled: [{name: '*'}], enabled: "
     "[{name: "
     "OtherSort}]}}}]",
     "berth.yaml:3:108: profiles[1].plugins.queueSort: has to match for all profiles (one queue serves all profiles; "
     "see "
     "profiles[0])\n"
     "berth.yaml:3:32: profiles[1]: different queue sort plugins for profile \"b\": \"OtherSort\", first: "
     "\"PrioritySort\""},
    {"profiles_with_other_queue_sort_args",
     "profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: PrioritySort, args: {x: 1}}]}]",
     "berth.yaml:3:32: profiles[1]: different queue sort plugin args for profile \"b\""},
};

INSTANTIATE_TEST_SUITE_P(Resolve, RefusedProfile, testing::ValuesIn(k_refusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Resolve, SaysWhatFilesOfferWhenNoNameIsNear) {
  PluginCatalog few{{plugin("PrioritySort", {Point::queue_sort}), plugin("DefaultBinder", {Point::bind})}};
  const std::string problems =
      resolve_text(
          scheduler_configuration(
              "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: example.com/Rack}, "
              "{name: PrioritySort}, {name: DefaultBinder}]}}}]"),
          few)
          .problems;
  EXPECT_EQ(
      problems,
      "berth.yaml:3:71: profiles[0].plugins.multiPoint.enabled[0]: plugin \"example.com/Rack\" is not loaded (loaded: "
      "PrioritySort (PrioritySort.so), DefaultBinder (DefaultBinder.so))\n");
}

TEST(Resolve, ReportsAMissingPluginOnceAndGoesOn) {
  const std::string problems = resolve_text(scheduler_configuration(R"(
profiles:
- plugins:
    filter: {enabled: [{name: Missing}]}
    score: {enabled: [{name: Missing}, {name: NodePorts}]}
  pluginConfig:
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: heavy}}
)"))
                                   .problems;
  EXPECT_EQ(problems.find("\"Missing\" is not loaded"), problems.rfind("\"Missing\" is not loaded")) << problems;
  EXPECT_NE(problems.find("does not extend ScorePlugin"), std::string::npos) << problems;
  EXPECT_NE(problems.find("is a string, but must be an integer"), std::string::npos) << problems;
}

TEST(Resolve, ADefaultPluginThatIsNotLoadedIsReportedAtTheProfile) {
  PluginCatalog catalog = bundled_plugins();
  catalog.plugins.erase(catalog.plugins.begin());
  const std::string problems =
      resolve_text(scheduler_configuration("profiles:\n- schedulerName: a\n"), catalog).problems;
  EXPECT_EQ(problems.substr(0, 93),
            "berth.yaml:4:3: profiles[0].plugins.multiPoint: plugin \"SchedulingGates\" is not loaded (loade");
}

TEST(Resolve, FillsInTheDefaultsOfASchema) {
  const Profile profile =
      resolve_text(scheduler_configuration("profiles: [{pluginConfig: [{name: InterPodAffinity, args: {apiVersion: "
                                           "kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, "
                                           "ignorePreferredTermsOfExistingPods: true}}]}]"))
          .configuration.profiles.at(0);
  EXPECT_EQ(profile.args_json.at("InterPodAffinity"),
            R"({"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":true})");
  EXPECT_EQ(profile.args_origin.at("InterPodAffinity"), "berth.yaml:3:59: profiles[0].pluginConfig[0].args");
}

TEST(Resolve, GivesEveryLoadedPluginArgs) {
  const Profile profile = resolve_text(scheduler_configuration("")).configuration.profiles.at(0);
  EXPECT_EQ(profile.args_json.at("InterPodAffinity"),
            R"({"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":false})");
  EXPECT_EQ(profile.args_json.at("NodeName"), "{}");
  EXPECT_EQ(profile.args_json.at("VolumeBinding"), R"({"bindTimeoutSeconds":600})");
  EXPECT_TRUE(profile.args_origin.empty());
}

TEST(Resolve, PassesRawJsonWhereThereIsNoSchema) {
  PluginCatalog catalog = bundled_plugins();
  catalog.plugins.push_back(plugin("example.com/Rack", {Point::score}));
  const Resolved resolved =
      resolve_text(scheduler_configuration(
                       "profiles: [{plugins: {score: {enabled: [{name: example.com/Rack}]}}, pluginConfig: [{name: "
                       "example.com/Rack, args: {kind: Racks, depth: 2.50, of: [a, null, {b: 'c'}]}}]}]"),
                   catalog);
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(resolved.configuration.profiles.at(0).args_json.at("example.com/Rack"),
            R"({"kind":"Racks","depth":2.50,"of":["a",null,{"b":"c"}]})");
}

TEST(Resolve, ChecksArgsOfPluginsThatAreNotEnabledAndNotesThem) {
  const Resolved good =
      resolve_text(scheduler_configuration("profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}, "
                                           "pluginConfig: [{name: InterPodAffinity}]}]"));
  EXPECT_EQ(good.problems, "");
  EXPECT_EQ(
      good.notes,
      "berth.yaml:3:91: profiles[0].pluginConfig[0]: args for plugin \"InterPodAffinity\" have no effect: the profile "
      "does not enable it\n");
  EXPECT_EQ(good.configuration.profiles.at(0).args_json.count("InterPodAffinity"), 0u);
  const Resolved bad = resolve_text(scheduler_configuration(
      "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}, pluginConfig: "
      "[{name: InterPodAffinity, args: {hardPodAffinityWeight: -1}}]}]"));
  EXPECT_NE(bad.problems.find("not in valid range [0, 100]"), std::string::npos) << bad.problems;
}

TEST(Resolve, KeepsProfilesInOrderWithTheirOwnPercentage) {
  const Resolved resolved = resolve_text(
      scheduler_configuration("percentageOfNodesToScore: 30\nprofiles: [{schedulerName: a}, {schedulerName: b, "
                              "percentageOfNodesToScore: 0}]"));
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(resolved.configuration.percentage_of_nodes_to_score, 30);
  ASSERT_EQ(resolved.configuration.profiles.size(), 2u);
  EXPECT_EQ(resolved.configuration.profiles[0].scheduler_name, "a");
  EXPECT_FALSE(resolved.configuration.profiles[0].percentage_of_nodes_to_score.has_value());
  EXPECT_EQ(resolved.configuration.profiles[1].percentage_of_nodes_to_score, 0);
}

TEST(Resolve, ReportsAMalformedSchemaAtTheFileThatExportsIt) {
  PluginCatalog catalog = bundled_plugins();
  catalog.plugins[0].args_schema = R"({"type": "object", "minProperties": 1})";
  EXPECT_EQ(
      resolve_text(scheduler_configuration(""), catalog).problems,
      "/plugins/SchedulingGates.so: the args schema of plugin \"SchedulingGates\" cannot be used: /minProperties: "
      "keyword \"minProperties\" is not known\n");
}

constexpr const char* k_ignoring_extender =
    "extenders: [{urlPrefix: \"http://x\", managedResources: [{name: example.com/a, ignoredByScheduler: true}, "
    "{name: example.com/b}]}, {urlPrefix: \"http://y\", managedResources: [{name: example.com/c, ignoredByScheduler: "
    "true}]}]\n";

TEST(Resolve, ResourcesThatExtendersCountReplaceTheArgOfThePolicyThatWouldCountThem) {
  const Resolved resolved = resolve_text(scheduler_configuration(
      std::string(k_ignoring_extender) +
      "profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: NodeResourcesFit, args: "
      "{ignoredResources: [example.com/own], ignoredResourceGroups: [g]}}]}]"));
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(resolved.configuration.profiles[0].args_json.at("NodeResourcesFit"),
            R"({"ignoredResources":["example.com/a","example.com/c"]})");
  EXPECT_EQ(resolved.configuration.profiles[1].args_json.at("NodeResourcesFit"),
            R"({"ignoredResources":["example.com/a","example.com/c"],"ignoredResourceGroups":["g"]})");
}

TEST(Resolve, AProfileThatCannotBeToldOfSuchResourcesIsRefused) {
  const std::string without = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}";
  EXPECT_EQ(resolve_text(scheduler_configuration(k_ignoring_extender + without + "}]")).problems,
            "berth.yaml:4:12: profiles[0]: an extender manages [\"example.com/a\",\"example.com/c\"] with "
            "ignoredByScheduler, and none of the plugins \"NodeResourcesFit\", \"GeneralPredicates\", "
            "\"PodFitsResources\" is here to be told so (enable one of them, or leave ignoredByScheduler out)\n");
  // Args alone are enough, though they have no effect.
  EXPECT_EQ(resolve_text(
                scheduler_configuration(k_ignoring_extender + without + ", pluginConfig: [{name: NodeResourcesFit}]}]"))
                .problems,
            "");
}

TEST(Resolve, ExtendersThatCountNothingChangeNoArgs) {
  const Resolved resolved = resolve_text(
      scheduler_configuration("extenders: [{urlPrefix: \"http://x\", managedResources: [{name: example.com/b}]}]"));
  ASSERT_EQ(resolved.problems, "");
  EXPECT_EQ(resolved.configuration.profiles[0].args_json.at("NodeResourcesFit"), "{}");
  EXPECT_EQ(resolved.configuration.extenders.size(), 1u);
}

}  // namespace
}  // namespace berth::config::test
