// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/absent_plugins.hpp"
#include "config/plugin_catalog.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "text/diagnostics.hpp"

namespace berth::config {

/// Completes a configuration with what the loaded plugins offer: expands each profile to its extension points, checks
/// that plugins are there and stand where they can, applies the rules between profiles, checks the args of each plugin
/// against its schema and fills in their defaults.
///
/// `catalog` takes precedence over `absent` where both have a name. Adds everything that is wrong to `diagnostics`; the
/// result may be used only when nothing was added here and nothing before by load(). `notes`, when given, receives what
/// is legal but has no effect.
/// Source: kubernetes v1.36 pkg/scheduler/apis/config/validation, pkg/scheduler/framework/runtime/framework.go,
/// pkg/scheduler/profile/profile.go. Departs: args that a plugin's own schema covers are reported here, all at once,
/// and not one by one when the plugins are made.
Configuration resolve(const RawConfiguration& raw, const PluginCatalog& catalog, const AbsentPlugins& absent,
                      text::Diagnostics& diagnostics, text::Diagnostics* notes = nullptr);

}  // namespace berth::config
