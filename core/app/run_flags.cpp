// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/run_command.hpp"
#include "config/names.hpp"

namespace berth::app {
namespace {

/// Flags that a drop-in has to understand. What they ask for is either the only way berth does it, or not there.
constexpr std::array k_without_effect = {"cert-dir",
                                         "tls-sni-cert-key",
                                         "tls-cipher-suites",
                                         "tls-curve-preferences",
                                         "tls-min-version",
                                         "http2-max-streams-per-connection",
                                         "authentication-token-webhook-cache-ttl",
                                         "client-ca-file",
                                         "requestheader-client-ca-file",
                                         "requestheader-allowed-names",
                                         "requestheader-username-headers",
                                         "requestheader-uid-headers",
                                         "requestheader-group-headers",
                                         "requestheader-extra-headers-prefix",
                                         "authorization-always-allow-paths",
                                         "authorization-webhook-cache-authorized-ttl",
                                         "authorization-webhook-cache-unauthorized-ttl",
                                         "pod-max-in-unschedulable-pods-duration",
                                         "feature-gates",
                                         "emulated-version",
                                         "min-compatibility-version",
                                         "show-hidden-metrics-for-version",
                                         "disabled-metrics",
                                         "allow-metric-labels",
                                         "allow-metric-labels-manifest",
                                         "vmodule",
                                         "log-flush-frequency",
                                         "log-text-info-buffer-size",
                                         "log-json-info-buffer-size"};
constexpr std::array k_switches_without_effect = {"disable-http2-serving",
                                                  "permit-port-sharing",
                                                  "permit-address-sharing",
                                                  "authentication-skip-lookup",
                                                  "authentication-tolerate-lookup-failure",
                                                  "profiling",
                                                  "contention-profiling",
                                                  "log-text-split-stream",
                                                  "log-json-split-stream"};

void add_ignored(CLI::App& command, RunOptions& options) {
  const auto note = [&options](const char* name) {
    return [&options, name](const std::string& value) { options.without_effect.emplace_back(name, value); };
  };
  for (const char* name : k_without_effect)
    command.add_option_function<std::string>(fmt::format("--{}", name), note(name), "understood, without effect")
        ->group("Without effect");
  for (const char* name : k_switches_without_effect)
    command
        .add_flag_function(
            fmt::format("--{}", name),
            [&options, name](std::int64_t value) {
              options.without_effect.emplace_back(name, value > 0 ? "true" : "false");
            },
            "understood, without effect")
        ->group("Without effect");
}

}  // namespace

void add_run_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as upstream's flags
  command.add_option("--config", options.config, "KubeSchedulerConfiguration and BerthConfiguration");
  command.add_option("--master", options.master, "URL of the API server, instead of the kubeconfig's");
  command.add_option("--write-config-to", options.write_config_to,
                     "Write the completed configuration to this file and end");
  command.add_option("--plugin-dir", options.plugin_dir, "Directory of plugin files");
  command.add_flag("--dry-run", options.dry_run, "Decide and log, write nothing");

  command.add_option("--bind-address", options.bind_address, "Address to serve on")->group("Serving");
  command.add_option("--secure-port", options.secure_port, "Port to serve HTTPS on; 0: none")->group("Serving");
  command.add_option("--tls-cert-file", options.tls_cert_file, "PEM of the serving certificate")->group("Serving");
  command.add_option("--tls-private-key-file", options.tls_private_key_file, "PEM of its key")->group("Serving");
  command.add_option("--authentication-kubeconfig", options.authentication_kubeconfig, "Who reviews tokens")
      ->group("Serving");
  command.add_option("--authorization-kubeconfig", options.authorization_kubeconfig, "Who reviews access")
      ->group("Serving");

  const char* const deprecated = "Deprecated: without --config only";
  command.add_option("--kubeconfig", options.kubeconfig, "How to reach the API server")->group(deprecated);
  command.add_option("--kube-api-qps", options.qps, "Requests per second")->group(deprecated);
  command.add_option("--kube-api-burst", options.burst, "Requests at once")->group(deprecated);
  command.add_option("--kube-api-content-type", options.content_type, "Encoding of bodies")->group(deprecated);

