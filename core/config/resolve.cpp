// SPDX-License-Identifier: Apache-2.0
#include "config/resolve.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "config/args/resolve_args.hpp"
#include "config/ignored_resources.hpp"
#include "config/read/merge.hpp"
#include "config/read/names.hpp"

namespace berth::config {
namespace {

/// What is known about plugin names, from both sources.
class Known {
 public:
  Known(const PluginCatalog& catalog, const AbsentPlugins& absent) : catalog_(catalog), absent_(absent) {}

  std::optional<Implementation> find(std::string_view name) const {
    if (const CatalogPlugin* plugin = catalog_.find(name)) return Implementation{plugin->points, false};
    if (const AbsentPlugin* plugin = absent_.find(name)) return Implementation{plugin->points, true};
    return std::nullopt;
  }

  void report_unknown(const RawPlugin& plugin, const Source& source) const {
    std::string message = fmt::format("plugin {} is not loaded", quoted(plugin.name));
    if (const RemovedPlugin* removed = absent_.find_removed(plugin.name)) {
      source.report(plugin.place, message + ": it was removed from Kubernetes", "use " + removed->instead);
      return;
    }
    std::string advice = did_you_mean(plugin.name, names());
    if (advice.empty()) advice = "loaded: " + offers();
    source.report(plugin.place, std::move(message), std::move(advice));
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const CatalogPlugin& plugin : catalog_.plugins) names.push_back(plugin.name);
    for (const AbsentPlugin& plugin : absent_.all()) names.push_back(plugin.name);
    return names;
  }

  std::string offers() const {
    std::string out;
    for (const CatalogPlugin& plugin : catalog_.plugins) {
      if (!out.empty()) out += ", ";
      out += plugin.name;
      // Only the last part of the path: the list has one entry per plugin.
      if (!plugin.file.empty()) out += fmt::format(" ({})", plugin.file.substr(plugin.file.rfind('/') + 1));
    }
    return out.empty() ? "no plugin at all; is the plugin directory right?" : out;
  }

  const PluginCatalog& catalog_;
  const AbsentPlugins& absent_;
};

void report_unknown_plugins(const RawProfile& profile, const Known& known, const Source& source) {
  std::set<std::string, std::less<>> reported;
  for (const RawPluginSet& set : profile.plugins)
    for (const RawPlugin& plugin : set.enabled)
      if (!known.find(plugin.name) && reported.insert(plugin.name).second) known.report_unknown(plugin, source);
}

void check_cardinality(const Profile& profile, const Place& place, const Source& source) {
  const std::size_t sorters = profile.at(Point::queue_sort).size();
  if (sorters != 1)
    source.report(place,
                  fmt::format("only one queue sort plugin required for profile with scheduler name {}, but got {}",
                              quoted(profile.scheduler_name), sorters),
                  sorters == 0 ? "enable one at queueSort" : "disable the others at queueSort");
  if (profile.at(Point::bind).empty())
    source.report(place,
                  fmt::format("at least one bind plugin is needed for profile with scheduler name {}",
                              quoted(profile.scheduler_name)),
                  "enable one at bind");
}

bool same_names(const std::vector<RawPlugin>& a, const std::vector<RawPlugin>& b, bool with_weights) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const RawPlugin& x, const RawPlugin& y) {
    return x.name == y.name && (!with_weights || x.weight == y.weight);
  });
}

/// Rules about the plugin sets as written: they compare the explicit queueSort lists, not what these expand to.
void check_written_queue_sort(const std::vector<RawProfile>& profiles, const Source& source) {
  const std::size_t set = index_of(Point::queue_sort);
  const RawPluginSet& first = profiles.front().plugins[set];
  if (first.enabled.size() > 1) source.report(first.enabled[1].place, "only one queue sort plugin can be enabled");
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const RawPluginSet& other = profiles[i].plugins[set];
    if (same_names(first.enabled, other.enabled, true) && same_names(first.disabled, other.disabled, false)) continue;
    const bool written = !other.enabled.empty() && !other.enabled.front().from_defaults;
    source.report({written ? other.enabled.front().place.position : profiles[i].place.position,
                   profiles[i].place.path + ".plugins.queueSort"},
                  "has to match for all profiles", "one queue serves all profiles; see " + profiles.front().place.path);
  }
}

/// Rules about what the profiles came to.
void check_effective_queue_sort(const std::vector<Profile>& profiles, const std::vector<RawProfile>& raw,
                                const Source& source) {
  if (profiles.front().at(Point::queue_sort).size() != 1) return;
  const std::string& first = profiles.front().at(Point::queue_sort).front().name;
  const auto args_of = [&](const Profile& profile) {
    const auto found = profile.args_json.find(first);
    return found == profile.args_json.end() ? std::string_view{} : std::string_view(found->second);
  };
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    if (profiles[i].at(Point::queue_sort).size() != 1) continue;
    const std::string& name = profiles[i].at(Point::queue_sort).front().name;
    if (name != first)
      source.report(raw[i].place, fmt::format("different queue sort plugins for profile {}: {}, first: {}",
                                              quoted(profiles[i].scheduler_name), quoted(name), quoted(first)));
    else if (args_of(profiles[i]) != args_of(profiles.front()))
      source.report(raw[i].place,
                    fmt::format("different queue sort plugin args for profile {}", quoted(profiles[i].scheduler_name)));
  }
}

std::set<std::string> enabled_names(const RawProfile& profile, const Known& known) {
  std::set<std::string> names;
  for (const RawPluginSet& set : profile.plugins)
    for (const RawPlugin& plugin : set.enabled)
      if (known.find(plugin.name)) names.insert(plugin.name);
  return names;
}

}  // namespace

Configuration resolve(const RawConfiguration& raw, const PluginCatalog& catalog, const AbsentPlugins& absent,
                      text::Diagnostics& diagnostics, text::Diagnostics* notes) {
  const Source source{raw.file, diagnostics};
  const Known known(catalog, absent);
  ArgsResolver args(catalog, absent, source);
  Configuration out = raw.values;
  for (const RawProfile& from : raw.profiles) {
    const std::size_t problems_before = diagnostics.size();
    Profile profile;
    profile.scheduler_name = from.scheduler_name;
    profile.percentage_of_nodes_to_score = from.percentage_of_nodes_to_score;
    report_unknown_plugins(from, known, source);
    profile.points = expand(
        from.plugins, [&](std::string_view name) { return known.find(name); }, source);
    // A plugin that is missing or stands wrong is reported once, not again as "none at bind".
    if (diagnostics.size() == problems_before) check_cardinality(profile, from.place, source);
    args.resolve(from, enabled_names(from, known), notes, profile);
    ignore_managed_resources(out.extenders, from, source, profile);
    out.profiles.push_back(std::move(profile));
  }
  check_written_queue_sort(raw.profiles, source);
  check_effective_queue_sort(out.profiles, raw.profiles, source);
  return out;
}

}  // namespace berth::config
