// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include "app/cli/compatibility_version.hpp"
#include "app/cli/election_flags.hpp"
#include "app/cli/feature_gates.hpp"
#include "app/cli/go_flags.hpp"
#include "app/cli/log_flags.hpp"
#include "app/cli/run_options.hpp"
#include "app/plugins/plugin_library.hpp"
#include "base/product.hpp"
#include "base/read_file.hpp"
#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

/// The minor version whose decisions are made, which is the newest that can be named.
constexpr int k_minor = [] {
  int number = 0;
  for (const char digit : k_upstream_minor) number = number * 10 + (digit - '0');
  return number;
}();

/// Flags that a drop-in has to understand, and why what they ask for changes nothing here.
struct Ignored {
  const char* name;
  const char* why;
};
constexpr const char* k_http_11 = "berth speaks HTTP/1.1";
constexpr const char* k_one_stream = "the log is one unbuffered stream";
constexpr std::array k_without_effect = std::to_array<Ignored>({{"http2-max-streams-per-connection", k_http_11},
                                                                {"log-text-info-buffer-size", k_one_stream},
                                                                {"log-json-info-buffer-size", k_one_stream}});
constexpr std::array k_switches_without_effect =
    std::to_array<Ignored>({{"disable-http2-serving", k_http_11},
                            {"permit-address-sharing", "SO_REUSEADDR is always set"},
                            {"log-text-split-stream", k_one_stream},
                            {"log-json-split-stream", k_one_stream}});

/// Flags that kube-scheduler gave up, and what took their place.
constexpr std::array k_gone = std::to_array<Ignored>(
    {{"port", "plain HTTP is gone since kube-scheduler v1.24: --secure-port is the port of HTTPS, 0 for none"},
     {"address", "plain HTTP is gone since kube-scheduler v1.24: --bind-address is the address of HTTPS"}});

/// They end the start, in no group of their own, so that the help does not list them.
void add_gone(CLI::App& command) {
  for (const Ignored& flag : k_gone)
    command
        .add_option_function<std::string>(
            fmt::format("--{}", flag.name),
            [flag](const std::string&) { throw CLI::ValidationError(fmt::format("--{}", flag.name), flag.why); })
        ->group("");
}

void add_ignored(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Understood, without effect");
  for (const Ignored& flag : k_without_effect)
    command
        .add_option_function<std::string>(
            fmt::format("--{}", flag.name),
            [&options, flag](const std::string& value) {
              options.without_effect.push_back({flag.name, value, flag.why});
            },
            flag.why)
        ->default_str("0");
  for (const Ignored& flag : k_switches_without_effect)
    add_switch(
        command, fmt::format("--{}", flag.name),
        [&options, flag](bool is_on) {
          if (is_on) options.without_effect.push_back({flag.name, "true", flag.why});
        },
        flag.why);
}

void add_serving_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Serving");
  const auto take_address = [&options](const std::string& given) {
    if (!given.empty()) options.bind_address = given;
  };
  command
      .add_option_function<std::string>("--bind-address", take_address,
                                        "Address to serve HTTPS on; empty: all addresses")
      ->default_str(options.bind_address);
  command.add_option("--secure-port", options.secure_port, "Port to serve HTTPS on; 0 disables serving")
      ->check(is_no_number);
  command.add_option(
      "--health-bind-address", options.health_bind_address,
      "ADDRESS:PORT for /livez, /readyz and /healthz over plain HTTP, for probes; empty: none. Not a flag of "
      "kube-scheduler");
  command.add_flag("--permit-port-sharing", options.shares_port,
                   "Set SO_REUSEPORT: other processes may serve on the port as well");
  command.add_option(
      "--cert-dir", options.cert_dir,
      "Directory of kube-scheduler.crt and kube-scheduler.key; a self-signed pair is created when they are missing");
  command.add_option("--tls-cert-file", options.tls_cert_file,
                     "PEM file of the serving certificate; reloaded when it changes");
  command.add_option("--tls-private-key-file", options.tls_private_key_file,
                     "PEM file of the private key of --tls-cert-file");
  command.add_option("--tls-min-version", options.tls_min_version, "Minimum TLS version: VersionTLS10 to VersionTLS13");
  add_list(command, "--tls-cipher-suites", options.tls_cipher_suites,
           "Cipher suites by their IANA names, for TLS 1.2 and older");
  take_all(command.add_option(
               "--tls-sni-cert-key", options.tls_sni_cert_keys,
               "CERTIFICATE,KEY[:NAME,NAME]: the pair to serve under these host names, by default those of the "
               "certificate; repeatable, or "
               "separated by ;"),
           ';');
  take_all(command.add_option("--tls-curve-preferences", options.tls_curves,
                              "TLS groups by number: 23, 24, 25, 29, 4587 to 4589"),
           ',')
      ->check(is_no_number);
}

