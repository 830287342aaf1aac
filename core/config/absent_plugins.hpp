// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/plugin_catalog.hpp"
#include "model/field_need.hpp"
#include "text/diagnostics.hpp"

namespace berth::config {

/// A plugin of upstream's default profile, or of those that feature gates add to it, that berth does not have. It may stand in a profile without being loaded;
/// there it answers Skip at preFilter and preScore, passes every filter, scores 0 where score is asked without a
/// preScore that skipped it, and does nothing elsewhere. A pod that meets one of `needs` is unschedulable for `reason`
/// in every profile that enables the plugin: never placed as if the plugin had agreed.
struct AbsentPlugin {
  std::string name;
  PointSet points = 0;
  std::vector<model::FieldNeed> needs;
  std::string reason;  // "pod needs devices to be allocated, and berth has no … plugin yet"
  /// Where upstream's plugin fails because its preFilter was switched off: the error text of its filter and of its
  /// score; empty when it has none.
  std::string filter_error_without_pre_filter;
  std::string score_error_without_pre_filter;
  std::string args_schema;  // as CatalogPlugin::args_schema
  /// The feature gate that puts it into upstream's default profile, off by default, and with which weight. Empty: it is
  /// there without a gate, or never.
  std::string gate = {};
  std::int32_t weight = 0;
};

/// A name that upstream had once: an error wherever it stands.
struct RemovedPlugin {
  std::string name;
  std::string instead;
};

/// The absent plugins, from conf/absent-plugins.yaml and conf/gated-plugins.yaml (embedded). Immutable; any thread.
class AbsentPlugins {
 public:
  AbsentPlugins() = default;
  AbsentPlugins(std::vector<AbsentPlugin> plugins, std::vector<RemovedPlugin> removed)
      : plugins_(std::move(plugins)), removed_(std::move(removed)) {}
  /// Reads the format of the two files.
  static AbsentPlugins parse(std::string_view yaml, const std::string& file, text::Diagnostics& diagnostics);
  /// Both embedded lists. The files are data of the build: BERTH_CHECK when one is malformed.
  static const AbsentPlugins& embedded();

  const AbsentPlugin* find(std::string_view name) const noexcept;
  const RemovedPlugin* find_removed(std::string_view name) const noexcept;
  const std::vector<AbsentPlugin>& all() const noexcept { return plugins_; }

 private:
  std::vector<AbsentPlugin> plugins_;
  std::vector<RemovedPlugin> removed_;
};

}  // namespace berth::config
