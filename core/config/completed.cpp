// SPDX-License-Identifier: Apache-2.0
#include "config/completed.hpp"

#include <spdlog/fmt/fmt.h>

#include <iterator>
#include <utility>

#include "base/base64.hpp"
#include "base/check.hpp"
#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"
#include "config/read/yaml_writer.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

template <typename... Args>
void line(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  out += '\n';
}

void append_names(std::string& out, std::string_view list, const std::vector<RawPlugin>& plugins) {
  if (plugins.empty()) return;
  line(out, "        {}:", list);
  for (const RawPlugin& plugin : plugins) {
    line(out, "          - name: {}", yaml_string(plugin.name));
    if (plugin.weight != 0) line(out, "            weight: {}", plugin.weight);
  }
}

void append_profile(std::string& out, const RawProfile& raw, const Profile& profile) {
  line(out, "  - schedulerName: {}", yaml_string(profile.scheduler_name));
  if (profile.percentage_of_nodes_to_score)
    line(out, "    percentageOfNodesToScore: {}", *profile.percentage_of_nodes_to_score);
  line(out, "    plugins:");
  for (std::size_t set = 0; set < k_plugin_set_count; ++set) {
    const RawPluginSet& plugins = raw.plugins[set];
    if (plugins.enabled.empty() && plugins.disabled.empty()) continue;
    line(out, "      {}:", plugin_set_name(set));
    append_names(out, "enabled", plugins.enabled);
    append_names(out, "disabled", plugins.disabled);
  }
  bool any = false;
  for (const auto& [name, json] : profile.args_json) {
    if (json == "{}") continue;  // nothing to configure, or nothing configured
    if (!std::exchange(any, true)) line(out, "    pluginConfig:");
    line(out, "      - name: {}\n        args:", yaml_string(name));
    text::Diagnostics diagnostics;
    const std::vector<text::Document> documents = text::parse_json(json, name, diagnostics);
    BERTH_CHECK(diagnostics.empty() && documents.size() == 1, "args of {} are no JSON: {}", name, diagnostics.render());
    append_yaml(out, documents.front().root(), 10);
  }
}

void append_legacy_mode(std::string& out, const LegacyMode& legacy) {
  if (!legacy.search && !legacy.queue && !legacy.check_all_filters &&
      legacy.max_node_score == LegacyMode{}.max_node_score)
    return;
  line(out, "legacy:");
  if (legacy.search) line(out, "  search: v1.16");
  if (legacy.seed) line(out, "  seed: {}", static_cast<std::int64_t>(*legacy.seed));
  if (legacy.queue) line(out, "  queue: v1.16");
  line(out, "  alwaysCheckAllPredicates: {}", legacy.check_all_filters);
  line(out, "  maxNodeScore: {}", legacy.max_node_score);
}

void append_text(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) line(out, "{}: {}", key, yaml_string(text));
}

void append_extender(std::string& out, const Extender& extender) {
  line(out, "  - urlPrefix: {}", yaml_string(extender.url_prefix));
  append_text(out, "    filterVerb", extender.filter_verb);
  append_text(out, "    prioritizeVerb", extender.prioritize_verb);
  append_text(out, "    preemptVerb", extender.preempt_verb);
  append_text(out, "    bindVerb", extender.bind_verb);
  line(out, "    weight: {}", extender.weight);
  line(out, "    enableHTTPS: {}", extender.enable_https);
  line(out, "    httpTimeout: {}", format_duration(extender.http_timeout_ns));
  line(out, "    nodeCacheCapable: {}", extender.node_cache_capable);
  line(out, "    ignorable: {}", extender.ignorable);
  if (extender.tls) {
    line(out, "    tlsConfig:\n      insecure: {}", extender.tls->insecure);
    append_text(out, "      serverName", extender.tls->server_name);
    append_text(out, "      certFile", extender.tls->cert_file);
    append_text(out, "      keyFile", extender.tls->key_file);
    append_text(out, "      caFile", extender.tls->ca_file);
    append_text(out, "      certData", encode_base64(extender.tls->cert_data));
    append_text(out, "      keyData", encode_base64(extender.tls->key_data));
    append_text(out, "      caData", encode_base64(extender.tls->ca_data));
  }
  if (!extender.managed_resources.empty()) line(out, "    managedResources:");
  for (const ManagedResource& resource : extender.managed_resources)
    line(out, "      - name: {}\n        ignoredByScheduler: {}", yaml_string(resource.name),
         resource.ignored_by_scheduler);
}

