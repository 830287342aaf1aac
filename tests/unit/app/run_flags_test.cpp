// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "app/cli/arguments.hpp"
#include "app/cli/feature_gates.hpp"
#include "app/commands/policy_source.hpp"
#include "app/commands/run_command.hpp"
#include "support/child_process.hpp"

namespace berth::app {
namespace {

std::vector<std::string> messages(const text::Diagnostics& diagnostics) {
  std::vector<std::string> out;
  for (const text::Diagnostic& each : diagnostics.all()) out.push_back(each.message);
  return out;
}

/// A command line as main() reads it.
struct Line {
  explicit Line(std::vector<std::string> words) {
    add_run_flags(command, options);
    words.insert(words.begin(), "kube-scheduler");
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    try {
      program.parse(arguments(static_cast<int>(argv.size()), argv.data(), program));
    } catch (const CLI::ParseError& e) {
      error = e.what();
    }
  }
  FlagValues read() {
    text::Diagnostics diagnostics;
    FlagValues values = read_flags(options, diagnostics);
    wrong = messages(diagnostics);
    return values;
  }

  RunOptions options;
  CLI::App program;
  CLI::App& command = *program.add_subcommand("run");
  std::string error;
  std::vector<std::string> wrong;
};

// Every flag of kube-scheduler v1.36, with a value that it takes.
const std::vector<std::string> k_all = {"--config=f",
                                        "--write-config-to=f",
                                        "--master=https://m",
                                        "--bind-address=::",
                                        "--secure-port=0",
                                        "--cert-dir=d",
                                        "--tls-cert-file=f",
                                        "--tls-private-key-file=f",
                                        "--tls-sni-cert-key=a,b",
                                        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                                        "--tls-curve-preferences=23,29",
                                        "--tls-min-version=VersionTLS13",
                                        "--disable-http2-serving",
                                        "--http2-max-streams-per-connection=9",
                                        "--permit-port-sharing",
                                        "--permit-address-sharing",
                                        "--authentication-kubeconfig=f",
                                        "--authentication-skip-lookup",
                                        "--authentication-tolerate-lookup-failure=false",
                                        "--authentication-token-webhook-cache-ttl=20s",
                                        "--client-ca-file=f",
                                        "--requestheader-client-ca-file=f",
                                        "--requestheader-allowed-names=a,b",
                                        "--requestheader-username-headers=x-u",
                                        "--requestheader-uid-headers=x-i",
                                        "--requestheader-group-headers=x-g",
                                        "--requestheader-extra-headers-prefix=x-e-",
                                        "--authorization-kubeconfig=f",
                                        "--authorization-always-allow-paths=/healthz,/metrics",
                                        "--authorization-webhook-cache-authorized-ttl=5m",
                                        "--authorization-webhook-cache-unauthorized-ttl=30s",
                                        "--kubeconfig=f",
                                        "--kube-api-qps=5",
                                        "--kube-api-burst=6",
                                        "--kube-api-content-type=application/json",
                                        "--profiling=false",
                                        "--contention-profiling=false",
                                        "--pod-max-in-unschedulable-pods-duration=7m",
                                        "--leader-elect=true",
                                        "--leader-elect-lease-duration=15s",
                                        "--leader-elect-renew-deadline=10s",
                                        "--leader-elect-retry-period=2s",
                                        "--leader-elect-resource-lock=leases",
                                        "--leader-elect-resource-name=n",
                                        "--leader-elect-resource-namespace=ns",
                                        "--feature-gates=AllAlpha=false,kube:ContextualLogging=true",
                                        "--emulated-version=kube=1.36",
                                        "--min-compatibility-version=1.36",
                                        "--show-hidden-metrics-for-version=1.35",
                                        "--disabled-metrics=a,b",
                                        "--allow-metric-labels=m,l=1,2",
                                        "--v=3",
                                        "--vmodule=a=1",
                                        "--logging-format=text",
                                        "--log-flush-frequency=1s",
                                        "--log-text-split-stream",
                                        "--log-json-split-stream",
                                        "--log-text-info-buffer-size=1Ki",
                                        "--log-json-info-buffer-size=1Ki"};

TEST(RunFlags, TakesThoseOfPolicies) {
  const Line line({"--policy-config-file=f", "--policy-configmap", "m", "--policy-configmap-namespace=n",
                   "--use_legacy_policy_config", "--algorithm-provider=DefaultProvider"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.options.algorithm.policy_config_file, "f");
  EXPECT_EQ(line.options.algorithm.policy_config_map, "m");
  EXPECT_EQ(line.options.algorithm.policy_config_map_namespace, "n");
  EXPECT_TRUE(line.options.algorithm.use_legacy_policy_config);
  EXPECT_EQ(line.options.algorithm.algorithm_provider, "DefaultProvider");
  EXPECT_EQ(Line(std::vector<std::string>{}).options.algorithm.policy_config_map_namespace, "kube-system");
}

TEST(RunFlags, TheSandboxIsOneOfThreeAndOpensWhatIsNamed) {
  EXPECT_FALSE(Line(std::vector<std::string>{}).options.sandbox.how);
  const Line line({"--sandbox=warn", "--sandbox-read=/a,/b", "--sandbox-read=/c", "--sandbox-write=/d",
                   "--sandbox-connect=443,8443", "--sandbox-connect=5432"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.options.sandbox.how, "warn");
  EXPECT_EQ(line.options.sandbox.read, (std::vector<std::string>{"/a", "/b", "/c"}));
  EXPECT_EQ(line.options.sandbox.write, std::vector<std::string>{"/d"});
  EXPECT_EQ(line.options.sandbox.connect, (std::vector<std::uint16_t>{443, 8443, 5432}));
  for (const char* bad : {"--sandbox=on", "--sandbox=", "--sandbox-connect=x", "--sandbox-connect=65536"})
    EXPECT_NE(Line({bad}).error, "") << bad;
}

TEST(RunFlags, HealthEndpointsHaveAnAddressOfTheirOwnOnlyWhenOneIsGiven) {
  EXPECT_FALSE(Line(std::vector<std::string>{}).read().health);
  Line empty({"--health-bind-address="}), four({"--health-bind-address=127.0.0.1:10251"}),
      six({"--health-bind-address=[::1]:1"});
  EXPECT_FALSE(empty.read().health);
  const FlagValues values = four.read();
  ASSERT_TRUE(values.health);
  EXPECT_EQ(values.health->address, "127.0.0.1");
  EXPECT_EQ(values.health->port, 10251);
  EXPECT_EQ(six.read().health->address, "::1");
  for (const char* bad : {"10251", ":10251", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "host:1",
                          "127.0.0.1:1x", "::1:1", "[]:1"}) {
    Line line({std::string("--health-bind-address=") + bad});
    EXPECT_FALSE(line.read().health) << bad;
    ASSERT_EQ(line.wrong.size(), 1U) << bad;
    EXPECT_NE(line.wrong.front().find(std::string("\"") + bad + "\" is not ADDRESS:PORT"), std::string::npos);
  }
}

TEST(RunFlags, AreAllOfKubeSchedulers) {
  Line line(k_all);
  EXPECT_EQ(line.error, "");
  const FlagValues values = line.read();
  EXPECT_EQ(line.wrong, std::vector<std::string>());
  EXPECT_EQ(values.access.token_kept_ns, 20'000'000'000);
  EXPECT_EQ(values.access.allowed_kept_ns, 300'000'000'000);
  EXPECT_EQ(values.access.refused_kept_ns, 30'000'000'000);
  EXPECT_EQ(values.access.always_allowed, (std::vector<std::string>{"/healthz", "/metrics"}));
  EXPECT_EQ(values.leftover_age_ns, 420'000'000'000);
  EXPECT_EQ(values.metrics.disabled, (std::set<std::string, std::less<>>{"a", "b"}));
  EXPECT_EQ(values.metrics.allowed_values.at("m,l"), (std::set<std::string>{"1", "2"}));
  EXPECT_FALSE(line.options.authorities.looks_up);
  EXPECT_FALSE(line.options.authorities.tolerates_failure);
  EXPECT_EQ(line.options.authorities.allowed_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(line.options.authorities.username_headers, std::vector<std::string>{"x-u"});
  EXPECT_EQ(line.options.tls_curves, (std::vector<int>{23, 29}));
  EXPECT_EQ(line.options.profiling, false);
}

TEST(RunFlags, SayWhyThoseWithoutEffectHaveNone) {
  Line line(k_all);
  std::set<std::string> names;
  for (const RunOptions::WithoutEffect& flag : line.options.without_effect) {
    EXPECT_NE(flag.why, "") << flag.name;
    names.insert(flag.name);
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"disable-http2-serving", "http2-max-streams-per-connection",
                                   "log-json-info-buffer-size", "log-json-split-stream", "log-text-info-buffer-size",
                                   "log-text-split-stream", "permit-address-sharing"}));
}

TEST(RunFlags, ThoseThatAreGoneNameWhatTookTheirPlace) {
  EXPECT_NE(Line({"--port=0"}).error.find("--secure-port"), std::string::npos) << Line({"--port=0"}).error;
  EXPECT_NE(Line({"--address", "127.0.0.1"}).error.find("--bind-address"), std::string::npos);
  const Line none({});
  EXPECT_EQ(none.command.help().find("--port"), std::string::npos);
  for (const auto& [name, value] : flag_values(none.command)) EXPECT_TRUE(name != "port" && name != "address") << name;
}

TEST(RunFlags, OfCallsIntoPluginsHasItsDefaultInTheHelp) {
  const Line none({});
  EXPECT_NE(none.command.help().find("\n  --plugin-call-limit duration=1m0s"), std::string::npos)
      << none.command.help();
}

TEST(RunFlags, DefaultsAreUpstreams) {
  Line line({});
  const FlagValues values = line.read();
  EXPECT_EQ(line.options.secure_port, 10259);
  EXPECT_EQ(line.options.bind_address, "0.0.0.0");
  EXPECT_EQ(values.access.always_allowed, (std::vector<std::string>{"/healthz", "/readyz", "/livez"}));
  EXPECT_EQ(values.access.token_kept_ns, 10'000'000'000);
  EXPECT_TRUE(line.options.authorities.looks_up);
  EXPECT_TRUE(line.options.authorities.tolerates_failure);
  EXPECT_EQ(line.options.authorities.username_headers, std::vector<std::string>{"x-remote-user"});
  EXPECT_EQ(values.leftover_age_ns, std::nullopt);
  EXPECT_TRUE(values.warnings.empty());
}

TEST(RunFlags, WithUnderscoresAreTheSame) {
  Line line({"--leader_elect=false", "--secure_port=1234"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.options.leader_election.leader_elect, false);
  EXPECT_EQ(line.options.secure_port, 1234);
}

TEST(RunFlags, WithNothingBehindTheEqualsSignAreEmpty) {
  Line line(
      {"--client-ca-file=", "--kubeconfig=", "--leader-elect-resource-name=", "--vmodule=", "--bind-address=::1"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.options.kubeconfig, "");
  EXPECT_EQ(line.options.leader_election.resource_name, "") << "and not as if it were not given";
  EXPECT_EQ(line.options.bind_address, "::1");
  EXPECT_EQ(Line({"--bind-address="}).options.bind_address, "0.0.0.0");
  EXPECT_EQ(Line(std::vector<std::string>{}).options.leader_election.resource_name, std::nullopt);
  Line duration({"--leader_elect_retry_period="});
  config::Configuration configuration;
  EXPECT_EQ(messages(apply_flags(duration.options, configuration)),
            std::vector<std::string>{"--leader-elect-retry-period: \"\" is no duration, as 15s is"});
  for (const char* flag :
       {"--secure-port=", "--kube-api-qps=", "--kube-api-burst=", "--tls-curve-preferences=", "--v=", "-v="})
    EXPECT_NE(Line({flag, "--client-ca-file=f"}).error, "") << flag << " is no number";
}

TEST(RunFlags, ThatAreSwitchesAreTrueOrFalseAndTheLastCounts) {
  for (const char* flag : {"--leader-elect=", "--dry-run=", "--profiling=", "--authentication-skip-lookup=",
                           "--disable-http2-serving=", "--version="})
    EXPECT_NE(Line({flag}).error, "") << flag;
  for (const char* value : {"maybe", "-", "x"})
    EXPECT_EQ(Line({std::string("--leader-elect=") + value}).error,
              std::string("--leader-elect: ") + value + " is neither true nor false");
  EXPECT_EQ(Line({"--leader-elect", "--profiling=F"}).options.leader_election.leader_elect, true);
  EXPECT_EQ(Line({"--leader-elect=false", "--leader-elect=1"}).options.leader_election.leader_elect, true);
}

TEST(RunFlags, OfListsLeaveOutWhatIsEmpty) {
  Line line({"--feature-gates=", "--disabled-metrics=", "--requestheader-username-headers=", "--tls-cipher-suites=",
             "--emulated-version=", "--authorization-always-allow-paths=", "--requestheader-allowed-names=,a,,b,"});
  EXPECT_EQ(line.error, "");
  const FlagValues values = line.read();
  EXPECT_EQ(line.wrong, std::vector<std::string>());
  EXPECT_EQ(values.metrics.disabled.size(), 0U);
  EXPECT_EQ(values.access.always_allowed, std::vector<std::string>());
  EXPECT_EQ(line.options.authorities.username_headers, std::vector<std::string>());
  EXPECT_EQ(line.options.tls_cipher_suites, std::vector<std::string>());
  EXPECT_EQ(line.options.authorities.allowed_names, (std::vector<std::string>{"a", "b"}));
}

TEST(RunFlags, ThatAreEmptyListsDoNotTakeTheNextFlag) {
  Line line({"--disabled-metrics=,", "--leader-elect=false", "--feature-gates=,,"});
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.read().metrics.disabled.size(), 0U);
  EXPECT_EQ(line.options.leader_election.leader_elect, false);
}

TEST(RunFlags, OfOneLetterTakeTheirValueInEveryUsualWay) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-v=4"}, {"-v4"}, {"-v", "4"}, {"--v=4"}, {"--v", "4"}}) {
    const Line line(words);
    EXPECT_EQ(line.error, "") << words.front();
    EXPECT_EQ(line.options.verbosity, 4) << words.front();
  }
}

TEST(RunFlags, ThatMakeNoSenseAreAllReportedAtOnce) {
  Line line({"--authentication-token-webhook-cache-ttl=soon", "--feature-gates=SchedulerQueueingHints=false,Odd",
             "--emulated-version=kube=1.20", "--allow-metric-labels=nolabel=1",
             "--show-hidden-metrics-for-version=1.2"});
  line.read();
  EXPECT_EQ(line.wrong,
            (std::vector<std::string>{
                "--authentication-token-webhook-cache-ttl: \"soon\" is no duration, as 15s is",
                "--allow-metric-labels: \"nolabel\" is not METRIC,LABEL",
                "--emulated-version: \"kube=1.20\" is not a version from kube=1.33 to kube=1.36",
                "--feature-gates: \"Odd\" is not NAME=true or NAME=false",
                "--feature-gates: cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
                "--show-hidden-metrics-for-version must be omitted or have the value '1.35', not \"1.2\""}));
}

TEST(RunFlags, OfFeaturesSayWhatTheyDoNotChange) {
  Line line({"--feature-gates=GangScheduling=false,StorageCapacityScoring=true,NodeSwap=true,InOrderInformers=true"});
  EXPECT_EQ(messages(line.read().warnings),
            (std::vector<std::string>{
                "--feature-gates: InOrderInformers is GA: a later version will not know the gate any more",
                "--feature-gates: NodeSwap=true changes nothing in a scheduler",
                "--feature-gates: StorageCapacityScoring=true has no effect: berth does as with "
                "StorageCapacityScoring=false"}));
  EXPECT_EQ(line.wrong, std::vector<std::string>());
}

TEST(RunFlags, OfAWholeStageWarnOfFeaturesThatTheyDoNotChange) {
  Line on({"--feature-gates=AllBeta=true,CoordinatedLeaderElection=false"}), off({"--feature-gates=AllAlpha=false"}),
      alpha({"--feature-gates=AllAlpha=true,GangScheduling=false,WorkloadAwarePreemption=false"});
  EXPECT_EQ(messages(on.read().warnings),
            std::vector<std::string>{"--feature-gates: AllBeta=true has no effect: berth does as with "
                                     "SchedulerAsyncAPICalls=false, DRADeviceTaintRules=false"});
  EXPECT_EQ(messages(off.read().warnings), std::vector<std::string>());
  EXPECT_EQ(messages(alpha.read().warnings),
            std::vector<std::string>{
                "--feature-gates: AllAlpha=true has no effect: berth does as with DRAListTypeAttributes=false, "
                "DRAWorkloadResourceClaims=false, DRANodeAllocatableResources=false, GenericWorkload=false, "
                "StorageCapacityScoring=false, ClientsAllowCBOR=false, ClientsPreferCBOR=false"});
  EXPECT_EQ(alpha.wrong, std::vector<std::string>());
}

TEST(RunFlags, OfFeaturesThatBerthFollowsWarnOfNothing) {
  Line line(
      {"--feature-gates=TaintTolerationComparisonOperators=true,VolumeLimitScaling=true,PodLevelResources=false,"
       "InPlacePodLevelResourcesVerticalScaling=false,MatchLabelKeysInPodTopologySpread=false,"
       "SchedulerPopFromBackoffQ=false,SchedulerAsyncPreemption=false,NominatedNodeNameForExpectation=false"});
  const FlagValues values = line.read();
  EXPECT_EQ(line.wrong, std::vector<std::string>());
  EXPECT_EQ(messages(values.warnings), std::vector<std::string>());
  const config::Features set = values.gates.features(), usual = FeatureGates().features();
  for (const auto member :
       {&config::Features::compares_tolerations, &config::Features::csi_driver_must_be_installed,
        &config::Features::pod_level_resources, &config::Features::pod_level_resize,
        &config::Features::spread_match_label_keys, &config::Features::pops_from_backoff,
        &config::Features::evicts_in_background, &config::Features::nominates_before_slow_bindings}) {
    EXPECT_NE(set.*member, usual.*member);
    EXPECT_EQ(usual.*member, config::Features().*member);
  }
}

TEST(RunFlags, OfApiServersFeaturesChangeNothing) {
  Line line({"--feature-gates=ClearingNominatedNodeNameAfterBinding=false"});
  EXPECT_EQ(messages(line.read().warnings),
            std::vector<std::string>{
                "--feature-gates: ClearingNominatedNodeNameAfterBinding=false changes nothing in a scheduler"});
}

TEST(RunFlags, AFeatureThatDoesNotExistEndsTheStart) {
  Line line({"--feature-gates=NoSuchGate=true,APIServer=true"});
  line.read();
  EXPECT_EQ(line.wrong, (std::vector<std::string>{
                            "--feature-gates: there is no feature gate \"NoSuchGate\" in kube-scheduler v1.36",
                            "--feature-gates: there is no feature gate \"APIServer\" in kube-scheduler v1.36"}));
}

TEST(RunFlags, AFeatureOfOldReachesThePolicyThatListensToIt) {
  const std::string gate = "--feature-gates=BalanceAttachedNodeVolumes=true";
  const auto plugins = [](Line& line, text::Diagnostics& warnings) {
    const SystemClock clock{};
    text::Diagnostics problems, flag_errors;
    const config::RawConfiguration raw = read_configuration(line.options, clock, problems, flag_errors, warnings);
    EXPECT_EQ(problems.render() + flag_errors.render(), "");
    std::set<std::string> names;
    for (const config::RawPluginSet& set : raw.profiles.front().plugins)
      for (const config::RawPlugin& plugin : set.enabled) names.insert(plugin.name);
    return names;
  };
  const tests::TemporaryDirectory directory;
  const std::string policy =
      "--policy-config-file=" + directory.write("policy.json", R"({"kind": "Policy", "apiVersion": "v1"})");
  text::Diagnostics warnings;
  Line on({policy, gate}), off({policy}), alone({gate});
  EXPECT_EQ(plugins(on, warnings).count("BalancedResourceAllocationWithVolumes"), 1u);
  EXPECT_EQ(plugins(off, warnings).count("BalancedResourceAllocationWithVolumes"), 0u);
  EXPECT_EQ(messages(warnings), std::vector<std::string>());
  EXPECT_EQ(plugins(alone, warnings).count("BalancedResourceAllocationWithVolumes"), 0u);
  EXPECT_EQ(messages(warnings),
            std::vector<std::string>{"--feature-gates: BalanceAttachedNodeVolumes=true has no effect: the "
                                     "priorities of a Policy or of an algorithm provider listen to it"});
  EXPECT_EQ(messages(on.read().warnings), std::vector<std::string>());
  EXPECT_EQ(on.wrong, std::vector<std::string>());
}

TEST(RunFlags, AFeatureNeedsThoseItBuildsOn) {
  Line alone({"--feature-gates=GangScheduling=true"}), both({"--feature-gates=GangScheduling=true,GenericWorkload=1"}),
      all({"--feature-gates=AllAlpha=true,GenericWorkload=false,DRADeviceTaintRules=true"}),
      none({"--feature-gates=AllBeta=false"});
  alone.read();
  EXPECT_EQ(alone.wrong, std::vector<std::string>{
                             "--feature-gates: GangScheduling is on, but GenericWorkload, which it needs, is off"});
  both.read();
  EXPECT_EQ(both.wrong, std::vector<std::string>());
  all.read();
  EXPECT_EQ(
      all.wrong,
      (std::vector<std::string>{
          "--feature-gates: DRAWorkloadResourceClaims is on, but GenericWorkload, which it needs, is off",
          "--feature-gates: GangScheduling is on, but GenericWorkload, which it needs, is off",
          "--feature-gates: TopologyAwareWorkloadScheduling is on, but GenericWorkload, which it needs, is off"}));
  none.read();
  EXPECT_EQ(none.wrong, std::vector<std::string>());
}

TEST(RunFlags, FeaturesAreShownAsBerthBehaves) {
  std::map<std::string_view, bool> shown;
  for (const FeatureGates::State& gate : FeatureGates().states())
    EXPECT_TRUE(shown.emplace(gate.name, gate.is_on).second) << gate.name;
  EXPECT_FALSE(shown.at("SchedulerAsyncAPICalls"));
  EXPECT_TRUE(shown.at("SchedulerAsyncPreemption"));
  EXPECT_FALSE(shown.at("GangScheduling"));
  EXPECT_FALSE(shown.at("AllBeta"));
}

TEST(RunFlags, FeaturesAreThoseOfTheEmulatedVersion) {
  Line line({"--emulated-version=kube=1.33"});
  const FlagValues values = line.read();
  EXPECT_EQ(line.wrong, std::vector<std::string>());
  EXPECT_EQ(values.version.emulated_minor, 33);
  EXPECT_EQ(values.version.min_compatible_minor, 33) << "the oldest there is";
  EXPECT_TRUE(values.gates.features().evicts_in_background);
  EXPECT_FALSE(values.gates.features().pod_level_resources) << "alpha then";
  EXPECT_FALSE(values.gates.features().nominates_before_slow_bindings) << "not there then";
  EXPECT_FALSE(values.gates.enabled("ComponentStatusz"));
  ASSERT_EQ(values.warnings.size(), 1U);
  EXPECT_TRUE(values.warnings.all()[0].message.starts_with(
      "--emulated-version: 1.33 is not emulated in everything: berth does as with DynamicResourceAllocation=true"))
      << values.warnings.all()[0].message;
  std::map<std::string_view, std::string_view> stages;
  for (const FeatureGates::State& gate : values.gates.states()) stages[gate.name] = gate.stage;
  EXPECT_EQ(stages.count("NominatedNodeNameForExpectation"), 0U);
  EXPECT_EQ(stages.at("PodLevelResources"), "ALPHA");
}

TEST(RunFlags, AFeatureNewerThanTheEmulatedVersionEndsTheStart) {
  Line line({"--emulated-version=1.34", "--feature-gates=TaintTolerationComparisonOperators=true"}),
      unlocked({"--emulated-version=1.33", "--feature-gates=SchedulerQueueingHints=false"});
  line.read();
  EXPECT_EQ(line.wrong,
            std::vector<std::string>{"--feature-gates: cannot set feature gate TaintTolerationComparisonOperators to "
                                     "true, feature is PreAlpha at emulated version 1.34"});
  const FlagValues values = unlocked.read();
  EXPECT_EQ(unlocked.wrong, std::vector<std::string>());
  EXPECT_EQ(values.warnings.all().back().message,
            "--feature-gates: SchedulerQueueingHints=false has no effect: berth does as with "
            "SchedulerQueueingHints=true");
}

TEST(RunFlags, AlternativesOfDeviceClaimsAreWhatTheirGateSays) {
  Line off({"--feature-gates=DRAPrioritizedList=false"}), on(std::vector<std::string>{}),
      old({"--emulated-version=1.33"});
  const FlagValues values = off.read();
  EXPECT_EQ(off.wrong, std::vector<std::string>());
  EXPECT_EQ(messages(values.warnings),
            std::vector<std::string>{"--feature-gates: DRAPrioritizedList is GA: a later version will "
                                     "not know the gate any more"});
  EXPECT_FALSE(values.gates.features().alternative_devices);
  EXPECT_TRUE(on.read().gates.features().alternative_devices);
  EXPECT_FALSE(old.read().gates.features().alternative_devices) << "it was alpha then";
}

TEST(RunFlags, AVersionOfTheLastFourMayBeEmulated) {
  for (const int minor : {33, 34, 35, 36}) {
    Line line({fmt::format("--emulated-version=kube=1.{}", minor)});
    EXPECT_EQ(line.read().version.emulated_minor, minor);
    EXPECT_EQ(line.wrong, std::vector<std::string>());
  }
  Line both({"--emulated-version=kube=1.35", "--min-compatibility-version=kube=1.35"});
  EXPECT_EQ(both.read().version.min_compatible_minor, 35);
  EXPECT_EQ(Line(std::vector<std::string>{}).read().version.min_compatible_minor, 35);
  EXPECT_EQ(Line({"--emulated-version=1.35"}).read().version.min_compatible_minor, 34);
  Line order({"--emulated-version=1.35", "--min-compatibility-version=v1.36"}),
      twice({"--emulated-version=1.35,kube=1.34"}), patch({"--emulated-version=1.35.2"});
  order.read();
  EXPECT_EQ(order.wrong,
            std::vector<std::string>{"--min-compatibility-version: 1.36 is newer than the emulated version, 1.35"});
  twice.read();
  EXPECT_EQ(twice.wrong, std::vector<std::string>{"--emulated-version: it is given twice, as 1.35 and 1.34"});
  patch.read();
  EXPECT_EQ(patch.wrong,
            std::vector<std::string>{"--emulated-version: \"1.35.2\" is not a version from kube=1.33 to kube=1.36"});
}

TEST(RunFlags, AreShownAsGoShowsThemGivenOrNot) {
  const auto shown = [](const std::vector<std::string>& words) {
    CLI::App app;
    RunOptions options;
    add_run_flags(app, options);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    const auto values = flag_values(app);
    return std::map<std::string, std::string>(values.begin(), values.end());
  };
  const std::map<std::string, std::string> usual = shown({});
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"allow-metric-labels", "[]"},
                                          {"authentication-skip-lookup", "false"},
                                          {"authentication-token-webhook-cache-ttl", "10s"},
                                          {"authentication-tolerate-lookup-failure", "true"},
                                          {"authorization-always-allow-paths", "[/healthz,/readyz,/livez]"},
                                          {"authorization-webhook-cache-authorized-ttl", "10s"},
                                          {"bind-address", "0.0.0.0"},
                                          {"config", ""},
                                          {"contention-profiling", "true"},
                                          {"disabled-metrics", "[]"},
                                          {"emulated-version", "[]"},
                                          {"feature-gates", ""},
                                          {"http2-max-streams-per-connection", "0"},
                                          {"kube-api-burst", "100"},
                                          {"kube-api-content-type", "application/vnd.kubernetes.protobuf"},
                                          {"kube-api-qps", "50"},
                                          {"leader-elect", "true"},
                                          {"leader-elect-lease-duration", "15s"},
                                          {"leader-elect-resource-lock", "leases"},
                                          {"leader-elect-resource-name", "kube-scheduler"},
                                          {"leader-elect-resource-namespace", "kube-system"},
                                          {"log-flush-frequency", "5s"},
                                          {"log-json-split-stream", "false"},
                                          {"logging-format", "text"},
                                          {"permit-address-sharing", "false"},
                                          {"permit-port-sharing", "false"},
                                          {"pod-max-in-unschedulable-pods-duration", "5m0s"},
                                          {"profiling", "true"},
                                          {"requestheader-username-headers", "[x-remote-user]"},
                                          {"secure-port", "10259"},
                                          {"tls-cipher-suites", "[]"},
                                          {"tls-curve-preferences", "[]"},
                                          {"tls-sni-cert-key", "[]"},
                                          {"v", "0"},
                                          {"version", "false"},
                                          {"vmodule", ""}}) {
    ASSERT_EQ(usual.count(name), 1U) << name;
    EXPECT_EQ(usual.at(name), value) << name;
  }
  const std::map<std::string, std::string> given =
      shown({"--leader-elect=F", "--profiling", "--leader-elect-lease-duration=90s", "--disabled-metrics=a,b",
             "--disabled-metrics=c", "--feature-gates=kube:AllBeta=true", "--feature-gates=AllAlpha=false",
             "--tls-sni-cert-key=a,b;c,d", "-v4", "--kube-api-qps=7", "--permit-port-sharing"});
  EXPECT_EQ(given.at("leader-elect"), "false");
  EXPECT_EQ(given.at("profiling"), "true");
  EXPECT_EQ(given.at("leader-elect-lease-duration"), "1m30s");
  EXPECT_EQ(given.at("disabled-metrics"), "[a,b,c]");
  EXPECT_EQ(given.at("feature-gates"), ":AllAlpha=false,kube:AllBeta=true");
  EXPECT_EQ(given.at("tls-sni-cert-key"), "[a,b;c,d]");
  EXPECT_EQ(given.at("v"), "4");
  EXPECT_EQ(given.at("kube-api-qps"), "7");
  EXPECT_EQ(given.at("permit-port-sharing"), "true");
}

TEST(RunFlags, TheReportedVersionMayHaveASuffix) {
  Line suffixed({"--version=v1.36.2-eks-1"}), other({"--version=v1.35.2"}), longer({"--version=v1.36.20"});
  std::ostringstream out;
  EXPECT_FALSE(print_version(suffixed.options, out));
  EXPECT_EQ(suffixed.read().reported_version, "v1.36.2-eks-1");
  EXPECT_EQ(suffixed.wrong, std::vector<std::string>());
  EXPECT_EQ(Line(std::vector<std::string>{}).read().reported_version, "v1.36.2");
  for (Line* line : {&other, &longer}) {
    line->read();
    ASSERT_EQ(line->wrong.size(), 1U);
    EXPECT_NE(line->wrong.front().find("is not v1.36.2, perhaps with a suffix"), std::string::npos);
  }
  EXPECT_NE(Line({"--version=odd"}).error.find("\"odd\" is no version"), std::string::npos);
}

TEST(RunFlags, VersionIsThatWhoseDecisionsAreMade) {
  Line plain({"--version"}), raw({"--version=raw"}), none({});
  std::ostringstream out, raw_out, none_out;
  EXPECT_TRUE(print_version(plain.options, out)) << plain.error;
  EXPECT_EQ(out.str(), "Kubernetes v1.36.2\n");
  EXPECT_TRUE(print_version(raw.options, raw_out));
  EXPECT_NE(raw_out.str().find("GitVersion:\"v1.36.2\""), std::string::npos);
  EXPECT_FALSE(print_version(none.options, none_out));
}

TEST(RunFlags, CertificatesForNamesAreFilesAndPatterns) {
  Line line({"--tls-sni-cert-key=a.crt,a.key:x.example,*.y;b.crt,b.key", "--tls-sni-cert-key=c.crt,c.key"});
  const FlagValues values = line.read();
  EXPECT_EQ(line.wrong, std::vector<std::string>());
  ASSERT_EQ(values.named_keys.size(), 3U);
  EXPECT_EQ(values.named_keys[0].patterns, (std::vector<std::string>{"x.example", "*.y"}));
  EXPECT_EQ(values.named_keys[1].key, "b.key");
  EXPECT_EQ(values.named_keys[2].certificate, "c.crt");
  Line bad({"--tls-sni-cert-key=a.crt", "--tls-sni-cert-key=a,b:"});
  bad.read();
  EXPECT_EQ(bad.wrong, (std::vector<std::string>{"--tls-sni-cert-key: \"a.crt\" is not CERTIFICATE,KEY[:NAME,NAME]",
                                                 "--tls-sni-cert-key: \"a,b:\" is not CERTIFICATE,KEY[:NAME,NAME]"}));
}

TEST(RunFlags, AllHaveAValueToShow) {
  Line line({"--secure-port=1", "--disabled-metrics=a,b"});
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : flag_values(line.command)) values[name] = value;
  EXPECT_EQ(values["secure-port"], "1");
  EXPECT_EQ(values["disabled-metrics"], "[a,b]");
  EXPECT_EQ(values["bind-address"], "0.0.0.0");
  EXPECT_TRUE(values.contains("feature-gates"));
}

}  // namespace
}  // namespace berth::app
