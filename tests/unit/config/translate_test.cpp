// SPDX-License-Identifier: Apache-2.0
// Configurations of older schedulers: what they come to, and what is refused. The outcome of each file in data/old
// is in the same folder; BERTH_UPDATE=1 writes it again.
#include "config/legacy/translate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/legacy/converted.hpp"
#include "old_plugins.hpp"

namespace berth::config::test {
namespace {

const std::filesystem::path k_folder = BERTH_SOURCE_DIR "/tests/unit/config/data/old";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TranslateOptions options_of(bool modern) {
  TranslateOptions options;
  options.modern = modern;
  options.read_policy = [](const PolicyLocation& location) -> Result<std::string> {
    if (location.file.empty()) return Error{"no such ConfigMap"};
    const std::string text = text_of(k_folder / location.file);
    return text.empty() ? Result<std::string>(Error{"cannot be read"}) : Result<std::string>(text);
  };
  return options;
}

struct Old {
  Resolved resolved;
  std::string converted;
};

Old read(std::string_view text, bool modern = false) {
  text::Diagnostics problems, notes;
  Old out;
  out.resolved.raw = load(text, "f", problems, options_of(modern));
  out.resolved.configuration = resolve(out.resolved.raw, plugins_of_old(), AbsentPlugins::embedded(), problems, &notes);
  out.resolved.problems = problems.render();
  out.resolved.notes = out.resolved.raw.notes.render() + notes.render();
  out.converted = converted_yaml(out.resolved.raw);
  return out;
}

std::string points_and_args(const Configuration& configuration) {
  std::string out;
  for (const Profile& profile : configuration.profiles) {
    out += profile.scheduler_name + '\n';
    for (std::size_t point = 0; point < k_point_count; ++point)
      out += std::string(k_point_names[point]) + ": " + order(profile, static_cast<Point>(point)) + '\n';
    for (const auto& [name, json] : profile.args_json) out += name + ' ' + json + '\n';
  }
  return out;
}

std::vector<std::string> old_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(k_folder))
    if (const std::string name = entry.path().filename().string(); name.find(".today.") == std::string::npos)
      files.push_back(name);
  std::sort(files.begin(), files.end());
  return files;
}

class OldFile : public testing::TestWithParam<std::string> {
 protected:
  static void compare(bool modern, const char* suffix) {
    const std::filesystem::path path = k_folder / GetParam();
    const Old old = read(text_of(path), modern);
    EXPECT_EQ(old.resolved.problems, "");
    const std::filesystem::path expected = k_folder / (path.stem().string() + suffix);
    if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(expected, std::ios::binary) << old.converted;
    EXPECT_EQ(old.converted, text_of(expected)) << expected << ": BERTH_UPDATE=1 writes it";

    const Old again = read(old.converted);
    EXPECT_EQ(again.resolved.problems, "") << old.converted;
    EXPECT_FALSE(again.resolved.raw.converted);
    EXPECT_EQ(points_and_args(again.resolved.configuration), points_and_args(old.resolved.configuration));
    EXPECT_EQ(again.resolved.configuration.legacy.check_all_filters,
              old.resolved.configuration.legacy.check_all_filters);
  }
};

TEST_P(OldFile, BecomesTheRecordedFileAndReadsBackTheSame) { compare(false, ".today.yaml"); }
TEST_P(OldFile, BecomesThePluginsOfTodayWhenAskedTo) { compare(true, ".today.modern.yaml"); }

TEST_P(OldFile, NamesNoOldPluginWhenThoseOfTodayWereAskedFor) {
  text::Diagnostics problems;
  const RawConfiguration raw = load(text_of(k_folder / GetParam()), "f", problems, options_of(true));
  PluginCatalog today = bundled_plugins();
  today.plugins.push_back(plugin("Mine", {Point::pre_score, Point::score, Point::reserve}));
  EXPECT_EQ(raw.values.legacy.max_node_score, 100);
  resolve(raw, today, AbsentPlugins::embedded(), problems);
  EXPECT_EQ(problems.render(), "");
}

