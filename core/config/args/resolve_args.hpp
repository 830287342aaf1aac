// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/absent_plugins.hpp"
#include "config/args/args_schema.hpp"
#include "config/plugin_catalog.hpp"
#include "config/raw_configuration.hpp"

namespace berth::config {

/// Turns `pluginConfig` into the JSON that plugins receive. Part of resolve(). Parses each schema once.
class ArgsResolver {
 public:
  /// All arguments must outlive the resolver. A malformed schema is reported once, at the file that exports it.
  ArgsResolver(const PluginCatalog& catalog, const AbsentPlugins& absent, const Source& source);

  /// Fills in the args of every name in `enabled`, and checks those of other names too.
  void resolve(const RawProfile& profile, const std::set<std::string>& enabled, text::Diagnostics* notes, Profile& out);

 private:
  /// Null: the plugin has none, and its args pass as they are.
  const ArgsSchema* schema_of(std::string_view name);
  std::string complete(const RawPluginConfig& config);
  bool check_envelope(const RawPluginConfig& config);

  const PluginCatalog& catalog_;
  const AbsentPlugins& absent_;
  const Source& source_;
  std::map<std::string, std::optional<ArgsSchema>, std::less<>> schemas_;
};

}  // namespace berth::config
