// SPDX-License-Identifier: Apache-2.0
#include "app/commands/policy_source.hpp"

#include <spdlog/fmt/fmt.h>

#include "app/cli/feature_gates.hpp"
#include "app/live/api_connection.hpp"
#include "cluster/kube/read/api_question.hpp"
#include "config/read/source_file.hpp"
#include "net/url.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::seconds k_policy_limit{10};
constexpr std::string_view k_policy_key = "policy.cfg";

/// The algorithmSource that the deprecated flags stand for; empty when none was given.
std::string algorithm_source(const RunOptions& options, text::Diagnostics& flag_errors) {
  const RunOptions::AlgorithmFlags& flags = options.algorithm;
  if (flags.use_legacy_policy_config && flags.policy_config_file.empty())
    flag_errors.add("--policy-config-file: required when --use-legacy-policy-config is true");
  std::string out;
  const auto put = [&](std::string_view text) { text::append_json_string(out, text); };
  if (!flags.policy_config_file.empty() && (flags.use_legacy_policy_config || flags.policy_config_map.empty())) {
    out = "{\"policy\":{\"file\":{\"path\":";
    put(flags.policy_config_file);
    return out + "}}}";
  }
  if (!flags.policy_config_map.empty()) {
    out = "{\"policy\":{\"configMap\":{\"namespace\":";
    put(flags.policy_config_map_namespace);
    out += ",\"name\":";
    put(flags.policy_config_map);
    return out + "}}}";
  }
  if (flags.algorithm_provider.empty()) return {};
  out = "{\"provider\":";
  put(flags.algorithm_provider);
  return out + "}";
}

}  // namespace

Result<std::string> read_policy_map(const config::PolicyLocation& location, const std::string& kubeconfig,
                                    const std::string& master, const Clock& clock) {
  const auto endpoint = connect(kubeconfig, master, clock);
  if (!endpoint.ok()) return Error{"needs an API server to be read from: " + endpoint.error().message};
  net::IoThreads io(1);
  net::HttpClient client(io, *endpoint, {});
  net::Request request;
  request.target =
      fmt::format("/api/v1/namespaces/{}/configmaps/{}", net::percent_encode(location.config_map_namespace),
                  net::percent_encode(location.config_map_name));
  request.retry = {3, std::chrono::milliseconds(100), 2};
  const Result<std::string> answer = cluster::kube::ask_server(client, std::move(request), k_policy_limit);
  if (!answer.ok()) return Error{fmt::format("couldn't get policy config map: {}", answer.error().message)};
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(*answer, "ConfigMap", diagnostics);
  const text::Value* data = documents.empty() ? nullptr : documents.front().root().find("data");
  const text::Value* policy = data != nullptr ? data->find(k_policy_key) : nullptr;
  if (policy == nullptr || !policy->is_string())
    return Error{fmt::format("missing policy config map value at key \"{}\"", k_policy_key)};
  return std::string(policy->text());
}

namespace {

config::RawConfiguration read_source(const RunOptions& options, const Clock& clock, text::Diagnostics& diagnostics,
                                     text::Diagnostics& flag_errors, text::Diagnostics& warnings) {
  config::TranslateOptions translate;
  translate.flags_over_election = true;
  translate.mode.balance_volumes = balances_volumes(options.feature_gates);
  translate.read_policy = [&](const config::PolicyLocation& location) {
    if (!location.file.empty()) return config::read_policy_file(location);
    const std::string& kubeconfig = options.config.empty() ? options.kubeconfig : location.kubeconfig;
    return read_policy_map(location, kubeconfig, options.master, clock);
  };
  const RunOptions::AlgorithmFlags& flags = options.algorithm;
  if (!options.config.empty()) {
    if (!flags.policy_config_file.empty() || !flags.policy_config_map.empty() || !flags.algorithm_provider.empty())
      warnings.add(
          "--policy-config-file, --policy-configmap and --algorithm-provider have no effect together with --config");
    return config::load_file(options.config, diagnostics, translate);
  }
  const std::string algorithm = algorithm_source(options, flag_errors);
  if (algorithm.empty()) return config::load_defaults();
  return config::load(
      "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1alpha1\",\"kind\":\"KubeSchedulerConfiguration\","
      "\"algorithmSource\":" +
          algorithm + "}",
      "command line", diagnostics, translate);
}

}  // namespace

config::RawConfiguration read_configuration(const RunOptions& options, const Clock& clock,
                                            text::Diagnostics& diagnostics, text::Diagnostics& flag_errors,
                                            text::Diagnostics& warnings) {
  config::RawConfiguration raw = read_source(options, clock, diagnostics, flag_errors, warnings);
  if (balances_volumes(options.feature_gates) && (!raw.converted || raw.values.legacy.balance_volumes))
    warnings.add(
        "--feature-gates: BalanceAttachedNodeVolumes=true has no effect: the priorities of a Policy or of an algorithm "
        "provider listen to it");
  return raw;
}

}  // namespace berth::app