INSTANTIATE_TEST_SUITE_P(Translate, OldFile, testing::ValuesIn(old_files()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

// --- what is refused
// --------------------------------------------------------------------------------------------------

struct VersionRefusal {
  std::string_view name, version, body;  // below the header: its first line is line 3
  std::string_view problems;
};

class RefusedVersion : public testing::TestWithParam<VersionRefusal> {};

TEST_P(RefusedVersion, IsReportedWithPlaceProblemAndAdvice) {
  const std::string text = "apiVersion: kubescheduler.config.k8s.io/" + std::string(GetParam().version) +
                           "\nkind: KubeSchedulerConfiguration\n" + std::string(GetParam().body);
  text::Diagnostics problems;
  (void)load(text, "f", problems, options_of(false));
  EXPECT_EQ(problems.render(), std::string(GetParam().problems) + "\n");
}

const VersionRefusal k_refused_versions[] = {
    {"field_of_later", "v1beta3", "delayCacheUntilActive: true",
     R"(f:3:1: unknown field "delayCacheUntilActive" (v1beta3 does not have it; write kubescheduler.config.k8s.io/v1))"},
    {"profile_field_of_later", "v1beta2", "profiles: [{percentageOfNodesToScore: 5}]",
     R"(f:3:13: profiles[0]: unknown field "percentageOfNodesToScore" (v1beta2 does not have it; write kubescheduler.config.k8s.io/v1))"},
    {"multi_point_before_it_was", "v1beta2", "profiles: [{plugins: {multiPoint: {}}}]",
     R"(f:3:23: profiles[0].plugins: unknown field "multiPoint" (known here: "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind"))"},
    {"plugin_that_was_gone", "v1beta2", "profiles: [{plugins: {filter: {enabled: [{name: NodeLabel}]}}}]",
     R"(f:3:42: profiles[0].plugins.filter.enabled[0]: Invalid value: "NodeLabel": v1beta2 has no such plugin (use NodeAffinity))"},
    {"args_of_a_plugin_that_was_gone", "v1beta3", "profiles: [{pluginConfig: [{name: ServiceAffinity}]}]",
     R"(f:3:35: profiles[0].pluginConfig[0].name: Invalid value: "ServiceAffinity": v1beta3 has no such plugin (use NodeAffinity))"},
    {"misspelt", "v1beta1", "profile: []", R"(f:3:1: unknown field "profile" (did you mean "profiles"?))"},
    {"lock_that_is_gone", "v1beta1", "leaderElection: {resourceLock: endpoints}",
     R"(f:3:32: leaderElection.resourceLock: Invalid value: "endpoints": such locks are gone, and a scheduler that holds one would not see berth's (write leases once no such scheduler runs any more))"},
    {"two_lock_names", "v1alpha1", "leaderElection: {lockObjectName: a, resourceName: b}",
     R"(f:3:34: leaderElection.lockObjectName: Invalid value: "a": resourceName says "b" (leave lockObjectName out))"},
    {"provider", "v1alpha1", "algorithmSource: {provider: Unknown}",
     R"(f:3:18: algorithmSource: algorithm provider "Unknown" is not registered (known: "DefaultProvider", "ClusterAutoscalerProvider"))"},
    {"provider_of_v1alpha2", "v1alpha2", "algorithmSource: {provider: Unknown}",
     R"(f:3:18: algorithmSource: algorithm provider "Unknown" is not registered (known: "DefaultProvider", "ClusterAutoscalerProvider"))"},
    {"provider_and_policy", "v1alpha1",
     "algorithmSource: {provider: DefaultProvider, policy: {file: {path: policy-empty.json}}}",
     R"(f:3:18: algorithmSource: has both provider and policy (a scheduler has one algorithm; leave one out))"},
    {"policy_nowhere", "v1alpha1", "algorithmSource: {policy: {}}",
     R"(f:3:27: algorithmSource.policy: must have either file or configMap (write {file: {path: /etc/policy.cfg}}, say))"},
    {"policy_that_cannot_be_read", "v1alpha1", "algorithmSource: {policy: {file: {path: none}}}",
     R"(f:3:18: algorithmSource: none: cannot be read)"},
    {"policy_in_a_config_map", "v1alpha1", "algorithmSource: {policy: {configMap: {name: p}}}",
     R"(f:3:18: algorithmSource: configmap kube-system/p policy.cfg: no such ConfigMap)"},
    {"what_is_no_policy", "v1alpha1", "algorithmSource: {policy: {file: {path: v1beta3.yaml}}}",
     R"(v1beta3.yaml:1:1: is no Policy (kind: Policy and apiVersion: v1 are what makes it one))"},
    {"policy_and_plugins", "v1alpha1",
     "algorithmSource: {policy: {file: {path: policy-empty.json}}}\nplugins: {filter: {enabled: [{name: Mine}]}}",
     R"(f:4:10: plugins: plugins and pluginConfig cannot be combined with a Policy (say it all in one of them))"},
    {"weight_of_affinity", "v1alpha1", "hardPodAffinitySymmetricWeight: 101",
     R"(f:3:33: hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100])"},
    {"text_for_a_timeout", "v1alpha2", "bindTimeoutSeconds: 10s",
     R"(f:3:21: bindTimeoutSeconds: is a string, but must be an integer)"},
    {"text_for_a_switch", "v1alpha2", "disablePreemption: 1", R"(f:3:20: disablePreemption: must be true or false)"},
    {"profiles_before_they_were", "v1alpha1", "profiles: []",
     R"(f:3:1: unknown field "profiles" (v1alpha1 does not have it; write kubescheduler.config.k8s.io/v1))"},
};
INSTANTIATE_TEST_SUITE_P(Translate, RefusedVersion, testing::ValuesIn(k_refused_versions),
                         [](const auto& test) { return std::string(test.param.name); });

class RefusedPolicy : public testing::TestWithParam<VersionRefusal> {};

TEST_P(RefusedPolicy, IsReportedWithTheMessageOfItsVersion) {
  text::Diagnostics problems;
  (void)load("apiVersion: v1\nkind: Policy\n" + std::string(GetParam().body), "f", problems);
  EXPECT_EQ(problems.render(), std::string(GetParam().problems) + "\n");
}

const VersionRefusal k_refused_policies[] = {
    {"unknown_predicate", "", "predicates: [{name: x}]",
     R"(f:3:21: predicates[0].name: Invalid configuration: Predicate type not found for "x")"},
    {"unknown_priority", "", "priorities: [{name: x, weight: 1}]",
     R"(f:3:21: priorities[0].name: Invalid configuration: Priority type not found for "x")"},
    {"ratio_without_arguments", "", "priorities: [{name: RequestedToCapacityRatioPriority, weight: 1}]",
     R"(f:3:21: priorities[0].name: Invalid configuration: Priority type not found for "RequestedToCapacityRatioPriority")"},
    {"two_predicate_arguments", "",
     "predicates: [{name: x, argument: {serviceAffinity: {labels: [a]}, labelsPresence: {labels: [a]}}}]",
     R"(f:3:34: predicates[0].argument: Exactly 1 predicate argument is required, numArgs: 2, Predicate: x)"},
    {"no_predicate_argument", "", "predicates: [{name: x, argument: {}}]",
     R"(f:3:34: predicates[0].argument: Exactly 1 predicate argument is required, numArgs: 0, Predicate: x)"},
    {"no_priority_argument", "", "priorities: [{name: x, weight: 1, argument: {}}]",
     R"(f:3:45: priorities[0].argument: no priority arguments set for priority x)"},
    {"no_weight", "", "priorities: [{name: ImageLocalityPriority}]",
     R"(f:3:14: priorities[0].weight: priority ImageLocalityPriority should have a positive weight applied to it or it has overflown)"},
    {"weight_beyond_all", "", "priorities: [{name: ImageLocalityPriority, weight: 922337203685477580}]",
     R"(f:3:52: priorities[0].weight: priority ImageLocalityPriority should have a positive weight applied to it or it has overflown)"},
    {"weight_beyond_a_plugins", "", "priorities: [{name: ImageLocalityPriority, weight: 2147483648}]",
     R"(f:3:21: priorities[0].name: Invalid value: 2147483648: a plugin's weight is at most 2147483647)"},
    {"labels_of_two_weights", "",
     "priorities: [{name: a, weight: 1, argument: {labelPreference: {label: x, presence: true}}},\n"
     "             {name: b, weight: 2, argument: {labelPreference: {label: y, presence: true}}}]",
     R"(f:4:21: priorities[1].name: LabelPreference  priority "b" has a different weight with "a")"},
    {"services_of_two_weights", "",
     "priorities: [{name: a, weight: 1, argument: {serviceAntiAffinity: {label: x}}},\n"
     "             {name: b, weight: 2, argument: {serviceAntiAffinity: {label: y}}}]",
     R"(f:4:21: priorities[1].name: ServiceAntiAffinity  priority "b" has a different weight with "a")"},
    {"two_ratios", "",
     "priorities: [{name: a, weight: 1, argument: {requestedToCapacityRatioArguments: {shape: []}}},\n"
     "             {name: b, weight: 1, argument: {requestedToCapacityRatioArguments: {shape: []}}}]",
     R"(f:4:21: priorities[1].name: priority "b" redeclares custom priority "RequestedToCapacityRatio", from: "a")"},
    {"weight_of_affinity", "", "hardPodAffinitySymmetricWeight: 101",
     R"(f:3:33: hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100])"},
    {"nameless", "", "predicates: [{}]",
     R"(f:3:14: predicates[0].name: Required value (the name of a predicate or a priority))"},
};
INSTANTIATE_TEST_SUITE_P(Policy, RefusedPolicy, testing::ValuesIn(k_refused_policies),
                         [](const auto& test) { return std::string(test.param.name); });

// --- the rest
// ---------------------------------------------------------------------------------------------------------

TEST(OldVersion, SaysWhatHasNoEffectAnyMore) {
  const Old old = read(
      "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\nmetricsBindAddress: ':1'\n");
  EXPECT_EQ(
      old.resolved.notes,
      "f:3:21: metricsBindAddress: has no effect: the plain HTTP listener is gone; /metrics is served over HTTPS\n");
}

TEST(OldVersion, RefusesADefaultListedTwiceWhereItDidNotKeepItsPlace) {
  const std::string body =
      "\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: "
      "5}]}}}]\n";
  EXPECT_EQ(read("apiVersion: kubescheduler.config.k8s.io/v1beta2" + body).resolved.problems, "");
  EXPECT_EQ(read("apiVersion: kubescheduler.config.k8s.io/v1beta1" + body).resolved.problems,
            "f:3:41: profiles[0].plugins.score.enabled[8]: plugin \"NodeAffinity\" already registered as "
            "\"ScorePlugin\" (list it once)\n");
}

TEST(OldVersion, KeepsThePlaceOfWrongArgs) {
  EXPECT_EQ(read("apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\nprofiles:\n"
                 "- pluginConfig:\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 101}\n")
                .resolved.problems,
            "f:6:35: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range "
            "[0, 100]\n");
}

TEST(Policy, SpellsExtendersAsOfToday) {
  text::Diagnostics problems;
  const RawConfiguration raw =
      load(R"({"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://h/x", "FilterVerb": "filter",
               "prioritizeverb": "prioritize", "weight": 5, "enableHttps": true, "httpTimeout": 1500000000,
               "TLSConfig": {"Insecure": true}, "managedResources": [{"Name": "a.b/c", "ignoredbyscheduler": true}]}]})",
           "f", problems);
  ASSERT_TRUE(raw.converted);
  ASSERT_NE(raw.converted->find("extenders"), nullptr);
  EXPECT_EQ(to_yaml(*raw.converted->find("extenders")), R"(- urlPrefix: http://h/x
  # was FilterVerb
  filterVerb: filter
  # was prioritizeverb
  prioritizeVerb: prioritize
  weight: 5
  # was enableHttps
  enableHTTPS: true
  # was 1500000000, in nanoseconds
  httpTimeout: "1.5s"
  # was TLSConfig
  tlsConfig:
    # was Insecure
    insecure: true
  managedResources:
    # was Name
    - name: a.b/c
      # was ignoredbyscheduler
      ignoredByScheduler: true
)");
}

