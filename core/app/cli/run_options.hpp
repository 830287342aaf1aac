// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "access/caller_authorities.hpp"
#include "access/delegated_access.hpp"
#include "app/cli/compatibility_version.hpp"
#include "app/cli/feature_gates.hpp"
#include "base/product.hpp"
#include "config/profile.hpp"
#include "observe/log.hpp"
#include "observe/metric_page.hpp"
#include "text/diagnostics.hpp"

namespace CLI {
class App;
}

namespace berth::app {

/// What `berth run` was told on its command line. Absent: not said, so that a configuration file's word holds.
struct RunOptions {
  std::string config, kubeconfig, master, plugin_dir, write_config_to;
  bool dry_run = false;
  bool shadow = false;
  std::string shadow_output = "text";  // or "json"

  struct LeaderElectionFlags {
    std::optional<bool> leader_elect;
    std::optional<std::string> lease_duration, renew_deadline, retry_period;  // Go durations
    std::optional<std::string> resource_lock, resource_name, resource_namespace;
  } leader_election;
  /// Flags of kube-scheduler v1.22 and older, without --config only.
  struct AlgorithmFlags {
    std::string policy_config_file, policy_config_map, policy_config_map_namespace = "kube-system", algorithm_provider;
    bool use_legacy_policy_config = false;  // the file wins over the ConfigMap
  } algorithm;
  // Without --config only, as upstream's deprecated flags.
  std::optional<double> qps;
  std::optional<std::int32_t> burst;
  std::optional<std::string> content_type;

  std::optional<bool> profiling, contention_profiling;
  /// How long a pod waits for an event before it is tried without one; with a file as well.
  std::optional<std::string> pod_max_in_unschedulable;
  std::optional<std::string> plugin_call_limit;  // a Go duration

  std::string bind_address = "0.0.0.0";
  std::uint16_t secure_port = 10259;
  bool shares_port = false;
  std::string health_bind_address;  // ADDRESS:PORT; empty: none
  std::string cert_dir, tls_cert_file, tls_private_key_file;
  std::string tls_min_version;
  std::vector<std::string> tls_cipher_suites;
  std::vector<int> tls_curves;
  std::vector<std::string> tls_sni_cert_keys;  // CERTIFICATE,KEY[:NAME,NAME] each

  std::string authentication_kubeconfig, authorization_kubeconfig;
  std::optional<std::string> token_cache_ttl, authorized_cache_ttl, unauthorized_cache_ttl;  // Go durations
  std::vector<std::string> always_allowed{"/healthz", "/readyz", "/livez"};
  access::CallerAuthorityOptions authorities;

  /// How berth confines itself; absent: as --sandbox=enforce as far as the kernel can.
  struct SandboxFlags {
    std::optional<std::string> how;        // "off", "warn" or "enforce"
    std::vector<std::string> read, write;  // paths for policies of others
    std::vector<std::uint16_t> connect;    // TCP ports for policies of others
  } sandbox;

  /// Where decisions are recorded.
  struct RecorderFlags {
    std::optional<std::string> directory;  // absent: the usual one; empty: nothing is recorded
    std::uint32_t size_mib = 256;          // of all files together
  } recorder;

  std::vector<std::string> disabled_metrics, allowed_labels;
  std::string allowed_labels_manifest;
  std::vector<std::string> feature_gates;
  std::vector<std::string> emulated_version, min_compatibility_version;
  std::string shown_hidden_metrics;

  std::string version;  // "true", "raw": asked for; "v1.36.2-SUFFIX": to be told
  /// Every flag with its value, for /flagz and the log.
  std::vector<std::pair<std::string, std::string>> all;

  int verbosity = 0;
  std::vector<observe::LogModule> log_modules;
  std::string logging_format = "text";
  std::optional<std::string> log_flush_frequency;
  /// Upstream's flags that are understood and change nothing here: name, value, and why, for the log.
  struct WithoutEffect {
    std::string name, value, why;
  };
  std::vector<WithoutEffect> without_effect;
};

/// Adds kube-scheduler's flags to a command. `options` outlives the parse.
/// Source: kubernetes v1.36 cmd/kube-scheduler/app/options.
void add_run_flags(CLI::App& command, RunOptions& options);

/// Lays the flags over a configuration: leader election always, the others only without --config. Returns what is
/// wrong.
text::Diagnostics apply_flags(const RunOptions& options, config::Configuration& configuration);

/// What flags say that no field of the configuration says, read and judged; `diagnostics` gets everything that is wrong
/// with them.
struct FlagValues {
  /// Of --tls-sni-cert-key: files, and for which names; none: those in the certificate.
  struct NamedKeyFiles {
    std::string certificate, key;
    std::vector<std::string> patterns;
  };
  std::vector<NamedKeyFiles> named_keys;
  /// Where health endpoints are served without TLS.
  struct PlainAddress {
    std::string address;
    std::uint16_t port = 0;
  };
  std::optional<PlainAddress> health;
  access::DelegatedAccessOptions access;
  observe::MetricFilter metrics;
  std::optional<std::int64_t> leftover_age_ns;
  std::int64_t plugin_call_limit_ns = 60'000'000'000;
  std::string reported_version;  // as k_upstream_version, perhaps with a suffix
  CompatibilityVersion version;
  FeatureGates gates;
  text::Diagnostics warnings;
};
FlagValues read_flags(const RunOptions& options, text::Diagnostics& diagnostics);

/// True, with the answer on `out`, when the command line only asked for the version.
bool print_version(const RunOptions& options, std::ostream& out);

/// Every flag with its value, by name.
std::vector<std::pair<std::string, std::string>> flag_values(const CLI::App& command);

}  // namespace berth::app
