// SPDX-License-Identifier: Apache-2.0
#include "app/plugins/plugin_library.hpp"

#include "app/plugins/load_hooks.hpp"
#include "base/product.hpp"
#include "framework/services/gates_service.hpp"
#include "framework/services/service_tables.hpp"
#include "isolation/description.hpp"
#include "isolation/isolated_library.hpp"
#include "preemption/preemption.hpp"

namespace berth::app {

loader::HostOffer host_offer() {
  loader::HostOffer offer{std::string(product()), {}};
  for (const auto* ids : {&framework::own_service_ids(), &preemption::service_ids()})
    offer.services.insert(offer.services.end(), ids->begin(), ids->end());
  offer.services.emplace_back(framework::k_gates_id);
  return offer;
}

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
      if (note.plugin == plugin->name) {
        source.rbac = note.rbac;
        source.watches = note.watches;
      }
    sources.push_back(std::move(source));
  }
  return sources;
}

namespace {

/// Files that are no plugins and were pinned for the sake of those that need them.
std::vector<std::pair<std::string, std::string>> companions_of(const loader::LoadRequest& request) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const loader::PluginPin& pin : request.files)
    if (std::filesystem::path(pin.file).extension() != ".so") out.emplace_back(pin.file, pin.sha256);
  return out;
}

Result<loader::IsolatedLibraryEntry> isolate(const loader::IsolatedFile& file, const config::RawConfiguration& raw,
                                             const loader::LoadRequest& request, const std::string& berth) {
  isolation::PluginProgram program{
      file.directory, file.file, file.sha256, {}, companions_of(request), request.allow_draft_interfaces};
  for (const loader::PluginNote& note : file.notes) {
    if (std::string why = isolation::beyond_isolation(note.plugin, note.points, note.services); !why.empty())
      return Error{std::move(why)};
    program.plugins.push_back(note.plugin);
  }
  isolation::IsolationLimits limits;
  const auto place = static_cast<std::size_t>(file.pin - request.files.data());
  limits.call_ns = raw.values.plugins.files[place].call_timeout_ns;
  auto opened = isolation::IsolatedLibrary::open(program, limits, berth);
  if (!opened.ok()) return opened.error();
  return loader::IsolatedLibraryEntry{(*opened)->entry(), *opened};
}

}  // namespace

PluginLibrary load_plugins(const config::RawConfiguration& raw, const std::string& plugin_dir, ConfiguredBy by,
                           const std::string& berth) {
  loader::PluginDirectoryChoice choice = loader::PluginDirectoryChoice::of_this_process();
  choice.flag = plugin_dir;
  if (by == ConfiguredBy::user) choice.configured = raw.values.plugins.directory;
  if (!choice.configured.empty()) choice.configured_where = raw.file + "  plugins.directory";
  loader::LoadRequest request;
  request.directory = loader::choose(choice);
  for (std::size_t i = 0; i < raw.values.plugins.files.size(); ++i) {
    const config::PluginFile& pin = raw.values.plugins.files[i];
    request.files.push_back({by == ConfiguredBy::user ? pin.file : std::filesystem::path(pin.file).filename().string(),
                             pin.sha256, fmt::format("{}  plugins.files[{}]", raw.file, i), pin.is_isolated});
  }
  request.isolate = [&](const loader::IsolatedFile& file) { return isolate(file, raw, request, berth); };
  for (const config::NeededPlugin& needed : raw.needed_plugins(config::AbsentPlugins::embedded()))
    request.wanted.push_back({needed.name, needed.where, needed.optional});
  request.strict = raw.values.plugins.strict;
  request.require_digest = raw.values.plugins.require_digest;
  request.allow_draft_interfaces = raw.values.plugins.allow_draft_interfaces;
  for (const std::string& text : raw.values.plugins.public_keys) {
    Result<loader::PublicKey> key = loader::PublicKey::parse(text);
    BERTH_CHECK(key.ok(), "a configuration has keys that can be read");
    request.public_keys.push_back(std::move(*key));
  }
  loader::LoadOutcome outcome = loader::PluginLoader(host_offer(), crash_reporting_hooks()).load(request);
  PluginLibrary loaded{std::move(outcome.plugins), std::move(outcome.report), request.directory};
  if (const std::filesystem::path named = raw.values.plugins.directory;
      by == ConfiguredBy::others && !named.empty() &&
      named.lexically_normal() != request.directory.path.lexically_normal())
    loaded.unused_directory = raw.values.plugins.directory;
  return loaded;
}

std::string unused_directory_note(const PluginLibrary& plugins, const std::string& source) {
  if (plugins.unused_directory.empty()) return {};
  return fmt::format("{}: plugins.directory {} is not used: plugins are those of {} ({}); --plugin-dir names others",
                     source, plugins.unused_directory, plugins.directory.path.string(), plugins.directory.chosen_by);
}

}  // namespace berth::app