TEST(Policy, FieldsThatItDoesNotHaveAreNotedAndPassedOver) {
  const Old old = read(
      "{kind: Policy, apiVersion: v1, metadata: {name: x},\n"
      " predicate: [], priorities: [{name: ImageLocalityPriority, weight: 2, factor: 3}],\n"
      " extenders: [{apiVersion: v1beta1, urlPrefix: 'http://h', tlsConfig: {ca: x}, managedResources: [{name: a.b/c, "
      "count: 1}]}]}");
  EXPECT_EQ(old.resolved.problems, "");
  EXPECT_EQ(old.resolved.raw.notes.render(),
            "f:1:32: unknown field \"metadata\" has no effect\n"
            "f:2:2: unknown field \"predicate\" has no effect (did you mean \"predicates\"?)\n"
            "f:2:71: priorities[0]: unknown field \"factor\" has no effect\n"
            "f:3:15: extenders[0]: unknown field \"apiVersion\" has no effect\n"
            "f:3:71: extenders[0].tlsConfig: unknown field \"ca\" has no effect\n"
            "f:3:112: extenders[0].managedResources[0]: unknown field \"count\" has no effect\n");
  ASSERT_EQ(old.resolved.configuration.extenders.size(), 1u);
  EXPECT_EQ(old.resolved.configuration.extenders[0].managed_resources.at(0).name, "a.b/c");
}

