// SPDX-License-Identifier: Apache-2.0
#include "config/plugin_lists.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/check.hpp"
#include "config/legacy/legacy_data.hpp"
#include "config/read/merge.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

constexpr std::string_view k_every_plugin = "*";

bool names_plugin(const std::vector<RawPlugin>& plugins, std::string_view name) {
  return std::any_of(plugins.begin(), plugins.end(), [&](const RawPlugin& plugin) { return plugin.name == name; });
}

Tree tree_of(const std::vector<RawPlugin>& plugins, text::Position position) {
  Tree list = Tree::sequence(position);
  for (const RawPlugin& plugin : plugins) {
    Tree& entry = list.elements.emplace_back(Tree::mapping(plugin.place.position));
    entry.put("name", Tree::string(plugin.name, plugin.place.position));
    if (plugin.weight != 0) entry.put("weight", Tree::number(plugin.weight, plugin.place.position));
    if (!plugin.comment.empty()) entry.comments.push_back(plugin.comment);
  }
  return list;
}

/// Sets `path` ("a.b.c") below `args`, unless it is there.
void put_below(Tree& args, std::string_view path, const Tree& value) {
  const std::size_t dot = path.find('.');
  if (dot != std::string_view::npos)
    put_below(args.mapping_at(path.substr(0, dot)), path.substr(dot + 1), value);
  else if (args.find(path) == nullptr)
    args.put(path, value);
}

/// Writes `from` over `into`, at any depth.
void overlay(Tree& into, const text::Value& from) {
  for (const text::Member& member : from.members()) {
    Tree* there = into.find(member.key);
    if (there != nullptr && there->is_mapping() && member.value.is_mapping())
      overlay(*there, member.value);
    else
      into.put(member.key, Tree::copy_of(member.value));
  }
}

Tree* config_of(Tree& plugin_config, std::string_view name) {
  for (Tree& entry : plugin_config.elements)
    if (const Tree* named = entry.find("name"); named != nullptr && named->text == name) return &entry;
  return nullptr;
}

/// The args of the plugin that goes become those of the one that comes. `shaped` has plugins that were told so already.
/// False when this one was: it can follow one of the old ones only.
bool modernise_args(Tree& plugin_config, const text::Value& row, text::Position position,
                    std::set<std::string, std::less<>>& shaped) {
  const std::string_view name = row.find("name")->text();
  Tree old_args = Tree::mapping(position);
  const Tree* named = config_of(plugin_config, name);
  if (named != nullptr) {
    if (const Tree* args = named->find("args")) old_args = *args;
    std::erase_if(plugin_config.elements, [&](const Tree& entry) {
      const Tree* entry_name = entry.find("name");
      return entry_name != nullptr && entry_name->text == name;
    });
  }
  const text::Value* instead = row.find("instead");
  const text::Value* args = row.find("args");
  const text::Value* args_as = row.find("argsAs");
  if (instead == nullptr || args == nullptr) return true;
  const std::string shape = std::string(instead->text()) + text::to_json(*args);
  const bool same = shaped.count(shape) != 0;
  if (!same && !shaped.insert(std::string(instead->text())).second) return false;
  shaped.insert(shape);
  Tree& new_args = args_in(plugin_config, instead->text(), position);
  overlay(new_args, *args);
  if (args_as == nullptr) return true;
  for (const text::Member& member : args_as->members())
    if (const Tree* value = old_args.find(member.key)) put_below(new_args, member.value.text(), *value);
  return true;
}

}  // namespace

Tree& args_in(Tree& plugin_config, std::string_view name, text::Position position) {
  Tree* entry = config_of(plugin_config, name);
  if (entry == nullptr) {
    entry = &plugin_config.elements.emplace_back(Tree::mapping(position));
    entry->put("name", Tree::string(name, position));
  }
  return entry->mapping_at("args");
}

void fill(Tree& args, const Tree& defaults) {
  for (const TreeMember& member : defaults.members) {
    Tree* there = args.find(member.key);
    if (there == nullptr)
      args.put(member.key, member.value);
    else if (there->is_mapping() && member.value.is_mapping())
      fill(*there, member.value);
  }
}

void fill(Tree& args, const text::Value& defaults) { fill(args, Tree::copy_of(defaults)); }

std::size_t plugin_set_of(std::string_view name) {
  for (std::size_t set = 0; set < k_plugin_set_count; ++set)
    if (plugin_set_name(set) == name) return set;
  BERTH_CHECK(false, "conf/legacy: {} is no set of plugins", name);
}

