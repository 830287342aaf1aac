// SPDX-License-Identifier: Apache-2.0
#include "app/api_connection.hpp"

#include <optional>

#include "cluster/kube/kubeconfig.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

std::optional<cluster::kube::ClientConfig> find_config(const std::string& kubeconfig, const std::string& master,
                                                       const cluster::kube::Environment& environment,
                                                       std::ostream& err) {
  if (kubeconfig.empty() && master.empty()) {
    Result<cluster::kube::ClientConfig> found = cluster::kube::in_cluster_config(environment);
    if (found.ok()) return std::move(*found);
    err << found.error().message << '\n';
    return std::nullopt;
  }
  text::Problems problems;
  const cluster::kube::KubeconfigOptions options{{}, master};
  auto config = kubeconfig.empty() ? cluster::kube::read_kubeconfig("{}", "--master", options, problems)
                                   : cluster::kube::load_kubeconfig(kubeconfig, options, problems);
  err << problems.render();
  return config;
}

}  // namespace

std::shared_ptr<cluster::kube::Endpoint> connect(const std::string& kubeconfig, const std::string& master,
                                                 const Clock& clock, std::ostream& err) {
  const cluster::kube::Environment environment = cluster::kube::process_environment();
  auto config = find_config(kubeconfig, master, environment, err);
  if (!config) return nullptr;
  auto endpoint = cluster::kube::Endpoint::make(std::move(*config), clock, environment);
  if (endpoint.ok()) return std::move(*endpoint);
  err << endpoint.error().message << '\n';
  return nullptr;
}

std::shared_ptr<cluster::kube::Endpoint> connect_around_us(const Clock& clock) {
  const cluster::kube::Environment environment = cluster::kube::process_environment();
  Result<cluster::kube::ClientConfig> config = cluster::kube::in_cluster_config(environment);
  if (!config.ok()) return nullptr;
  auto endpoint = cluster::kube::Endpoint::make(std::move(*config), clock, environment);
  if (endpoint.ok()) return std::move(*endpoint);
  observe::warning("Who calls cannot be reviewed by the cluster around us", {{"err", endpoint.error().message}});
  return nullptr;
}

}  // namespace berth::app