TEST(Policy, SaysWhatAWeightWasMadeOf) {
  std::string policy = "{kind: Policy, apiVersion: v1, priorities: [";
  for (const char* const label : {"x", "y", "z"})
    policy += std::string("{name: ") + label + ", weight: 2, argument: {labelPreference: {label: " + label + "}}},";
  const Old old = read(policy + "]}");
  EXPECT_NE(old.converted.find(
                "# priority x, weight 2 for each of 3 such entries, whose mean is rounded down: the sum is up to "
                "4 less than each by itself gave; priority y, weight 2 for each of 3 such entries; "
                "priority z, weight 2 for each of 3 such entries\n"
                "          - name: NodeLabel\n            weight: 6\n"),
            std::string::npos)
      << old.converted;
}

const std::string k_disks_balanced =
    "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\nlegacy: {balanceAttachedNodeVolumes: true}\n";

TEST(Policy, BalancesVolumesWhenBalanceAttachedNodeVolumesIsOn) {
  const std::string policy =
      "---\n{kind: Policy, apiVersion: v1, predicates: [], "
      "priorities: [{name: BalancedResourceAllocation, weight: 3}]}\n";
  const std::string with_volumes = "BalancedResourceAllocationWithVolumes 3";
  EXPECT_EQ(points_and_args(read(policy).resolved.configuration).find("WithVolumes"), std::string::npos);
  const Old on = read(k_disks_balanced + policy);
  EXPECT_EQ(on.resolved.problems + on.resolved.notes, "");
  EXPECT_NE(points_and_args(on.resolved.configuration).find(with_volumes), std::string::npos)
      << points_and_args(on.resolved.configuration);
  EXPECT_EQ(on.converted.find("balanceAttachedNodeVolumes"), std::string::npos) << on.converted;
  EXPECT_EQ(points_and_args(read(on.converted).resolved.configuration), points_and_args(on.resolved.configuration));

  TranslateOptions gate = options_of(false);
  gate.mode.balance_volumes = true;
  text::Diagnostics problems;
  EXPECT_NE(converted_yaml(load(policy, "f", problems, gate)).find("BalancedResourceAllocationWithVolumes"),
            std::string::npos);
  const std::string provider =
      "---\napiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
      "leaderElection: {leaderElect: false}\n";
  const Old by_provider = read(k_disks_balanced + provider);
  EXPECT_EQ(by_provider.resolved.problems + by_provider.resolved.notes, "");
  EXPECT_NE(by_provider.converted.find("BalancedResourceAllocationWithVolumes"), std::string::npos)
      << by_provider.converted;
}

