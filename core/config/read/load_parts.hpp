// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/raw_configuration.hpp"
#include "config/read/fields.hpp"

/// The parts of load(), one source file each. Not for other folders.
namespace berth::config {

inline constexpr std::string_view k_scheduler_api = "kubescheduler.config.k8s.io/v1";
inline constexpr std::string_view k_scheduler_kind = "KubeSchedulerConfiguration";
inline constexpr std::string_view k_berth_api = "config.berth.dev/v1alpha1";
inline constexpr std::string_view k_berth_kind = "BerthConfiguration";
inline constexpr std::string_view k_default_scheduler_name = "default-scheduler";

/// apiVersion without the group's name: "v1beta2"; empty when it is of another group.
std::string_view scheduler_version(std::string_view api_version) noexcept;

/// The fields of a BerthConfiguration below `root`.
void read_berth_configuration(Fields& root, const Source& source, PluginLoading& out);
/// `explainAfter` of a BerthConfiguration.
void read_explain_after(Fields& root, const Source& source, std::int64_t& out_ns);
/// `legacy` of a BerthConfiguration.
void read_legacy_mode(Fields& root, const Source& source, LegacyMode& out);

/// One set of a profile's `plugins`; empty when it is not there.
RawPluginSet read_plugin_set(Fields& plugins, std::string_view name, const Source& source);

/// `profiles` below `root`, as written: nothing is merged. A profile without a name has an empty scheduler_name.
std::vector<RawProfile> read_profiles(Fields& root, const Source& source);

/// `extenders` below `root`.
std::vector<Extender> read_extenders(Fields& root, const Source& source);

}  // namespace berth::config
