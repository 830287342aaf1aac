// SPDX-License-Identifier: Apache-2.0
#include "app/plugins/decode_retention.hpp"

#include <set>
#include <string_view>

#include "config/absent_plugins.hpp"

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

void read_as_gated(const config::Configuration& configuration, decode::DecodeOptions& options) {
  const config::Features& features = configuration.features;
  options.gates.toleration_comparison = features.compares_tolerations;
  options.gates.pod_level_resources = features.pod_level_resources;
  options.gates.pod_level_resize = features.pod_level_resize;
  options.gates.spread_match_label_keys = features.spread_match_label_keys;
}

void keep_for_plugins(const framework::Framework& framework, decode::DecodeOptions& options) {
  if (framework.shows(BERTH_POD_JSON)) options.keeps_pod_body = [](const model::Pod&) { return true; };
  options.pod_parts = {framework.shows(BERTH_POD_ANNOTATIONS), framework.shows(BERTH_POD_VOLUMES)};
  options.node_annotations = framework.node_annotations();
}

std::vector<model::FieldNeed> field_needs(const config::Configuration& configuration) {
  std::set<std::string_view> enabled;
  for (const config::Profile& profile : configuration.profiles)
    for (const auto& point : profile.points)
      for (const config::EnabledPlugin& plugin : point)
        if (plugin.absent) enabled.insert(plugin.name);
  std::vector<model::FieldNeed> needs;
  for (const config::AbsentPlugin& plugin : config::AbsentPlugins::embedded().all())
    if (enabled.contains(plugin.name)) needs.insert(needs.end(), plugin.needs.begin(), plugin.needs.end());
  return needs;
}

decode::DecodeOptions decode_options(const config::Configuration& configuration,
                                     const framework::Framework& framework) {
  decode::DecodeOptions options;
  options.needs = field_needs(configuration);
  read_as_gated(configuration, options);
  keep_for_extenders(configuration, options);
  keep_for_plugins(framework, options);
  return options;
}

}  // namespace berth::app