void add_access_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Authentication and authorization of callers");
  access::CallerAuthorityOptions& authorities = options.authorities;
  const auto text = [&](const char* name, std::string& out, const char* help) { command.add_option(name, out, help); };
  const auto list = [&](const char* name, std::vector<std::string>& out, const char* help) {
    add_list(command, name, out, help);
  };
  text("--authentication-kubeconfig", options.authentication_kubeconfig,
       "Kubeconfig of the API server that reviews tokens");
  add_switch(
      command, "--authentication-skip-lookup", [&](bool is_on) { authorities.looks_up = !is_on; },
      "Do not read ConfigMap kube-system/extension-apiserver-authentication");
  command
      .add_flag("--authentication-tolerate-lookup-failure", authorities.tolerates_failure,
                "Start even if that ConfigMap cannot be read")
      ->default_str("true");
  add_duration(command, "--authentication-token-webhook-cache-ttl", options.token_cache_ttl,
               "How long reviews of tokens are cached", "10s");
  text("--client-ca-file", authorities.client_ca_file, "PEM file of the authorities that sign client certificates");
  text("--requestheader-client-ca-file", authorities.request_header_ca_file,
       "PEM file of the authorities that sign the certificates of front proxies");
  list("--requestheader-allowed-names", authorities.allowed_names,
       "Common names that front proxies may have; none: any name");
  list("--requestheader-username-headers", authorities.username_headers,
       "Headers in which front proxies send the user name");
  list("--requestheader-uid-headers", authorities.uid_headers, "Headers with the uid of the user");
  list("--requestheader-group-headers", authorities.group_headers, "Headers with the groups of the user");
  list("--requestheader-extra-headers-prefix", authorities.extra_header_prefixes,
       "Prefixes of headers with other attributes of the user");
  text("--authorization-kubeconfig", options.authorization_kubeconfig,
       "Kubeconfig of the API server that reviews access");
  list("--authorization-always-allow-paths", options.always_allowed,
       "Paths served without authorization; a * at the end covers all paths below");
  add_duration(command, "--authorization-webhook-cache-authorized-ttl", options.authorized_cache_ttl,
               "How long an allowed request is cached", "10s");
  add_duration(command, "--authorization-webhook-cache-unauthorized-ttl", options.unauthorized_cache_ttl,
               "How long a denied request is cached", "10s");
}

void add_algorithm_flags(CLI::App& command, RunOptions::AlgorithmFlags& algorithm) {
  command.option_defaults()->group("Flags of kube-scheduler v1.22 and older; without effect when --config is given");
  command.add_option("--policy-config-file", algorithm.policy_config_file, "File with a Policy");
  command.add_option("--policy-configmap", algorithm.policy_config_map,
                     "ConfigMap with a Policy under the key policy.cfg");
  command.add_option("--policy-configmap-namespace", algorithm.policy_config_map_namespace, "Namespace of it");
  command.add_flag("--use-legacy-policy-config", algorithm.use_legacy_policy_config,
                   "Prefer --policy-config-file to --policy-configmap");
  command.add_option("--algorithm-provider", algorithm.algorithm_provider,
                     "DefaultProvider or ClusterAutoscalerProvider: the predicates and priorities of that time");
}

