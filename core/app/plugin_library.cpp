// SPDX-License-Identifier: Apache-2.0
#include "app/plugin_library.hpp"

#include <algorithm>

#include "app/load_hooks.hpp"

namespace berth::app {

std::string user_agent() {
  std::string out = std::string(k_product) + "/scheduler";
  std::replace(out.begin(), out.end(), ' ', '/');
  return out;
}

loader::HostOffer host_offer() { return {std::string(k_product), framework::service_ids()}; }

config::PluginCatalog PluginLibrary::catalog() const {
  config::PluginCatalog catalog;
  for (const auto& [library, plugin] : plugins.all())
    catalog.plugins.push_back({plugin->name, framework::points_of(*plugin),
                               plugin->args_schema != nullptr ? plugin->args_schema : "", library->path});
  return catalog;
}

std::vector<framework::PluginSource> PluginLibrary::sources() const {
  std::vector<framework::PluginSource> sources;
  for (const auto& [library, plugin] : plugins.all()) {
    framework::PluginSource source{plugin, library->path, library->build_id, {}};
    for (const loader::PluginNote& note : library->notes)
      if (note.plugin == plugin->name) source.rbac = note.rbac;
    sources.push_back(std::move(source));
  }
  return sources;
}

PluginLibrary load_plugins(const config::RawConfiguration& raw, const std::string& plugin_dir) {
  loader::PluginDirectoryChoice choice = loader::PluginDirectoryChoice::of_this_process();
  choice.flag = plugin_dir;
  choice.configured = raw.values.plugins.directory;
  if (!choice.configured.empty()) choice.configured_where = raw.file + "  plugins.directory";
  loader::LoadRequest request;
  request.directory = loader::choose(choice);
  for (std::size_t i = 0; i < raw.values.plugins.files.size(); ++i)
    request.files.push_back({raw.values.plugins.files[i].file, raw.values.plugins.files[i].sha256,
                             fmt::format("{}  plugins.files[{}]", raw.file, i)});
  for (const config::NeededPlugin& needed : raw.needed_plugins(config::AbsentPlugins::embedded()))
    request.wanted.push_back({needed.name, needed.where, needed.optional});
  request.strict = raw.values.plugins.strict;
  request.require_digest = raw.values.plugins.require_digest;
  request.allow_draft_interfaces = raw.values.plugins.allow_draft_interfaces;
  loader::LoadOutcome outcome = loader::PluginLoader(host_offer(), crash_reporting_hooks()).load(request);
  return {std::move(outcome.plugins), std::move(outcome.report), request.directory};
}

}  // namespace berth::app
