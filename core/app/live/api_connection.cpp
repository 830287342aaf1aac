// SPDX-License-Identifier: Apache-2.0
#include "app/live/api_connection.hpp"

#include <filesystem>

#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

Result<cluster::kube::ClientConfig> find_config(const std::string& kubeconfig, const std::string& master,
                                                const Environment& environment, const std::string& context = {}) {
  if (kubeconfig.empty() && master.empty()) return cluster::kube::in_cluster_config(environment);
  text::Diagnostics diagnostics;
  const cluster::kube::KubeconfigOptions options{context, master};
  auto config = kubeconfig.empty() ? cluster::kube::read_kubeconfig("{}", "--master", options, diagnostics)
                                   : cluster::kube::load_kubeconfig(kubeconfig, options, diagnostics);
  if (config) return std::move(*config);
  std::string wrong = diagnostics.render();
  if (wrong.ends_with('\n')) wrong.pop_back();
  return Error{std::move(wrong)};
}

/// As kubectl looks for it, but that files are not merged.
Result<cluster::kube::ClientConfig> find_config(const ClusterAddress& cluster, const Environment& environment) {
  std::string file = cluster.kubeconfig;
  if (file.empty()) file = environment("KUBECONFIG");
  if (cluster.kubeconfig.empty() && file.find(':') != std::string::npos)
    return Error{"KUBECONFIG names several files: name one with --kubeconfig"};
  if (file.empty() && cluster.server.empty()) {
    const std::string own = environment("HOME") + "/.kube/config";
    std::error_code ignored;
    if (std::filesystem::exists(own, ignored)) file = own;
  }
  Result<cluster::kube::ClientConfig> config = find_config(file, cluster.server, environment, cluster.context);
  if (config.ok() || !file.empty() || !cluster.server.empty()) return config;
  return Error{"no cluster is named: --kubeconfig FILE, or --cluster FILES for manifests (" + config.error().message +
               ")"};
}

}  // namespace

Result<std::shared_ptr<net::Endpoint>> connect(const ClusterAddress& cluster, const Clock& clock) {
  const Environment environment = process_environment();
  Result<cluster::kube::ClientConfig> config = find_config(cluster, environment);
  if (!config.ok()) return config.error();
  return cluster::kube::make_endpoint(std::move(*config), clock, environment);
}

Result<std::shared_ptr<net::Endpoint>> connect_to_scheduler(const SchedulerAddress& scheduler,
                                                            const ClusterAddress& cluster, const Clock& clock) {
  const Environment environment = process_environment();
  Result<net::Url> url = net::parse_url(scheduler.url, "https");
  if (!url.ok()) return Error{"--scheduler: " + url.error().message};
  if (!url->secure()) return Error{"--scheduler: an https URL is wanted: credentials are sent there"};
  Result<cluster::kube::ClientConfig> config = find_config(cluster, environment);
  if (!config.ok()) return config.error();
  config->server = std::move(*url);
  config->tls.server_name.clear();  // the API server's
  config->proxy.reset();            // likewise; for this one the environment decides
  config->tls.insecure = scheduler.skips_verification;
  if (!scheduler.authority.empty()) config->tls.authority = {{}, scheduler.authority};
  return cluster::kube::make_endpoint(std::move(*config), clock, environment);
}

Result<std::shared_ptr<net::Endpoint>> connect(const std::string& kubeconfig, const std::string& master,
                                               const Clock& clock) {
  const Environment environment = process_environment();
  Result<cluster::kube::ClientConfig> config = find_config(kubeconfig, master, environment);
  if (!config.ok()) return config.error();
  return cluster::kube::make_endpoint(std::move(*config), clock, environment);
}

std::shared_ptr<net::Endpoint> connect_around_us(const Clock& clock) {
  const Environment environment = process_environment();
  Result<cluster::kube::ClientConfig> config = cluster::kube::in_cluster_config(environment);
  if (!config.ok()) return nullptr;
  auto endpoint = cluster::kube::make_endpoint(std::move(*config), clock, environment);
  if (endpoint.ok()) return std::move(*endpoint);
  observe::warning("Cannot review callers through the in-cluster API server", {{"err", endpoint.error().message}});
  return nullptr;
}

}  // namespace berth::app
