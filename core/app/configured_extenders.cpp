// SPDX-License-Identifier: Apache-2.0
#include "app/configured_extenders.hpp"

#include <algorithm>

#include "app/plugin_library.hpp"
#include "extender/http_extender.hpp"

namespace berth::app {

void keep_for_extenders(const config::Configuration& configuration, decode::DecodeOptions& options) {
  bool asks_about_every_pod = false, asks = false, shows_victims = false;
  for (const config::Extender& extender : configuration.extenders) {
    const bool asks_about_nodes = !extender.filter_verb.empty() || !extender.prioritize_verb.empty();
    const bool preempts = !extender.preempt_verb.empty();
    for (const config::ManagedResource& resource : extender.managed_resources)
      options.managed_resources.push_back(resource.name);
    asks = asks || asks_about_nodes || preempts;
    asks_about_every_pod =
        asks_about_every_pod || ((asks_about_nodes || preempts) && extender.managed_resources.empty());
    if (extender.node_cache_capable) continue;
    options.keep_node_bodies = options.keep_node_bodies || asks_about_nodes;
    shows_victims = shows_victims || preempts;
  }
  if (!asks) return;
  options.keeps_pod_body = [asks_about_every_pod, shows_victims](const model::Pod& pod) {
    if (pod.finished()) return false;
    if (shows_victims) return true;
    return pod.node_name == k_no_symbol && (asks_about_every_pod || !pod.spec->managed_resources.empty());
  };
}

std::unique_ptr<ConfiguredExtenders> ConfiguredExtenders::make(const config::Configuration& configuration,
                                                               SymbolTable& symbols,
                                                               std::function<void(bool waits)> on_wait,
                                                               std::vector<std::string>& complaints) {
  if (configuration.extenders.empty()) return nullptr;
  std::unique_ptr<ConfiguredExtenders> made(new ConfiguredExtenders);
  std::string user_agent = fmt::format("{}/scheduler", k_product);
  std::replace(user_agent.begin(), user_agent.end(), ' ', '/');
  const extender::HttpExtender::Parts parts{made->io_, made->clock_, symbols, cluster::kube::process_environment(),
                                            std::move(user_agent)};
  std::vector<std::unique_ptr<framework::Extender>> extenders;
  const std::size_t complaints_before = complaints.size();
  for (const config::Extender& extender : configuration.extenders) {
    Result<std::unique_ptr<extender::HttpExtender>> one = extender::HttpExtender::make(extender, parts);
    if (one.ok())
      extenders.push_back(std::move(*one));
    else
      complaints.push_back(
          fmt::format("{}: extender {} cannot be used: {}", extender.where, extender.url_prefix, one.error().message));
  }
  if (complaints.size() != complaints_before) return nullptr;
  made->all_ = std::make_unique<framework::Extenders>(std::move(extenders), configuration.legacy.max_node_score,
                                                      std::move(on_wait));
  return made;
}

}  // namespace berth::app