TEST(Policy, WithoutABalancingPriorityBalanceAttachedNodeVolumesIsNotedAsUnused) {
  const std::string note =
      "f:3:38: legacy.balanceAttachedNodeVolumes: has no effect: the priorities of a Policy or of an algorithm "
      "provider listen to it (in a profile, enable the plugin of plugins/legacy that does it)\n";
  EXPECT_EQ(read(k_disks_balanced).resolved.notes, note);
  EXPECT_EQ(read(k_disks_balanced + "---\n{kind: Policy, apiVersion: v1, priorities: []}\n").resolved.notes, note);
}

TEST(Policy, OnlyOneExtenderMayBindAndEachResourceIsOfOne) {
  EXPECT_EQ(read("{kind: Policy, apiVersion: v1, extenders: [\n"
                 "{urlPrefix: 'http://a', prioritizeVerb: p, bindVerb: b, managedResources: [{name: a.b/c}]},\n"
                 "{urlPrefix: 'http://b', bindVerb: b, managedResources: [{name: a.b/c}]}]}")
                .resolved.problems,
            "f:2:1: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it (prioritizeVerb "
            "is set)\n"
            "f:3:64: extenders[1].managedResources[0].name: Invalid value: \"a.b/c\": duplicate extender managed "
            "resource name (one extender manages a resource)\n"
            "f:3:35: extenders[1].bindVerb: found several extenders that implement bind (only one extender can "
            "implement bind)\n");
}