void add_deprecated_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Deprecated; without effect when --config is given");
  command.add_option("--kubeconfig", options.kubeconfig, "Kubeconfig with address and credentials of the API server");
  command.add_option("--kube-api-qps", options.qps, "Requests per second to the API server")
      ->default_str("50")
      ->check(is_no_number);
  command.add_option("--kube-api-burst", options.burst, "Burst of requests to the API server")
      ->default_str("100")
      ->check(is_no_number);
  add_text(command, "--kube-api-content-type", options.content_type, "Content type of requests and answers",
           "application/vnd.kubernetes.protobuf");
  const auto flag = [&](const char* name, std::optional<bool>& out, const char* help) {
    add_switch(
        command, name, [&out](bool is_on) { out = is_on; }, help, true);
  };
  flag("--profiling", options.profiling, "Serve /debug/flags/v");
  flag("--contention-profiling", options.contention_profiling,
       "Shown in the configuration; there is nothing to profile");
  add_duration(command, "--pod-max-in-unschedulable-pods-duration", options.pod_max_in_unschedulable,
               "How long a pod waits for an event that may help before it is tried without one; also with --config",
               "5m0s");
}

void add_sandbox_flags(CLI::App& command, RunOptions::SandboxFlags& sandbox) {
  command.option_defaults()->group("What berth confines itself to; not flags of kube-scheduler");
  command
      .add_option(
          "--sandbox", sandbox.how,
          "enforce: give up the files, ports and system calls that are not needed, or do not start; warn: refuse "
          "nothing and have the kernel's log say which system calls would be refused; off. Without this flag: "
          "enforce, as far as the kernel can, and the log says what it cannot")
      ->check(CLI::IsMember({"off", "warn", "enforce"}));
  add_list(command, "--sandbox-read", sandbox.read, "Files and folders that plugins read as well");
  add_list(command, "--sandbox-write", sandbox.write, "Folders that plugins, or an exec plugin, write to");
  take_all(command.add_option("--sandbox-connect", sandbox.connect, "TCP ports that plugins connect to as well"), ',')
      ->check(is_no_number);
}

void add_recorder_flags(CLI::App& command, RunOptions::RecorderFlags& recorder) {
  command.option_defaults()->group("What berth records of its decisions; not flags of kube-scheduler");
  command
      .add_option("--recorder-dir", recorder.directory,
                  "The directory for recordings, which berth record and berth replay read; empty: nothing is recorded. "
                  "Without this flag: recorder in $STATE_DIRECTORY, else /var/lib/berth/recorder where there is a "
                  "/var/lib/berth. Where others may write, nothing is recorded")
      ->default_str("");
  command.add_option("--recorder-size-mib", recorder.size_mib, "So many MiB are kept, the oldest records go first")
      ->check(CLI::Range(1U, 1024U))
      ->default_str("256");
}

void add_other_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->group("Features");
  add_list(command, "--feature-gates", options.feature_gates, "Name=true or Name=false");
  command.get_option("--feature-gates")->default_str("");
  const std::string versions = fmt::format("kube={} to kube={}", release(k_minor - 3), release(k_minor));
  add_list(command, "--emulated-version", options.emulated_version, versions.c_str());
  add_list(command, "--min-compatibility-version", options.min_compatibility_version, versions.c_str());

  command.option_defaults()->group("Metrics");
  add_list(command, "--disabled-metrics", options.disabled_metrics, "Names of metrics to hide");
  take_all(
      command.add_option("--allow-metric-labels", options.allowed_labels,
                         "METRIC,LABEL=V1,V2: other values are shown as \"unexpected\"; repeatable, or separated by ;"),
      ';');
  command.add_option("--allow-metric-labels-manifest", options.allowed_labels_manifest, "The same in a YAML file");
  command.add_option("--show-hidden-metrics-for-version", options.shown_hidden_metrics,
                     release(k_minor - 1) + " is the only value that is accepted; no metric is hidden");

  add_log_flags(command, options);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    out.emplace_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

void read_versions_and_gates(const RunOptions& options, FlagValues& out, text::Diagnostics& diagnostics) {
  out.version =
      read_compatibility_version(k_minor, options.emulated_version, options.min_compatibility_version, diagnostics);
  out.gates = FeatureGates::read(options.feature_gates, out.version.emulated_minor, out.warnings, diagnostics);
  if (!options.shown_hidden_metrics.empty() && options.shown_hidden_metrics != release(k_minor - 1))
    diagnostics.add(fmt::format("--show-hidden-metrics-for-version must be omitted or have the value '{}', not \"{}\"",
                                release(k_minor - 1), options.shown_hidden_metrics));
}

