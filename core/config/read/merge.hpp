// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "config/plugin_catalog.hpp"
#include "config/raw_configuration.hpp"

/// How the plugin sets of a profile become the plugins of each extension point.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/v1/default_plugins.go (merge) and
/// pkg/scheduler/framework/runtime/framework.go (expansion, weights).
namespace berth::config {

/// Lays what a user wrote over the defaults, set by set: a name that both have keeps the default's place and takes the
/// user's entry (the last one, when written several times); disabled names go, "*" removes all defaults of the set;
/// what remains of the user's list is appended. Names in both the user's lists move to the end. The union of the
/// disabled names stays in the result, because expand() needs it.
RawPluginSets merge_over_defaults(const RawPluginSets& defaults, const RawPluginSets& user);

/// Adds the absent plugins that upstream's default profile has with these gates, as far as a profile does not disable
/// them. After merge_over_defaults().
void enable_by_gates(std::vector<RawProfile>& profiles, const AbsentPlugins& absent,
                     const std::function<bool(std::string_view gate)>& is_on);

/// What expand() must know about a plugin. Plugins without an implementation are left out; the caller reports them, once.
struct Implementation {
  PointSet points = 0;
  bool absent = false;
};

/// The plugins of every point in call order: explicit entries that override one of multiPoint, then those of
/// multiPoint, then the other explicit ones. Reports a plugin that stands where it does not belong or twice.
using FindImplementation = std::function<std::optional<Implementation>(std::string_view name)>;
std::array<std::vector<EnabledPlugin>, k_point_count> expand(const RawPluginSets& sets, const FindImplementation& find,
                                                             const Source& source);

}  // namespace berth::config
