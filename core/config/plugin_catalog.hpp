// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/profile.hpp"

namespace berth::config {

/// A set of extension points; bit i is Point i.
using PointSet = std::uint32_t;
constexpr PointSet bit_of(Point point) noexcept { return PointSet{1} << index_of(point); }

/// What one loaded plugin offers, as far as a configuration needs to know it. Filled by the wiring from the loader.
struct CatalogPlugin {
  std::string name;
  PointSet points = 0;
  std::string args_schema;  // JSON Schema subset (config/args/args_schema.hpp); empty: args pass as raw JSON
  std::string file;         // where it came from, for messages
};

/// Plugins that are there. An index by name is not needed: it is read at start only.
struct PluginCatalog {
  std::vector<CatalogPlugin> plugins;

  const CatalogPlugin* find(std::string_view name) const noexcept {
    for (const CatalogPlugin& plugin : plugins)
      if (plugin.name == name) return &plugin;
    return nullptr;
  }
};

}  // namespace berth::config
