// SPDX-License-Identifier: Apache-2.0
#include "app/plugins/field_needs.hpp"

#include <set>
#include <string_view>

#include "config/absent_plugins.hpp"

namespace berth::app {

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

}  // namespace berth::app
