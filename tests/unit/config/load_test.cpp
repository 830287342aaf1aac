// SPDX-License-Identifier: Apache-2.0
// What load() accepts and refuses by itself, before any plugin is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/raw_configuration.hpp"
#include "test_plugins.hpp"

namespace berth::config::test {
namespace {

struct Loaded {
  RawConfiguration raw;
  std::string problems;
};

Loaded load_text(std::string_view text) {
  text::Diagnostics problems;
  RawConfiguration raw = load(text, "f", problems);
  return {std::move(raw), problems.render()};
}

struct Refusal {
  std::string_view name;
  std::string body;  // below the header: its first line is line 3
  std::string_view problem;
};

class RefusedScheduler : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedScheduler, IsReportedWithPlaceProblemAndAdvice) {
  EXPECT_EQ(load_text(scheduler_configuration(GetParam().body)).problems, std::string(GetParam().problem) + "\n");
}

const Refusal k_scheduler_refusals[] = {
    {"unknown_field", "profile: []", R"(f:3:1: unknown field "profile" (did you mean "profiles"?))"},
    {"unknown_field_with_other_case", "Parallelism: 1",
     R"(f:3:1: unknown field "Parallelism" (did you mean "parallelism"?))"},
    {"nested_unknown_field", "leaderElection: {leaderElect: false, lease: 1s}",
     R"(f:3:38: leaderElection: unknown field "lease" (did you mean "leaseDuration"?))"},
    {"unknown_point", "profiles:\n- plugins:\n    filters: {}",
     R"(f:5:5: profiles[0].plugins: unknown field "filters" (did you mean "filter"?))"},
    {"duplicate_key", "parallelism: 1\nparallelism: 2",
     R"(f:4:1: parallelism: key "parallelism" stands here a second time (the first is at 3:1))"},
    {"text_for_a_number", "parallelism: \"16\"",
     R"(f:3:14: parallelism: is a string ("16"), but must be an integer from -2147483648 to 2147483647)"},
    {"fraction_for_an_integer", "podMaxBackoffSeconds: 10.5",
     R"(f:3:23: podMaxBackoffSeconds: is a number (10.5), but must be an integer from -9223372036854775808 to 9223372036854775807)"},
    {"too_large_for_int32", "parallelism: 4294967296",
     R"(f:3:14: parallelism: is a number (4294967296), but must be an integer from -2147483648 to 2147483647)"},
    {"number_for_a_name", "profiles: [{schedulerName: 7}]",
     R"(f:3:28: profiles[0].schedulerName: is a number (7), but must be a string)"},
    {"object_for_a_list", "profiles: {}", R"(f:3:11: profiles: is an object ({}), but must be a list)"},
    {"list_for_an_object", "leaderElection: []", R"(f:3:17: leaderElection: is a list ([]), but must be an object)"},
    {"text_for_a_profile", "profiles: [x]", R"(f:3:12: profiles[0]: is a string, but must be an object)"},
    {"number_for_a_duration", "leaderElection: {leaseDuration: 15}",
     R"(f:3:33: leaderElection.leaseDuration: is a number (15), but must be a duration such as "15s", "1m30s" or "300ms")"},
    {"no_parallelism", "parallelism: 0",
     R"(f:3:14: parallelism: Invalid value: 0: should be an integer value greater than zero)"},
    {"percentage", "percentageOfNodesToScore: 101",
     R"(f:3:27: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100])"},
    {"percentage_of_a_profile", "profiles: [{percentageOfNodesToScore: -1}]",
     R"(f:3:39: profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100])"},
    {"initial_backoff", "podInitialBackoffSeconds: 0",
     R"(f:3:27: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0)"},
    {"backoff_order", "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4",
     R"(f:4:23: podMaxBackoffSeconds: Invalid value: 4: must be greater than or equal to PodInitialBackoffSeconds (5))"},
    {"backoff_above_the_default_maximum", "podInitialBackoffSeconds: 11",
     R"(f:1:1: podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds (11))"},
    {"lease_not_longer_than_deadline", "leaderElection: {leaseDuration: 10s}",
     R"(f:3:33: leaderElection.leaseDuration: Invalid value: "10s": LeaseDuration must be greater than RenewDeadline (10s))"},
    {"deadline_without_room_for_a_retry", "leaderElection: {retryPeriod: 9s}",
     R"(f:3:17: leaderElection.renewDeadline: Invalid value: "10s": must be greater than 1.2 times retryPeriod (9s))"},
    {"other_lock", "leaderElection: {resourceLock: endpoints}",
     R"(f:3:32: leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases")"},
    {"negative_burst", "clientConnection: {burst: -1}",
     R"(f:3:27: clientConnection.burst: Invalid value: -1: must be non-negative)"},
    {"profile_named_with_nothing", "profiles: [{schedulerName: \"\"}]",
     R"(f:3:28: profiles[0].schedulerName: Required value)"},
    {"profiles_of_one_name", "profiles: [{schedulerName: a}, {schedulerName: a}]",
     R"(f:3:48: profiles[1].schedulerName: Duplicate value: "a" (each profile needs a name of its own))"},
    {"plugin_without_a_name", "profiles: [{plugins: {filter: {enabled: [{weight: 1}]}}}]",
     R"(f:3:42: profiles[0].plugins.filter.enabled[0].name: Required value (the name of a plugin))"},
    {"repeated_plugin_config", "profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
     R"(f:3:46: profiles[0].pluginConfig[1].name: repeated config for plugin A (merge both into one entry))"},
    {"args_that_are_a_list", "profiles: [{pluginConfig: [{name: A, args: []}]}]",
     R"(f:3:44: profiles[0].pluginConfig[0].args: is a list ([]), but must be an object)"},
    {"extender_without_a_url", "extenders: [{filterVerb: f}]",
     R"(f:3:13: extenders[0].urlPrefix: Required value (the URL of the extender))"},
    {"extender_of_another_scheme", "extenders: [{urlPrefix: \"ftp://x\"}]",
     R"(f:3:25: extenders[0].urlPrefix: Invalid value: "ftp://x": neither http:// nor https:// (such as http://127.0.0.1:8888/scheduler))"},
    {"extender_without_weight", "extenders: [{urlPrefix: http://x, prioritizeVerb: p}]",
     R"(f:3:13: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it (prioritizeVerb is set))"},
    {"extender_with_negative_weight", "extenders: [{urlPrefix: http://x, prioritizeVerb: p, weight: -2}]",
     R"(f:3:62: extenders[0].weight: Invalid value: -2: must have a positive weight applied to it (prioritizeVerb is set))"},
    {"two_extenders_that_bind", "extenders: [{urlPrefix: http://x, bindVerb: b}, {urlPrefix: http://y, bindVerb: b}]",
     R"(f:3:81: extenders[1].bindVerb: found several extenders that implement bind (only one extender can implement bind))"},
    {"extender_timeout_below_zero", "extenders: [{urlPrefix: http://x, httpTimeout: -1s}]",
     R"(f:3:48: extenders[0].httpTimeout: Invalid value: "-1s": must not be negative (the scheduling thread waits that long at most))"},
    {"extender_timeout_that_is_a_number", "extenders: [{urlPrefix: http://x, httpTimeout: 1000000000}]",
     R"(f:3:48: extenders[0].httpTimeout: is a number (1000000000), but must be a duration such as "15s", "1m30s" or "300ms")"},
    {"extender_field_of_the_old_policy", "extenders: [{urlPrefix: http://x, enableHttps: true}]",
     R"(f:3:35: extenders[0]: unknown field "enableHttps" (did you mean "enableHTTPS"?))"},
    {"extender_authority_that_is_not_asked",
     "extenders: [{urlPrefix: http://x, tlsConfig: {insecure: true, caFile: f}}]",
     R"(f:3:57: extenders[0].tlsConfig.insecure: specifying a root certificates file with the insecure flag is not allowed (leave out one of them))"},
    {"extender_certificate_without_key", "extenders: [{urlPrefix: http://x, tlsConfig: {certFile: c}}]",
     R"(f:3:46: extenders[0].tlsConfig: has a certificate, but no key (a client certificate needs both))"},
    {"extender_key_without_certificate", "extenders: [{urlPrefix: http://x, tlsConfig: {keyData: a2V5}}]",
     R"(f:3:46: extenders[0].tlsConfig: has a key, but no certificate (a client certificate needs both))"},
    {"extender_data_that_is_not_base64", "extenders: [{urlPrefix: http://x, tlsConfig: {caData: \"-----\"}}]",
     R"(f:3:55: extenders[0].tlsConfig.caData: Invalid value: not base64 (PEM text, encoded as `base64 FILE` prints it))"},
    {"extender_of_cpu", "extenders: [{urlPrefix: http://x, managedResources: [{name: cpu}]}]",
     R"(f:3:61: extenders[0].managedResources[0].name: Invalid value: "cpu": not the name of an extended resource (such as example.com/gpu))"},
    {"extender_of_a_native_resource",
     "extenders: [{urlPrefix: http://x, managedResources: [{name: node.kubernetes.io/x}]}]",
     R"(f:3:61: extenders[0].managedResources[0].name: Invalid value: "node.kubernetes.io/x": is an invalid extended resource name (such as example.com/gpu))"},
    {"extender_of_an_unqualified_resource",
     "extenders: [{urlPrefix: http://x, managedResources: [{name: Example.com/x}]}]",
     R"(f:3:61: extenders[0].managedResources[0].name: Invalid value: "Example.com/x": not a qualified name (such as example.com/gpu))"},
    {"two_extenders_of_a_resource",
     "extenders: [{urlPrefix: http://x, managedResources: [{name: a.b/c}]}, {urlPrefix: http://y, managedResources: "
     "[{name: a.b/c}]}]",
     R"(f:3:119: extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name (one extender manages a resource))"},
};

INSTANTIATE_TEST_SUITE_P(Load, RefusedScheduler, testing::ValuesIn(k_scheduler_refusals),
                         [](const auto& test) { return std::string(test.param.name); });

class RefusedBerth : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedBerth, IsReportedWithPlaceProblemAndAdvice) {
  EXPECT_EQ(load_text(berth_configuration(GetParam().body)).problems, std::string(GetParam().problem) + "\n");
}

const Refusal k_berth_refusals[] = {
    {"unknown_field", "plugin: {}", R"(f:3:1: unknown field "plugin" (did you mean "plugins"?))"},
    {"era_of_the_queue", "legacy: {queue: v1.20}",
     R"(f:3:17: legacy.queue: Unsupported value: "v1.20" (supported values: "v1.16"; leave it out for today's))"},
    {"era_of_the_search", "legacy: {search: yes}",
     R"(f:3:18: legacy.search: Unsupported value: "yes" (supported values: "v1.16"; leave it out for today's))"},
    {"most_that_a_node_gets", "legacy: {maxNodeScore: 50}",
     R"(f:3:24: legacy.maxNodeScore: Unsupported value: 50 (supported values: 10 (v1.16 and older), 100))"},
    {"seed_of_nothing", "legacy: {seed: 1}",
     R"(f:3:16: legacy.seed: has no effect without search: v1.16 (nothing else is random))"},
    {"short_digest", "plugins: {files: [{file: a.so, sha256: 3f1c}]}",
     "f:3:40: plugins.files[0].sha256: Invalid value: \"3f1c\": not a SHA-256 (64 hexadecimal digits, as `berth plugin "
     "inspect` or `sha256sum` prints them)"},
    {"public_key", "plugins: {publicKeys: [RWnonsense]}",
     R"(f:3:24: plugins.publicKeys[0]: Invalid value: "RWnonsense": not a public key of minisign (the second line of a .pub file, which begins with RW))"},
    {"missing_digest", "plugins: {requireDigest: true, files: [{file: a.so}]}",
     R"(f:3:40: plugins.files[0].sha256: Required value (requireDigest is true))"},
    {"file_without_a_path", "plugins: {files: [{}]}",
     R"(f:3:19: plugins.files[0].file: Required value (the path of a plugin file, relative to the directory))"},
    {"file_twice", "plugins: {files: [{file: a.so}, {file: a.so}]}",
     R"(f:3:40: plugins.files[1].file: Duplicate value: "a.so" (list each file once))"},
    {"reuse", "plugins: {verdictReuse: sometimes}",
     R"(f:3:25: plugins.verdictReuse: Unsupported value: "sometimes" (supported values: "on" (or "auto"), "off", "verify"))"},
    {"explain_after_of_no_time", "explainAfter: 500ms",
     R"(f:3:15: explainAfter: Invalid value: "500ms" (from "1s" to "24h"; "0s", or without it, no event says what would make a pod fit))"},
    {"explain_after_of_days", "explainAfter: 24h0m1s",
     R"(f:3:15: explainAfter: Invalid value: "24h0m1s" (from "1s" to "24h"; "0s", or without it, no event says what would make a pod fit))"},
    {"explain_after_of_the_past", "explainAfter: -1m",
     R"(f:3:15: explainAfter: Invalid value: "-1m0s" (from "1s" to "24h"; "0s", or without it, no event says what would make a pod fit))"},
    {"explain_after_as_a_number", "explainAfter: 60",
     R"(f:3:15: explainAfter: is a number (60), but must be a duration such as "15s", "1m30s" or "300ms")"},
    {"strict_about_nothing", "plugins: {strict: true}",
     "f:3:19: plugins.strict: is true, but `files` lists nothing, so that no plugin could load (list the plugin files, "
     "or "
     "leave strict out)"},
    {"isolation", "plugins: {files: [{file: a.so, isolation: container}]}",
     R"(f:3:43: plugins.files[0].isolation: Unsupported value: "container" (supported values: "none", "process"))"},
    {"call_timeout_too_long", "plugins: {files: [{file: a.so, isolation: process, callTimeout: 1m}]}",
     R"(f:3:65: plugins.files[0].callTimeout: Invalid value: "1m0s" (from "10ms" to "30s"))"},
    {"call_timeout_of_no_process", "plugins: {files: [{file: a.so, callTimeout: 2s}]}",
     "f:3:45: plugins.files[0].callTimeout: has no effect without isolation: process (calls inside berth's own process "
     "cannot be given up)"},
};

INSTANTIATE_TEST_SUITE_P(Load, RefusedBerth, testing::ValuesIn(k_berth_refusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Load, ReportsEverythingAtOnce) {
  const std::string problems =
      load_text(scheduler_configuration("parallelism: 0\n"
                                        "profile: []\n"
                                        "profiles:\n"
                                        "- plugins: {score: {enabled: [{name: A, wight: 2}]}}\n"
                                        "- schedulerName: b\n"))
          .problems;
  EXPECT_NE(problems.find("f:3:14: parallelism"), std::string::npos) << problems;
  EXPECT_NE(problems.find("f:4:1: unknown field \"profile\""), std::string::npos) << problems;
  EXPECT_NE(
      problems.find("f:6:41: profiles[0].plugins.score.enabled[0]: unknown field \"wight\" (did you mean \"weight\"?)"),
      std::string::npos)
      << problems;
  EXPECT_NE(problems.find("f:6:3: profiles[0].schedulerName: Required value"), std::string::npos) << problems;
}

TEST(Load, ReportsEveryMissingNameOfSeveralProfiles) {
  const std::string problems = load_text(scheduler_configuration("profiles: [{}, {}]")).problems;
  EXPECT_NE(problems.find("profiles[0].schedulerName: Required value"), std::string::npos) << problems;
  EXPECT_NE(problems.find("profiles[1].schedulerName: Required value"), std::string::npos) << problems;
}

TEST(Load, ReadsExtenders) {
  const Loaded loaded = load_text(scheduler_configuration(
      "extenders:\n"
      "- urlPrefix: https://x/y\n  filterVerb: f\n  prioritizeVerb: p\n  preemptVerb: e\n  bindVerb: b\n  weight: 7\n"
      "  enableHTTPS: true\n  httpTimeout: 250ms\n  nodeCacheCapable: true\n  ignorable: true\n"
      "  tlsConfig: {serverName: n, certFile: c, keyFile: k, caData: Y2E=}\n"
      "  managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]\n"
      "- urlPrefix: http://z\n"));
  EXPECT_EQ(loaded.problems, "");
  ASSERT_EQ(loaded.raw.values.extenders.size(), 2u);
  const Extender& full = loaded.raw.values.extenders[0];
  EXPECT_EQ(full.url_prefix, "https://x/y");
  EXPECT_EQ(full.filter_verb + full.prioritize_verb + full.preempt_verb + full.bind_verb, "fpeb");
  EXPECT_EQ(full.weight, 7);
  EXPECT_EQ(full.http_timeout_ns, 250'000'000);
  EXPECT_TRUE(full.enable_https && full.node_cache_capable && full.ignorable);
  EXPECT_EQ(full.tls->server_name + full.tls->cert_file + full.tls->key_file + full.tls->ca_data, "nckca");
  ASSERT_EQ(full.managed_resources.size(), 2u);
  EXPECT_TRUE(full.managed_resources[0].ignored_by_scheduler);
  EXPECT_FALSE(full.managed_resources[1].ignored_by_scheduler);
  const Extender& bare = loaded.raw.values.extenders[1];
  EXPECT_EQ(bare.http_timeout_ns, 5'000'000'000);
  EXPECT_FALSE(bare.enable_https || bare.node_cache_capable || bare.ignorable || bare.tls);
}

TEST(Load, ReportsAllThatExtendersGetWrong) {
  const std::string problems =
      load_text(scheduler_configuration("extenders:\n"
                                        "- {bindVerb: b, prioritizeVerb: p, tls: {}}\n"
                                        "- {urlPrefix: u, bindVerb: b, managedResources: [{name: cpu}]}\n"))
          .problems;
  for (const std::string_view wanted :
       {"extenders[0].urlPrefix: Required value", "extenders[0].weight: Invalid value: 0",
        "extenders[0]: unknown field \"tls\"", "extenders[1].urlPrefix: Invalid value: \"u\"",
        "extenders[1].bindVerb: found several extenders",
        "extenders[1].managedResources[0].name: Invalid value: \"cpu\""})
    EXPECT_NE(problems.find(wanted), std::string::npos) << wanted << "\nin\n" << problems;
}

TEST(Load, StopsCountingUnknownFieldsOfOneObject) {
  std::string body;
  for (int i = 0; i < 5000; ++i) body += "x" + std::to_string(i) + ": 1\n";
  const std::string problems = load_text(scheduler_configuration(body)).problems;
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 21);
  EXPECT_NE(problems.find("f:23:1: and more unknown fields from here on"), std::string::npos) << problems;
}

TEST(Load, NullCountsAsAbsent) {
  const Loaded loaded = load_text(scheduler_configuration("parallelism: null\nleaderElection: ~\nprofiles:\n"));
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.raw.values.parallelism, 16);
  ASSERT_EQ(loaded.raw.profiles.size(), 1u);
  EXPECT_EQ(loaded.raw.profiles[0].scheduler_name, "default-scheduler");
}

TEST(Load, ZeroDurationsAndQpsAreUnset) {
  const Loaded loaded =
      load_text(scheduler_configuration("leaderElection: {leaseDuration: 0s}\nclientConnection: {qps: 0, burst: 0}\n"));
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.raw.values.leader_election.lease_duration_ns, 15'000'000'000);
  EXPECT_EQ(loaded.raw.values.client_connection.qps, 50);
  EXPECT_EQ(loaded.raw.values.client_connection.burst, 100);
}

TEST(Load, LeaderElectionIsOnlyCheckedWhenItIsOn) {
  EXPECT_EQ(load_text(scheduler_configuration("leaderElection: {leaderElect: false, leaseDuration: 1s}")).problems, "");
}

TEST(Load, AbsentPercentageIsKeptApartFromAWrittenZero) {
  EXPECT_FALSE(load_text(scheduler_configuration("")).raw.values.percentage_of_nodes_to_score.has_value());
  EXPECT_EQ(load_text(scheduler_configuration("percentageOfNodesToScore: 0")).raw.values.percentage_of_nodes_to_score,
            0);
}

TEST(Load, ContentionProfilingFollowsProfiling) {
  EXPECT_TRUE(load_text(scheduler_configuration("")).raw.values.enable_contention_profiling);
  EXPECT_FALSE(load_text(scheduler_configuration("enableProfiling: false")).raw.values.enable_contention_profiling);
}

TEST(Load, TakesTwoDocumentsInEitherOrder) {
  const std::string scheduler = scheduler_configuration("parallelism: 3\n");
  const std::string berth = berth_configuration("plugins: {directory: /p, verdictReuse: off}\n");
  for (const std::string& text : {scheduler + "---\n" + berth, berth + "---\n" + scheduler}) {
    const Loaded loaded = load_text(text);
    EXPECT_EQ(loaded.problems, "");
    EXPECT_EQ(loaded.raw.values.parallelism, 3);
    EXPECT_EQ(loaded.raw.values.plugins.directory, "/p");
    EXPECT_EQ(loaded.raw.values.plugins.verdict_reuse, VerdictReuse::off);
  }
}

TEST(Load, TakesIsolationOfAFile) {
  const auto loaded =
      load_text(berth_configuration("plugins: {files: [{file: a.so, isolation: process, callTimeout: 250ms}, {file: "
                                    "b.so, isolation: process}, {file: "
                                    "c.so, isolation: none}, {file: d.so}]}"));
  EXPECT_EQ(loaded.problems, "");
  const auto& files = loaded.raw.values.plugins.files;
  ASSERT_EQ(files.size(), 4u);
  EXPECT_TRUE(files[0].is_isolated && files[1].is_isolated);
  EXPECT_EQ(files[0].call_timeout_ns, 250'000'000);
  EXPECT_EQ(files[1].call_timeout_ns, 1'000'000'000);
  EXPECT_FALSE(files[2].is_isolated || files[3].is_isolated);
}

TEST(Load, TakesABerthConfigurationAlone) {
  const std::string digest(64, 'A');
  const Loaded loaded =
      load_text(berth_configuration("plugins: {strict: true, files: [{file: a.so, sha256: " + digest + "}]}"));
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.raw.profiles.size(), 1u);
  ASSERT_EQ(loaded.raw.values.plugins.files.size(), 1u);
  EXPECT_EQ(loaded.raw.values.plugins.files[0].sha256, std::string(64, 'a'));
}

TEST(Load, EventsSayWhatWouldMakeAPodFitOnlyWhereThatIsAskedFor) {
  EXPECT_EQ(load_text(berth_configuration("{}")).raw.values.explain_after_ns, 0);
  for (const auto& [text, ns] :
       {std::pair{"0s", 0L}, std::pair{"1s", 1'000'000'000L}, std::pair{"24h", 86'400'000'000'000L}}) {
    const Loaded loaded = load_text(berth_configuration(std::string("explainAfter: ") + text));
    EXPECT_EQ(loaded.problems, "");
    EXPECT_EQ(loaded.raw.values.explain_after_ns, ns) << text;
  }
}

TEST(Load, TakesJson) {
  const Loaded loaded = load_text(
      R"({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 2})");
  EXPECT_EQ(loaded.problems, "");
  EXPECT_EQ(loaded.raw.values.parallelism, 2);
}

TEST(Load, RefusesASecondDocumentOfOneKind) {
  const std::string text = scheduler_configuration("");
  EXPECT_EQ(load_text(text + "---\n" + text).problems,
            "f:4:1: a second KubeSchedulerConfiguration (a file holds at most one of each kind)\n");
}

TEST(Load, RefusesOtherVersionsAndKinds) {
  const std::string old =
      load_text("apiVersion: kubescheduler.config.k8s.io/v1beta9\nkind: KubeSchedulerConfiguration\n").problems;
  EXPECT_NE(old.find("f:1:13: apiVersion: no kind \"KubeSchedulerConfiguration\" is registered for version "
                     "\"kubescheduler.config.k8s.io/v1beta9\""),
            std::string::npos)
      << old;
  const std::string other = load_text("apiVersion: v1\nkind: Pod\n").problems;
  EXPECT_NE(other.find("couldn't decode as KubeSchedulerConfiguration, got v1, Kind=Pod"), std::string::npos) << other;
  EXPECT_NE(load_text("kind: KubeSchedulerConfiguration\n").problems.find("apiVersion: Required value"),
            std::string::npos);
}

TEST(Load, RefusesWhatIsNoConfiguration) {
  for (const std::string_view text :
       {"", "# nothing\n", "- a\n- b\n", "just words", "{", "a: [b", "\t\tx: y", "\x01\x02"}) {
    const Loaded loaded = load_text(text);
    EXPECT_NE(loaded.problems, "") << text;
    EXPECT_EQ(loaded.raw.profiles.size(), 1u) << text;
  }
}

TEST(LoadFile, ReportsAFileThatIsNotThere) {
  text::Diagnostics problems;
  const RawConfiguration raw = load_file("/nonexistent/berth.yaml", problems);
  EXPECT_EQ(problems.render(), "/nonexistent/berth.yaml: cannot be read (is it there, a file, and readable?)\n");
  EXPECT_EQ(raw.profiles.size(), 1u);
}

TEST(LoadFile, ReportsADirectory) {
  text::Diagnostics problems;
  (void)load_file(BERTH_SOURCE_DIR, problems);
  EXPECT_EQ(problems.size(), 1u) << problems.render();
}

TEST(NeededPlugins, AreTheEnabledAndTheConfigured) {
  const Loaded loaded =
      load_text(scheduler_configuration("profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: "
                                        "B}]}, score: {enabled: [{name: A}]}}, "
                                        "pluginConfig: [{name: C}]}]"));
  std::string needed;
  for (const NeededPlugin& plugin : loaded.raw.needed_plugins(AbsentPlugins::embedded()))
    needed += plugin.name + (plugin.optional ? "? " : " ") + plugin.where + "\n";
  EXPECT_EQ(needed,
            "A f:3:102  profiles[0].plugins.score.enabled[0]\n"
            "B f:3:71  profiles[0].plugins.multiPoint.enabled[0]\n"
            "C? f:3:131  profiles[0].pluginConfig[0]\n");
}

TEST(NeededPlugins, OfTheDefaultProfileStandNowhereAndMayBeAbsent) {
  for (const NeededPlugin& plugin :
       load_text(scheduler_configuration("")).raw.needed_plugins(AbsentPlugins::embedded())) {
    EXPECT_EQ(plugin.where, "");
    EXPECT_EQ(plugin.optional, AbsentPlugins::embedded().find(plugin.name) != nullptr) << plugin.name;
  }
}

}  // namespace
}  // namespace berth::config::test
