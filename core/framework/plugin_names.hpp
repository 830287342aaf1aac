// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "model/plugin_set.hpp"

namespace berth::framework {

/// Numbers for plugin names, in order of first use. Written at start, read afterwards.
class PluginNames {
 public:
  model::PluginIndex index_of(std::string_view name) {
    if (const model::PluginIndex known = find(name); known != model::k_no_plugin) return known;
    BERTH_CHECK(names_.size() < model::k_max_plugins, "more than {} plugin names", model::k_max_plugins);
    names_.emplace_back(name);
    return static_cast<model::PluginIndex>(names_.size() - 1);
  }
  model::PluginIndex find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return static_cast<model::PluginIndex>(i);
    return model::k_no_plugin;
  }
  /// Empty for k_no_plugin.
  std::string_view name(model::PluginIndex plugin) const noexcept {
    return plugin < names_.size() ? std::string_view(names_[plugin]) : std::string_view();
  }
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::deque<std::string> names_;
};

}  // namespace berth::framework