std::vector<RawPlugin> plugins_of_data(const text::Value& list, const Place& place) {
  std::vector<RawPlugin> plugins;
  for (const text::Value& element : list.elements()) {
    const text::Value* weight = element.find("weight");
    plugins.push_back({std::string(element.find("name")->text()),
                       weight != nullptr ? static_cast<std::int32_t>(weight->integer().value_or(0)) : 0, place, true});
  }
  return plugins;
}

RawPluginSets merge_point_by_point(const RawPluginSets& defaults, const RawPluginSets& user, bool in_place) {
  RawPluginSets merged;
  if (in_place) {
    merged = merge_over_defaults(defaults, user);
    for (RawPluginSet& set : merged) set.disabled.clear();  // what that took away is gone already
    return merged;
  }
  for (std::size_t set = 0; set < k_plugin_set_count; ++set) {
    std::vector<RawPlugin>& enabled = merged[set].enabled;
    for (const RawPlugin& plugin : defaults[set].enabled)
      if (!user[set].disables(k_every_plugin) && !user[set].disables(plugin.name)) enabled.push_back(plugin);
    enabled.insert(enabled.end(), user[set].enabled.begin(), user[set].enabled.end());
  }
  return merged;
}

void add_companions(RawPluginSets& sets, const RawPluginSets& defaults) {
  for (const text::Value& row : legacy_versions().find("companions")->elements()) {
    const RawPluginSet& at = sets[plugin_set_of(row.find("at")->text())];
    const std::size_t also = plugin_set_of(row.find("also")->text());
    for (const RawPlugin& plugin : at.enabled) {
      if (!lists(row.find("plugins"), plugin.name)) continue;
      if (names_plugin(sets[also].enabled, plugin.name) || names_plugin(defaults[also].enabled, plugin.name)) continue;
      RawPlugin companion = plugin;
      companion.weight = 0;
      companion.comment = fmt::format("is enabled here too today, together with {}", row.find("at")->text());
      sets[also].enabled.push_back(std::move(companion));
    }
  }
}

void modernise(RawPluginSets& sets, Tree& plugin_config, const Source& source, text::Diagnostics& notes) {
  std::set<std::string, std::less<>> shaped;
  for (const text::Value& row : legacy_versions().find("modern")->elements()) {
    const std::string name(row.find("name")->text());
    const text::Value* instead = row.find("instead");
    const RawPlugin* first = nullptr;
    RawPlugin kept;
    for (RawPluginSet& set : sets) {
      for (RawPlugin& plugin : set.disabled)
        if (plugin.name == name && instead != nullptr) plugin.name = instead->text();
      for (std::size_t i = 0; i < set.enabled.size(); ++i) {
        if (set.enabled[i].name != name) continue;
        if (first == nullptr) {
          kept = set.enabled[i];
          first = &kept;
        }
        if (instead != nullptr && !names_plugin(set.enabled, instead->text()))
          set.enabled[i].name = instead->text();
        else
          set.enabled.erase(set.enabled.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
    if (first == nullptr && config_of(plugin_config, name) == nullptr) continue;
    const Place place = first != nullptr ? first->place : Place{plugin_config.position, "pluginConfig"};
    const bool followed = modernise_args(plugin_config, row, place.position, shaped);
    std::string sentence =
        fmt::format("{} {}: {}", name, instead != nullptr ? "is now " + std::string(instead->text()) : "is gone",
                    row.find("changes")->text());
    if (!followed) sentence = fmt::format("{} is lost: {} can follow one such policy only", name, instead->text());
    notes.add(source.file, place.position, place.path, std::move(sentence));
  }
}

Tree tree_of(const RawPluginSets& sets, bool instead_of_defaults, text::Position position) {
  Tree plugins = Tree::mapping(position);
  if (instead_of_defaults) {
    Tree& everything = plugins.mapping_at("multiPoint").sequence_at("disabled");
    everything.elements.push_back(Tree::mapping(position));
    everything.elements.back().put("name", Tree::string(k_every_plugin, position));
  }
  for (std::size_t set = 0; set < k_plugin_set_count; ++set) {
    if (sets[set].enabled.empty() && sets[set].disabled.empty()) continue;
    Tree& lists = plugins.mapping_at(plugin_set_name(set));
    if (!sets[set].enabled.empty()) lists.put("enabled", tree_of(sets[set].enabled, position));
    if (!sets[set].disabled.empty()) lists.put("disabled", tree_of(sets[set].disabled, position));
  }
  return plugins;
}

}  // namespace berth::config
