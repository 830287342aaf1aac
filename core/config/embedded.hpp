// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

/// Files of conf/ that are part of the binary, as they stood at build time.
namespace berth::config::embedded {

std::string_view default_profile() noexcept;     // conf/profiles/default.yaml
std::string_view absent_plugins() noexcept;      // conf/absent-plugins.yaml
std::string_view gated_plugins() noexcept;       // conf/gated-plugins.yaml
std::string_view legacy_versions() noexcept;     // conf/legacy/versions.yaml
std::string_view legacy_policy() noexcept;       // conf/legacy/policy.yaml
std::string_view extender_resources() noexcept;  // conf/extender-resources.yaml

}  // namespace berth::config::embedded
