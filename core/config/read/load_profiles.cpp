// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>

#include <set>

#include "config/read/load_parts.hpp"
#include "config/read/names.hpp"
#include "config/read/yaml_writer.hpp"

namespace berth::config {
namespace {

/// `enabled` (with weights) or `disabled` of one plugin set.
std::vector<RawPlugin> read_plugins(Fields& set, std::string_view key, const Source& source) {
  std::vector<RawPlugin> plugins;
  const text::Value* list = set.sequence(key);
  if (list == nullptr) return plugins;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    const std::string path = fmt::format("{}[{}]", set.path_of(key), i);
    if (const text::Value& element = list->elements()[i]; element.is_string()) {
      source.report({element.position(), path}, "is a string, but must be an object",
                    fmt::format("write {{name: {}}}", yaml_string(element.text())));
      continue;
    }
    Fields fields(source, list->elements()[i], path);
    RawPlugin plugin;
    plugin.place = fields.place();
    const bool named = fields.read("name", plugin.name) && !plugin.name.empty();
    // Upstream has one type for both lists, so that a weight in `disabled` is legal and without meaning.
    fields.read("weight", plugin.weight);
    if (named)
      plugins.push_back(std::move(plugin));
    else if (!fields.has("name") || plugin.name.empty())
      source.report(fields.place_of("name"), "Required value", "the name of a plugin");
  }
  return plugins;
}

void read_plugin_sets(const text::Value& value, std::string path, const Source& source, RawPluginSets& out) {
  Fields plugins(source, value, std::move(path));
  for (std::size_t set = 0; set < k_plugin_set_count; ++set)
    out[set] = read_plugin_set(plugins, plugin_set_name(set), source);
}

std::vector<RawPluginConfig> read_plugin_config(Fields& profile, const Source& source) {
  std::vector<RawPluginConfig> configs;
  const text::Value* list = profile.sequence("pluginConfig");
  if (list == nullptr) return configs;
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    Fields fields(source, list->elements()[i], fmt::format("{}[{}]", profile.path_of("pluginConfig"), i));
    RawPluginConfig config;
    config.place = fields.place();
    fields.read("name", config.name);
    config.args = fields.mapping("args");
    config.args_place = fields.place_of("args");
    if (config.name.empty()) {
      if (!fields.has("name")) source.report(fields.place_of("name"), "Required value", "the name of a plugin");
      continue;
    }
    if (!seen.insert(config.name).second) {
      source.report(fields.place_of("name"), "repeated config for plugin " + config.name, "merge both into one entry");
      continue;
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

void check_percentage(const Fields& fields, const Source& source, const std::optional<std::int32_t>& percentage) {
  if (percentage && (*percentage < 0 || *percentage > 100))
    source.report(fields.place_of("percentageOfNodesToScore"),
                  fmt::format("Invalid value: {}: not in valid range [0-100]", *percentage));
}

/// `only`: the list has no other profile, and a name may be left out.
RawProfile read_profile(const text::Value& value, std::string path, bool only, const Source& source) {
  Fields fields(source, value, std::move(path));
  RawProfile profile;
  profile.place = fields.place();
  if (fields.read("schedulerName", profile.scheduler_name)) {
    if (profile.scheduler_name.empty()) source.report(fields.place_of("schedulerName"), "Required value");
  } else if (!fields.has("schedulerName")) {
    if (only)
      profile.scheduler_name = k_default_scheduler_name;
    else
      source.report(fields.place_of("schedulerName"), "Required value",
                    "with several profiles each needs the name that its pods carry in spec.schedulerName");
  }
  std::int32_t percentage = 0;
  if (fields.read("percentageOfNodesToScore", percentage)) profile.percentage_of_nodes_to_score = percentage;
  check_percentage(fields, source, profile.percentage_of_nodes_to_score);
  if (const text::Value* plugins = fields.mapping("plugins"))
    read_plugin_sets(*plugins, fields.path_of("plugins"), source, profile.plugins);
  profile.plugin_config = read_plugin_config(fields, source);
  return profile;
}

}  // namespace

RawPluginSet read_plugin_set(Fields& plugins, std::string_view name, const Source& source) {
  RawPluginSet set;
  const text::Value* lists = plugins.mapping(name);
  if (lists == nullptr) return set;
  Fields fields(source, *lists, plugins.path_of(name));
  set.enabled = read_plugins(fields, "enabled", source);
  set.disabled = read_plugins(fields, "disabled", source);
  return set;
}

std::vector<RawProfile> read_profiles(Fields& root, const Source& source) {
  std::vector<RawProfile> profiles;
  const text::Value* list = root.sequence("profiles");
  if (list == nullptr) return profiles;
  std::set<std::string, std::less<>> names;
  const bool only = list->elements().size() == 1;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    const text::Value& value = list->elements()[i];
    profiles.push_back(read_profile(value, fmt::format("{}[{}]", root.path_of("profiles"), i), only, source));
    const RawProfile& profile = profiles.back();
    if (!profile.scheduler_name.empty() && !names.insert(profile.scheduler_name).second)
      source.report({value.find("schedulerName")->position(), profile.place.path + ".schedulerName"},
                    "Duplicate value: " + quoted(profile.scheduler_name), "each profile needs a name of its own");
  }
  return profiles;
}

}  // namespace berth::config