TEST(OldVersion, PluginsThatWereRenamedAreFoundInBothLists) {
  const std::string header = "apiVersion: kubescheduler.config.k8s.io/v1alpha2\nkind: KubeSchedulerConfiguration\n";
  const Old off = read(header +
                       "profiles: [{plugins: {score: {disabled: [{name: DefaultPodTopologySpread}]}, preScore: "
                       "{disabled: [{name: DefaultPodTopologySpread}]}}}]\n");
  EXPECT_EQ(off.resolved.problems, "");
  EXPECT_EQ(points_and_args(off.resolved.configuration).find("SelectorSpread"), std::string::npos);
  const Old heavier = read(header +
                           "profiles: [{plugins: {score: {disabled: [{name: DefaultPodTopologySpread}], enabled: "
                           "[{name: DefaultPodTopologySpread, weight: 7}]}}}]\n");
  EXPECT_EQ(heavier.resolved.problems, "");
  EXPECT_NE(points_and_args(heavier.resolved.configuration).find("SelectorSpread 7"), std::string::npos)
      << points_and_args(heavier.resolved.configuration);
  EXPECT_NE(heavier.converted.find("# was DefaultPodTopologySpread\n          - name: SelectorSpread\n"),
            std::string::npos)
      << heavier.converted;
}

TEST(OldVersion, LeaderElectionWithoutALockIsNotedWithTheLockOfItsVersion) {
  const auto notes = [](const std::string& version, const std::string& election) {
    return read("apiVersion: kubescheduler.config.k8s.io/" + version + "\nkind: KubeSchedulerConfiguration\n" +
                election)
        .resolved.raw.notes.render();
  };
  EXPECT_NE(notes("v1alpha1", "").find("leaderElection.resourceLock: is left out, which was endpoints in v1.16"),
            std::string::npos)
      << notes("v1alpha1", "");
  EXPECT_NE(notes("v1alpha2", "leaderElection: {leaderElect: true}\n").find("was endpointsleases;"), std::string::npos);
  EXPECT_EQ(notes("v1alpha1", "leaderElection: {leaderElect: false}\n"), "");
  EXPECT_EQ(notes("v1alpha1", "leaderElection: {resourceLock: leases}\n"), "");
  EXPECT_EQ(notes("v1beta1", ""), "");
}

TEST(Policy, IsStrongerThanTheConfigurationAboutAffinity) {
  const std::string config =
      "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
      "hardPodAffinitySymmetricWeight: 7\nalgorithmSource: {policy: {file: {path: ";
  const auto weight = [](const Old& old) {
    const auto& args = old.resolved.configuration.profiles.front().args_json;
    return args.count("InterPodAffinity") != 0 ? args.at("InterPodAffinity") : "";
  };
  EXPECT_NE(weight(read(config + "policy.json}}}\n")).find("\"hardPodAffinityWeight\":10"), std::string::npos);
  EXPECT_NE(weight(read(config + "policy-all.yaml}}}\n")).find("\"hardPodAffinityWeight\":7"), std::string::npos);
}

TEST(Policy, OfAnotherFileIsReportedThere) {
  TranslateOptions options;
  options.read_policy = [](const PolicyLocation&) {
    return Result<std::string>("kind: Policy\napiVersion: v1\npredicates:\n- name: x\n");
  };
  text::Diagnostics problems;
  (void)load(
      "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
      "algorithmSource: {policy: {file: {path: p.yaml}}}\n",
      "f", problems, options);
  EXPECT_EQ(problems.render(),
            "p.yaml:4:9: predicates[0].name: Invalid configuration: Predicate type not found for \"x\"\n");
}

TEST(Policy, ThatCannotBeReadIsTheOnlyError) {
  EXPECT_EQ(read("apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
                 "algorithmSource: {policy: {file: {path: none}}}\n")
                .resolved.problems,
            "f:3:18: algorithmSource: none: cannot be read\n");
}

TEST(PluginsAtTheTop, AreAnErrorThatShowsTheProfileToWrite) {
  text::Diagnostics problems;
  (void)load(scheduler_configuration("plugins: {score: {enabled: [NodeAffinity, Mine]}}"), "f", problems);
  EXPECT_EQ(problems.render(), R"(f:3:10: plugins: unknown field "plugins": plugins belong to a profile (write
profiles:
  - plugins:
      score:
        enabled:
          - name: NodeAffinity
          - name: Mine
)
)");
}

TEST(PluginsInAProfile, AreObjectsAndNotNames) {
  text::Diagnostics problems;
  (void)load(scheduler_configuration("profiles: [{plugins: {score: {enabled: [Mine]}}}]"), "f", problems);
  EXPECT_EQ(problems.render(),
            "f:3:41: profiles[0].plugins.score.enabled[0]: is a string, but must be an object (write {name: Mine})\n");
}

}  // namespace
}  // namespace berth::config::test