  RunOptions::LeaderElectionFlags& election = options.leader_election;
  const char* const group = "Leader election: stronger than --config";
  command
      .add_flag_function(
          "--leader-elect", [&election](std::int64_t value) { election.leader_elect = value > 0; },
          "Schedule only as the holder of a lease")
      ->group(group);
  command.add_option("--leader-elect-lease-duration", election.lease_duration, "How long others wait")->group(group);
  command.add_option("--leader-elect-renew-deadline", election.renew_deadline, "How long renewing is tried")
      ->group(group);
  command.add_option("--leader-elect-retry-period", election.retry_period, "How often it is tried")->group(group);
  command.add_option("--leader-elect-resource-lock", election.resource_lock, "leases")->group(group);
  command.add_option("--leader-elect-resource-name", election.resource_name, "Name of the lease")->group(group);
  command.add_option("--leader-elect-resource-namespace", election.resource_namespace, "Its namespace")->group(group);

  command.add_option("-v,--v", options.verbosity, "More of the log: 0 to 10")->group("Log");
  command.add_option("--logging-format", options.logging_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->group("Log");
  add_ignored(command, options);
}

std::vector<std::string> arguments(int argc, const char* const* argv) {
  std::vector<std::string> out(argv + std::min(argc, 1), argv + argc);
  const std::string program = argc > 0 ? argv[0] : "";
  if (program.substr(program.rfind('/') + 1) == "kube-scheduler") out.insert(out.begin(), "run");
  const bool is_run = !out.empty() && out.front() == "run";
  for (std::string& argument : out)
    if (is_run && argument.starts_with("--"))
      std::replace(argument.begin(),
                   argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size())), '_',
                   '-');
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string> apply_flags(const RunOptions& options, config::Configuration& configuration) {
  std::vector<std::string> wrong;
  const RunOptions::LeaderElectionFlags& flags = options.leader_election;
  config::LeaderElection& election = configuration.leader_election;
  const auto duration = [&wrong](const std::optional<std::string>& text, const char* flag, std::int64_t& out_ns) {
    if (!text) return;
    if (const auto ns = config::parse_duration_ns(*text))
      out_ns = *ns;
    else
      wrong.push_back(fmt::format("{}: \"{}\" is no duration, as 15s is", flag, *text));
  };
  if (flags.leader_elect) election.leader_elect = *flags.leader_elect;
  duration(flags.lease_duration, "--leader-elect-lease-duration", election.lease_duration_ns);
  duration(flags.renew_deadline, "--leader-elect-renew-deadline", election.renew_deadline_ns);
  duration(flags.retry_period, "--leader-elect-retry-period", election.retry_period_ns);
  if (flags.resource_lock) election.resource_lock = *flags.resource_lock;
  if (flags.resource_name) election.resource_name = *flags.resource_name;
  if (flags.resource_namespace) election.resource_namespace = *flags.resource_namespace;
  if (election.leader_elect && election.resource_lock != "leases")
    wrong.push_back(
        fmt::format("leader election: resource lock \"{}\" does not exist any more (leases)", election.resource_lock));

  if (options.config.empty()) {
    config::ClientConnection& connection = configuration.client_connection;
    if (!options.kubeconfig.empty()) connection.kubeconfig = options.kubeconfig;
    if (options.qps) connection.qps = *options.qps == 0 ? 50 : *options.qps;
    if (options.burst) connection.burst = *options.burst == 0 ? 100 : *options.burst;
    if (options.content_type) connection.content_type = *options.content_type;
  }
  if (options.tls_cert_file.empty() != options.tls_private_key_file.empty())
    wrong.push_back("--tls-cert-file and --tls-private-key-file must be given together");
  return wrong;
}

}  // namespace berth::app