void append_berth_document(std::string& out, const PluginLoading& plugins, std::int64_t explain_after_ns) {
  static constexpr std::array<std::string_view, 3> k_reuse = {"\"on\"", "\"off\"", "verify"};
  line(out, "apiVersion: {}\nkind: {}\nplugins:", k_berth_api, k_berth_kind);
  line(out, "  directory: {}", yaml_string(plugins.directory));
  line(out, "  strict: {}", plugins.strict);
  line(out, "  requireDigest: {}", plugins.require_digest);
  line(out, "  allowDraftInterfaces: {}", plugins.allow_draft_interfaces);
  line(out, "  publicKeys:{}", plugins.public_keys.empty() ? " []" : "");
  for (const std::string& key : plugins.public_keys) line(out, "    - {}", yaml_string(key));
  line(out, "  verdictReuse: {}", k_reuse[static_cast<std::size_t>(plugins.verdict_reuse)]);
  line(out, "  files:{}", plugins.files.empty() ? " []" : "");
  for (const PluginFile& file : plugins.files) {
    line(out, "    - file: {}", yaml_string(file.file));
    if (!file.sha256.empty()) line(out, "      sha256: {}", yaml_string(file.sha256));
    if (file.is_isolated)
      line(out, "      isolation: process\n      callTimeout: {}", format_duration(file.call_timeout_ns));
  }
  line(out, "explainAfter: {}", format_duration(explain_after_ns));
}

}  // namespace

std::string completed_yaml(const RawConfiguration& raw, const Configuration& c) {
  BERTH_CHECK(raw.profiles.size() == c.profiles.size(), "a configuration of another file");
  constexpr int k_every_node = 100;
  std::string out;
  line(out, "apiVersion: {}\nkind: {}", k_scheduler_api, k_scheduler_kind);
  line(out, "parallelism: {}", c.parallelism);
  line(out, "percentageOfNodesToScore: {}", c.percentage_of_nodes_to_score.value_or(k_every_node));
  line(out, "podInitialBackoffSeconds: {}", c.pod_initial_backoff_seconds);
  line(out, "podMaxBackoffSeconds: {}", c.pod_max_backoff_seconds);
  line(out, "enableProfiling: {}", c.enable_profiling);
  line(out, "enableContentionProfiling: {}", c.enable_contention_profiling);
  line(out, "delayCacheUntilActive: {}", c.delay_cache_until_active);
  line(out, "leaderElection:");
  line(out, "  leaderElect: {}", c.leader_election.leader_elect);
  line(out, "  leaseDuration: {}", format_duration(c.leader_election.lease_duration_ns));
  line(out, "  renewDeadline: {}", format_duration(c.leader_election.renew_deadline_ns));
  line(out, "  retryPeriod: {}", format_duration(c.leader_election.retry_period_ns));
  line(out, "  resourceLock: {}", yaml_string(c.leader_election.resource_lock));
  line(out, "  resourceName: {}", yaml_string(c.leader_election.resource_name));
  line(out, "  resourceNamespace: {}", yaml_string(c.leader_election.resource_namespace));
  line(out, "clientConnection:");
  line(out, "  kubeconfig: {}", yaml_string(c.client_connection.kubeconfig));
  line(out, "  acceptContentTypes: {}", yaml_string(c.client_connection.accept_content_types));
  line(out, "  contentType: {}", yaml_string(c.client_connection.content_type));
  line(out, "  qps: {}", c.client_connection.qps);
  line(out, "  burst: {}", c.client_connection.burst);
  line(out, "profiles:");
  for (std::size_t i = 0; i < raw.profiles.size(); ++i) append_profile(out, raw.profiles[i], c.profiles[i]);
  if (!c.extenders.empty()) line(out, "extenders:");
  for (const Extender& extender : c.extenders) append_extender(out, extender);
  line(out, "---");
  append_berth_document(out, c.plugins, c.explain_after_ns);
  append_legacy_mode(out, c.legacy);
  return out;
}

}  // namespace berth::config
