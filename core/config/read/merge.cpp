// SPDX-License-Identifier: Apache-2.0
#include "config/read/merge.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "config/read/names.hpp"

namespace berth::config {
namespace {

constexpr std::string_view k_all = "*";

const RawPlugin* last_named(const std::vector<RawPlugin>& plugins, std::string_view name) {
  const auto found =
      std::find_if(plugins.rbegin(), plugins.rend(), [&](const RawPlugin& plugin) { return plugin.name == name; });
  return found == plugins.rend() ? nullptr : &*found;
}

bool contains(const std::vector<RawPlugin>& plugins, std::string_view name) {
  return last_named(plugins, name) != nullptr;
}

RawPluginSet merge_set(const RawPluginSet& defaults, const RawPluginSet& user) {
  RawPluginSet merged;
  merged.disabled = user.disabled;
  for (const RawPlugin& plugin : defaults.disabled)
    if (!contains(merged.disabled, plugin.name)) merged.disabled.push_back(plugin);

  std::vector<const RawPlugin*> replacements;
  if (!user.disables(k_all)) {
    for (const RawPlugin& plugin : defaults.enabled) {
      if (merged.disables(plugin.name)) continue;
      const RawPlugin* replacement = last_named(user.enabled, plugin.name);
      if (replacement != nullptr) replacements.push_back(replacement);
      merged.enabled.push_back(replacement != nullptr ? *replacement : plugin);
    }
  }
  for (const RawPlugin& plugin : user.enabled)
    if (std::find(replacements.begin(), replacements.end(), &plugin) == replacements.end())
      merged.enabled.push_back(plugin);
  return merged;
}

/// "FilterPlugin": what upstream calls the interface of a set, for its messages.
std::string interface_name(std::size_t set) {
  std::string name(plugin_set_name(set));
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name + "Plugin";
}

void report_twice(const RawPlugin& plugin, std::size_t set, const Source& source) {
  source.report(plugin.place,
                fmt::format("plugin \"{}\" already registered as \"{}\"", plugin.name, interface_name(set)),
                "list it once");
}

std::string offered_points(PointSet points) {
  std::vector<std::string> names;
  for (std::size_t set = 0; set < k_plugin_set_count; ++set)
    if ((points >> set & 1U) != 0) names.emplace_back(plugin_set_name(set));
  return names.empty() ? "it offers no extension point" : "it offers " + quoted_list(names);
}

/// The explicit entries of a set that can stand there.
std::vector<const RawPlugin*> check_explicit(const RawPluginSet& plugins, std::size_t set,
                                             const FindImplementation& find, const Source& source) {
  std::vector<const RawPlugin*> good;
  for (const RawPlugin& plugin : plugins.enabled) {
    const std::optional<Implementation> implementation = find(plugin.name);
    if (!implementation) continue;
    if ((implementation->points >> set & 1U) == 0) {
      source.report(plugin.place,
                    fmt::format("plugin \"{}\" does not extend {} plugin", plugin.name, interface_name(set)),
                    offered_points(implementation->points));
    } else if (std::any_of(good.begin(), good.end(),
                           [&](const RawPlugin* seen) { return seen->name == plugin.name; })) {
      report_twice(plugin, set, source);
    } else {
      good.push_back(&plugin);
    }
  }
  return good;
}

std::int32_t weight_of(const RawPluginSets& sets, std::string_view name) {
  for (const std::size_t set : {index_of(Point::score), k_multi_point})
    for (const RawPlugin& plugin : sets[set].enabled)
      if (plugin.name == name) return plugin.weight == 0 ? 1 : plugin.weight;
  return 1;
}

/// The entries of multiPoint that reach `set`, and which of `explicit_plugins` they are overridden by.
void expand_multi_point(const RawPluginSets& sets, std::size_t set, const FindImplementation& find,
                        const Source& source, const std::vector<const RawPlugin*>& explicit_plugins,
                        std::vector<std::string>& overriding, std::vector<std::string>& taken) {
  if (sets[set].disables(k_all)) return;
  for (const RawPlugin& plugin : sets[k_multi_point].enabled) {
    const std::optional<Implementation> implementation = find(plugin.name);
    if (!implementation || (implementation->points >> set & 1U) == 0 || sets[set].disables(plugin.name)) continue;
    const bool is_explicit = std::any_of(explicit_plugins.begin(), explicit_plugins.end(),
                                         [&](const RawPlugin* other) { return other->name == plugin.name; });
    if (is_explicit)
      overriding.push_back(plugin.name);
    else if (std::find(taken.begin(), taken.end(), plugin.name) != taken.end())
      report_twice(plugin, set, source);
    else
      taken.push_back(plugin.name);
  }
}

/// No plugin that is loaded stands at the points of placements. One that berth does not have stands at preFilter
/// instead, where the pods that need it are rejected.
void hold_back_at_pre_filter(std::string name, const FindImplementation& find,
                             std::array<std::vector<EnabledPlugin>, k_point_count>& points) {
  std::vector<EnabledPlugin>& list = points[index_of(Point::pre_filter)];
  const bool is_there = std::any_of(list.begin(), list.end(), [&](const EnabledPlugin& e) { return e.name == name; });
  if (!is_there && find(name)->absent) list.push_back({std::move(name), 0, true});
}

}  // namespace

bool RawPluginSet::disables(std::string_view name) const noexcept { return contains(disabled, name); }

std::string_view plugin_set_name(std::size_t set) noexcept {
  if (set < k_point_count) return k_point_names[set];
  if (set == k_multi_point) return "multiPoint";
  return set == k_placement_generate ? "placementGenerate" : "placementScore";
}

void enable_by_gates(std::vector<RawProfile>& profiles, const AbsentPlugins& absent,
                     const std::function<bool(std::string_view gate)>& is_on) {
  for (const AbsentPlugin& plugin : absent.all()) {
    if (plugin.gate.empty() || !is_on(plugin.gate)) continue;
    for (RawProfile& profile : profiles) {
      RawPluginSet& all = profile.plugins[k_multi_point];
      if (all.disables(k_all) || all.disables(plugin.name) || contains(all.enabled, plugin.name)) continue;
      RawPlugin added;
      added.name = plugin.name;
      added.weight = plugin.weight;
      added.from_defaults = true;
      all.enabled.push_back(std::move(added));
    }
  }
}

RawPluginSets merge_over_defaults(const RawPluginSets& defaults, const RawPluginSets& user) {
  RawPluginSets merged;
  for (std::size_t set = 0; set < k_plugin_set_count; ++set) merged[set] = merge_set(defaults[set], user[set]);
  return merged;
}

std::array<std::vector<EnabledPlugin>, k_point_count> expand(const RawPluginSets& sets, const FindImplementation& find,
                                                             const Source& source) {
  std::array<std::vector<EnabledPlugin>, k_point_count> points;
  for (std::size_t set = 0; set < k_plugin_set_count; ++set) {
    if (set == k_multi_point) continue;
    const std::vector<const RawPlugin*> explicit_plugins = check_explicit(sets[set], set, find, source);
    std::vector<std::string> overriding, taken;
    expand_multi_point(sets, set, find, source, explicit_plugins, overriding, taken);
    const auto overrides = [&](const RawPlugin* plugin) {
      return std::find(overriding.begin(), overriding.end(), plugin->name) != overriding.end();
    };
    std::vector<std::string> order;
    for (const RawPlugin* plugin : explicit_plugins)
      if (overrides(plugin)) order.push_back(plugin->name);
    order.insert(order.end(), taken.begin(), taken.end());
    for (const RawPlugin* plugin : explicit_plugins)
      if (!overrides(plugin)) order.push_back(plugin->name);

    const bool weighted = set == index_of(Point::score);
    for (std::string& name : order) {
      if (set >= k_point_count) {
        hold_back_at_pre_filter(std::move(name), find, points);
        continue;
      }
      const bool absent = find(name)->absent;
      const std::int32_t weight = weighted ? weight_of(sets, name) : 0;
      points[set].push_back({std::move(name), weight, absent});
    }
  }
  return points;
}

}  // namespace berth::config