/// --version=v1.36.2-SUFFIX is what is told to those who ask; another version would not be true.
std::string read_reported_version(const std::string& version, text::Diagnostics& diagnostics) {
  if (!version.starts_with('v')) return std::string(k_upstream_version);
  const char after = version.size() > k_upstream_version.size() ? version[k_upstream_version.size()] : '-';
  if (!version.starts_with(k_upstream_version) || (after != '-' && after != '+'))
    diagnostics.add(fmt::format("--version: \"{}\" is not {}, perhaps with a suffix: berth decides as that one",
                                version, k_upstream_version));
  return version;
}

/// ADDRESS:PORT, an IPv6 address in brackets.
void read_health_address(std::string_view value, FlagValues& out, text::Diagnostics& diagnostics) {
  if (value.empty()) return;
  const std::size_t colon = std::min(value.rfind(':'), value.size());
  std::string_view address = value.substr(0, colon), port = value.substr(std::min(colon + 1, value.size()));
  const bool is_in_brackets = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (is_in_brackets) address = address.substr(1, address.size() - 2);
  FlagValues::PlainAddress read{std::string(address), 0};
  std::array<unsigned char, 16> ignored{};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), read.port);
  const int family = is_in_brackets ? AF_INET6 : AF_INET;
  if (error != std::errc() || end != port.data() + port.size() || read.port == 0 ||
      ::inet_pton(family, read.address.c_str(), ignored.data()) != 1)
    diagnostics.add(
        fmt::format("--health-bind-address: \"{}\" is not ADDRESS:PORT, as 127.0.0.1:10251 or [::1]:10251 is", value));
  else
    out.health = std::move(read);
}

void read_named_keys(const std::vector<std::string>& values, FlagValues& out, text::Diagnostics& diagnostics) {
  for (const std::string& value : values) {
    const std::size_t colon = std::min(value.find(':'), value.size());
    std::vector<std::string> files = split(std::string_view(value).substr(0, colon), ',');
    std::vector<std::string> patterns;
    if (colon < value.size()) patterns = split(std::string_view(value).substr(colon + 1), ',');
    const auto is_empty = [](const std::string& text) { return text.empty(); };
    if (files.size() != 2 || std::any_of(files.begin(), files.end(), is_empty) ||
        std::any_of(patterns.begin(), patterns.end(), is_empty))
      diagnostics.add(fmt::format("--tls-sni-cert-key: \"{}\" is not CERTIFICATE,KEY[:NAME,NAME]", value));
    else
      out.named_keys.push_back({std::move(files[0]), std::move(files[1]), std::move(patterns)});
  }
}

/// METRIC,LABEL=V1,V2, the values perhaps in quotes.
void read_allowed(const std::string& key, std::string values, const std::string& where, FlagValues& out,
                  text::Diagnostics& diagnostics) {
  if (std::count(key.begin(), key.end(), ',') != 1 || key.front() == ',' || key.back() == ',') {
    diagnostics.add(fmt::format("{}: \"{}\" is not METRIC,LABEL", where, key));
    return;
  }
  if (values.size() >= 2 && values.front() == values.back() && (values.front() == '\'' || values.front() == '"'))
    values = values.substr(1, values.size() - 2);
  for (std::string& value : split(values, ',')) out.metrics.allowed_values[key].insert(std::move(value));
}

void read_allowed_labels(const RunOptions& options, FlagValues& out, text::Diagnostics& diagnostics) {
  if (!options.allowed_labels_manifest.empty()) {
    text::Diagnostics of_file;
    const Result<std::string> yaml = read_file(options.allowed_labels_manifest);
    if (!yaml.ok()) {
      diagnostics.add("--allow-metric-labels-manifest: " + yaml.error().message);
      return;
    }
    const auto documents = text::parse_yaml(*yaml, options.allowed_labels_manifest, of_file);
    const text::Value* map =
        documents.empty() || !of_file.empty() ? nullptr : documents.front().root().find("allowListMapping");
    if (map == nullptr || !map->is_mapping()) {
      diagnostics.add(fmt::format("--allow-metric-labels-manifest: {}{} has no map allowListMapping", of_file.render(),
                                  options.allowed_labels_manifest));
    } else {
      for (const text::Member& member : map->members())
        read_allowed(std::string(member.key), std::string(member.value.text()), options.allowed_labels_manifest, out,
                     diagnostics);
    }
  }
  FlagValues flags;  // of which each label's wins over the file's
  for (const std::string& setting : options.allowed_labels) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      diagnostics.add(fmt::format("--allow-metric-labels: \"{}\" is not METRIC,LABEL=V1,V2", setting));
    else
      read_allowed(setting.substr(0, equals), setting.substr(equals + 1), "--allow-metric-labels", flags, diagnostics);
  }
  for (auto& [key, values] : flags.metrics.allowed_values) out.metrics.allowed_values[key] = std::move(values);
}

