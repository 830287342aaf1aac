// SPDX-License-Identifier: Apache-2.0
#include "app/live/api_connection.hpp"

#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

Result<cluster::kube::ClientConfig> find_config(const std::string& kubeconfig, const std::string& master,
                                                const Environment& environment) {
  if (kubeconfig.empty() && master.empty()) return cluster::kube::in_cluster_config(environment);
  text::Diagnostics diagnostics;
  const cluster::kube::KubeconfigOptions options{{}, master};
  auto config = kubeconfig.empty() ? cluster::kube::read_kubeconfig("{}", "--master", options, diagnostics)
                                   : cluster::kube::load_kubeconfig(kubeconfig, options, diagnostics);
  if (config) return std::move(*config);
  std::string wrong = diagnostics.render();
  if (wrong.ends_with('\n')) wrong.pop_back();
  return Error{std::move(wrong)};
}

}  // namespace

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
  observe::warning("Who calls cannot be reviewed by the cluster around us", {{"err", endpoint.error().message}});
  return nullptr;
}

}  // namespace berth::app
