// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "text/value.hpp"

/// The tables of conf/legacy, parsed once. They are part of the build: BERTH_CHECK when one is malformed.
/// Threads: any; immutable.
namespace berth::config {

const text::Value& legacy_versions();  // conf/legacy/versions.yaml
const text::Value& legacy_policy();    // conf/legacy/policy.yaml

/// The element of a list of mappings whose `key` is that text, or null.
const text::Value* element_named(const text::Value* list, std::string_view key, std::string_view text) noexcept;
/// Whether a list of strings holds that text; false when there is no list.
bool lists(const text::Value* list, std::string_view text) noexcept;

}  // namespace berth::config