/// True, with the nanoseconds, when the flag was given and is a duration.
bool read_duration(const std::optional<std::string>& text, const char* flag, std::int64_t& out_ns,
                   text::Diagnostics& diagnostics) {
  if (!text) return false;
  if (const auto ns = config::parse_duration_ns(*text)) {
    out_ns = *ns;
    return true;
  }
  diagnostics.add(fmt::format("{}: \"{}\" is no duration, as 15s is", flag, *text));
  return false;
}

/// --feature-gates as kube-scheduler shows it: the gates of each component together, in the order in which they stand.
std::string shown_gates(const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::string>> gates;  // component, setting
  for (const std::string& setting : settings) {
    const std::size_t colon = setting.find(':');
    if (setting.empty()) continue;
    if (colon == std::string::npos)
      gates.emplace_back("", setting);
    else
      gates.emplace_back(setting.substr(0, colon), setting.substr(colon + 1));
  }
  std::stable_sort(gates.begin(), gates.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [component, setting] : gates)
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", component, setting);
  return out;
}

}  // namespace

void add_run_flags(CLI::App& command, RunOptions& options) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
  command.add_option("--config", options.config, "KubeSchedulerConfiguration and BerthConfiguration");
  command.add_option("--master", options.master, "URL of the API server, instead of the kubeconfig's");
  command.add_option("--write-config-to", options.write_config_to,
                     "Write the completed configuration to this file and exit");
  command.add_option("--plugin-dir", options.plugin_dir, "Directory of plugin files");
  command.add_flag("--dry-run", options.dry_run, "Decide and log; write nothing to the API server and take no lease");
  auto* const shadow = command.add_flag(
      "--shadow", options.shadow,
      "Only watch: decide about each pod that another scheduler binds at that moment, compare, and print a report at "
      "the end. Takes no lease, writes nothing and records nothing. Give it the configuration of the scheduler in "
      "charge");
  command
      .add_option("-o,--output", options.shadow_output, "With --shadow: the report as text or json, on standard output")
      ->check(CLI::IsMember({"text", "json"}))
      ->needs(shadow);
  add_duration(
      command, "--plugin-call-limit", options.plugin_call_limit,
      "How long a call into a plugin may last, more than 0: /livez and /healthz fail while one lasts longer, so "
      "that the kubelet starts berth again. Not a flag of kube-scheduler",
      "1m0s");
  command
      .add_flag("--version{true}", options.version,
                fmt::format("Print the version and exit; raw: on one line; {}-SUFFIX: report this version "
                            "on /version and in metrics",
                            k_upstream_version))
      ->default_str("false")
      ->check([](const std::string& value) {
        const bool is_known = value == "true" || value == "false" || value == "raw" || value.starts_with('v');
        return is_known ? std::string() : fmt::format("\"{}\" is no version", value);
      });
  add_serving_flags(command, options);
  add_access_flags(command, options);
  add_sandbox_flags(command, options.sandbox);
  add_recorder_flags(command, options.recorder);
  add_deprecated_flags(command, options);
  add_algorithm_flags(command, options.algorithm);
  add_election_flags(command, options.leader_election);
  add_other_flags(command, options);
  add_ignored(command, options);
  add_gone(command);
}

