// SPDX-License-Identifier: Apache-2.0
#include "config/args/resolve_args.hpp"

#include <spdlog/fmt/fmt.h>

#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

const RawPluginConfig* find_config(const RawProfile& profile, std::string_view name) {
  for (const RawPluginConfig& config : profile.plugin_config)
    if (config.name == name) return &config;
  return nullptr;
}

}  // namespace

ArgsResolver::ArgsResolver(const PluginCatalog& catalog, const AbsentPlugins& absent, const Source& source)
    : catalog_(catalog), absent_(absent), source_(source) {}

const ArgsSchema* ArgsResolver::schema_of(std::string_view name) {
  if (const auto known = schemas_.find(name); known != schemas_.end()) return known->second ? &*known->second : nullptr;
  std::optional<ArgsSchema>& slot = schemas_[std::string(name)];
  const CatalogPlugin* plugin = catalog_.find(name);
  const AbsentPlugin* absent = plugin == nullptr ? absent_.find(name) : nullptr;
  const std::string_view text = plugin != nullptr   ? plugin->args_schema
                                : absent != nullptr ? std::string_view(absent->args_schema)
                                                    : std::string_view{};
  if (text.empty()) return nullptr;
  Result<ArgsSchema> schema = ArgsSchema::parse(text);
  if (schema)
    slot.emplace(std::move(schema).value());
  else
    source_.diagnostics.add(
        plugin != nullptr ? plugin->file : "conf/*-plugins.yaml", {}, "",
        fmt::format("the args schema of plugin {} cannot be used: {}", quoted(name), schema.error().message));
  return slot ? &*slot : nullptr;
}

/// apiVersion and kind inside args are optional; where they stand they must be those of the plugin's args.
bool ArgsResolver::check_envelope(const RawPluginConfig& config) {
  bool good = true;
  const auto check = [&](std::string_view key, const std::string& wanted) {
    const text::Value* value = config.args->find(key);
    if (value == nullptr || value->is_null() || (value->is_string() && value->text() == wanted)) return;
    source_.report({value->position(), fmt::format("{}.{}", config.args_place.path, key)},
                   fmt::format("args for plugin {} were not of type {}, got {}", config.name,
                               fmt::format("{}.{}", k_scheduler_api, config.name + "Args"), shown(*value)),
                   fmt::format("write {} or leave it out", quoted(wanted)));
    good = false;
  };
  // The args of a plugin with a qualified name ("example.com/Rack") belong to its author's own API group.
  if (config.name.find('/') != std::string::npos) return true;
  check("apiVersion", std::string(k_scheduler_api));
  check("kind", config.name + "Args");
  return good;
}

std::string ArgsResolver::complete(const RawPluginConfig& config) {
  const ArgsSchema* schema = schema_of(config.name);
  if (schema == nullptr) return config.args != nullptr ? text::to_json(*config.args) : "{}";
  if (config.args != nullptr && !check_envelope(config)) return "{}";
  return schema->complete(config.args, config.args_place, source_);
}

void ArgsResolver::resolve(const RawProfile& profile, const std::set<std::string>& enabled, text::Diagnostics* notes,
                           Profile& out) {
  for (const RawPluginConfig& config : profile.plugin_config) {
    if (const RemovedPlugin* removed = absent_.find_removed(config.name);
        removed != nullptr && catalog_.find(config.name) == nullptr) {
      source_.report(config.place, fmt::format("Invalid value: {}: was removed from Kubernetes", quoted(config.name)),
                     "use " + removed->instead);
      continue;
    }
    std::string json = complete(config);
    if (enabled.count(config.name) != 0) {
      const Place& at = config.args_place;
      out.args_json.emplace(config.name, std::move(json));
      out.args_origin.emplace(config.name,
                              fmt::format("{}:{}:{}: {}", source_.file, at.position.line, at.position.column, at.path));
    } else if (notes != nullptr) {
      notes->add(source_.file, config.place.position, config.place.path,
                 fmt::format("args for plugin {} have no effect: the profile does not enable it", quoted(config.name)));
    }
  }
  for (const std::string& name : enabled) {
    if (find_config(profile, name) != nullptr) continue;
    const ArgsSchema* schema = schema_of(name);
    if (schema == nullptr && catalog_.find(name) == nullptr) continue;  // absent and without args
    const Place place{profile.place.position, fmt::format("{}.pluginConfig[{}].args", profile.place.path, name)};
    out.args_json.emplace(name, schema != nullptr ? schema->complete(nullptr, place, source_) : "{}");
  }
}

}  // namespace berth::config
