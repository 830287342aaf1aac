// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "config/read/fields.hpp"
#include "config/read/tree.hpp"

/// The Policy of kube-scheduler v1.22 and older: predicates and priorities by name, as plugins of a profile.
///
/// The names and what they mean are data (conf/legacy/policy.yaml).
/// Source: kubernetes v1.22 pkg/scheduler/apis/config/legacy_types.go, framework/plugins/legacy_registry.go. Departs:
/// every problem is reported, not the first; unknown fields are noted.
namespace berth::config {

/// What flags and configuration told a scheduler of that time in addition to its Policy.
struct PolicyContext {
  std::int64_t hard_pod_affinity_weight = 0;  // 0: nothing; a Policy's own is stronger
  std::optional<std::int64_t> bind_timeout_seconds;
  LegacyMode mode;  // 0..10 needs the plugins of old in any case
};

/// What it comes to.
struct PolicyProfile {
  RawPluginSets sets;
  Tree plugin_config;
  std::optional<Tree> extenders;
  bool checks_all_filters = false;
  bool balances_volumes = false;      // the mode asked for it, and a priority listens to that
  std::vector<std::string> comments;  // what became of it otherwise
};

/// True for a document of kind Policy.
bool is_policy(const text::Value& document);

/// Reads a Policy. What is wrong is reported to `source`; fields that it does not have are said in `notes`.
PolicyProfile read_policy(const text::Value& document, const Source& source, const PolicyContext& context,
                          text::Diagnostics& notes);

inline constexpr std::string_view k_default_provider = "DefaultProvider";
/// Reports, at `place`, a name that is no provider's.
bool check_provider(std::string_view name, const Place& place, const Source& source);
/// The Policy that a provider of that name stood for. An unknown name is reported at `place`.
PolicyProfile read_provider(std::string_view name, const Place& place, const Source& source,
                            const PolicyContext& context);

/// Extenders as v1 spells them: key by key whatever the case, the timeout as a duration.
Tree translate_extenders(Tree extenders);

}  // namespace berth::config