text::Diagnostics apply_flags(const RunOptions& options, config::Configuration& configuration) {
  text::Diagnostics diagnostics;
  const RunOptions::LeaderElectionFlags& flags = options.leader_election;
  config::LeaderElection& election = configuration.leader_election;
  if (flags.leader_elect) election.leader_elect = *flags.leader_elect;
  read_duration(flags.lease_duration, "--leader-elect-lease-duration", election.lease_duration_ns, diagnostics);
  read_duration(flags.renew_deadline, "--leader-elect-renew-deadline", election.renew_deadline_ns, diagnostics);
  read_duration(flags.retry_period, "--leader-elect-retry-period", election.retry_period_ns, diagnostics);
  if (flags.resource_lock) election.resource_lock = *flags.resource_lock;
  if (flags.resource_name) election.resource_name = *flags.resource_name;
  if (flags.resource_namespace) election.resource_namespace = *flags.resource_namespace;

  if (options.config.empty()) {
    config::ClientConnection& connection = configuration.client_connection;
    if (!options.kubeconfig.empty()) connection.kubeconfig = options.kubeconfig;
    if (options.qps) connection.qps = *options.qps == 0 ? 50 : *options.qps;
    if (options.burst) connection.burst = *options.burst == 0 ? 100 : *options.burst;
    if (options.content_type) connection.content_type = *options.content_type;
    if (options.profiling) configuration.enable_profiling = *options.profiling;
    if (options.contention_profiling) configuration.enable_contention_profiling = *options.contention_profiling;
  }
  if (options.tls_cert_file.empty() != options.tls_private_key_file.empty())
    diagnostics.add("--tls-cert-file and --tls-private-key-file must be given together");
  return diagnostics;
}

FlagValues read_flags(const RunOptions& options, text::Diagnostics& diagnostics) {
  FlagValues out;
  out.access.always_allowed = options.always_allowed;
  read_duration(options.token_cache_ttl, "--authentication-token-webhook-cache-ttl", out.access.token_kept_ns,
                diagnostics);
  read_duration(options.authorized_cache_ttl, "--authorization-webhook-cache-authorized-ttl",
                out.access.allowed_kept_ns, diagnostics);
  read_duration(options.unauthorized_cache_ttl, "--authorization-webhook-cache-unauthorized-ttl",
                out.access.refused_kept_ns, diagnostics);
  std::int64_t leftover_ns = 0;
  if (read_duration(options.pod_max_in_unschedulable, "--pod-max-in-unschedulable-pods-duration", leftover_ns,
                    diagnostics))
    out.leftover_age_ns = leftover_ns;
  if (read_duration(options.plugin_call_limit, "--plugin-call-limit", out.plugin_call_limit_ns, diagnostics) &&
      out.plugin_call_limit_ns <= 0)
    diagnostics.add("--plugin-call-limit: must be greater than 0");
  std::int64_t flush_ns = 0;  // read for its form
  read_duration(options.log_flush_frequency, "--log-flush-frequency", flush_ns, diagnostics);
  if (!options.log_modules.empty() && options.logging_format != "text")
    diagnostics.add("--vmodule: only with --logging-format=text, as of kube-scheduler");
  out.metrics.disabled.insert(options.disabled_metrics.begin(), options.disabled_metrics.end());
  read_allowed_labels(options, out, diagnostics);
  read_named_keys(options.tls_sni_cert_keys, out, diagnostics);
  read_health_address(options.health_bind_address, out, diagnostics);
  read_versions_and_gates(options, out, diagnostics);
  out.reported_version = read_reported_version(options.version, diagnostics);
  return out;
}

bool print_version(const RunOptions& options, std::ostream& out) {
  if (options.version == "true") {
    out << fmt::format("Kubernetes {}\n", k_upstream_version);
    return true;
  }
  if (options.version != "raw") return false;
  out << fmt::format("version.Info{{Major:\"1\", Minor:\"{}\", GitVersion:\"{}\", Product:\"{}\"}}\n", k_upstream_minor,
                     k_upstream_version, product());
  return true;
}

std::vector<std::pair<std::string, std::string>> flag_values(const CLI::App& command) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_group().empty()) continue;
    out.emplace_back(option->get_lnames().front(), shown_value(*option));
    // kube-scheduler names the component of each gate, which may be none: ":GangScheduling=true".
    if (out.back().first == "feature-gates") out.back().second = shown_gates(option->results());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace berth::app
