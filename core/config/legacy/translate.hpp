// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/profile.hpp"
#include "config/read/fields.hpp"
#include "config/read/tree.hpp"
#include "text/diagnostics.hpp"
#include "text/value.hpp"

/// Configurations of older schedulers, rewritten as kubescheduler.config.k8s.io/v1.
///
/// What the old ones meant is data (conf/legacy); this interprets it. The outcome goes through the same reader as a
/// configuration that was written as v1, so that there is one set of rules.
/// Source: kubernetes v1.16 to v1.28 pkg/scheduler/apis/config (types, defaults, conversion).
namespace berth::config {

/// Where a Policy is kept: a file, or a ConfigMap of the cluster under the key policy.cfg.
struct PolicyLocation {
  std::string file;  // empty: a ConfigMap
  std::string config_map_namespace, config_map_name;
  std::string kubeconfig;  // of the same configuration
};
/// The text of a Policy. May block.
using ReadPolicy = std::function<Result<std::string>(const PolicyLocation& location)>;

struct TranslateOptions {
  /// Flags are laid over leaderElection: the caller that does that checks it then, with check_leader_election().
  bool flags_over_election = false;
  ReadPolicy read_policy;  // empty: nothing can be read, and a configuration that names a Policy is refused
  bool modern = false;     // policies of today instead of the old ones
  LegacyMode mode = {};    // what the BerthConfiguration of the same file says; before that, balance_volumes of a flag
};

struct Translation {
  Tree configuration;  // a KubeSchedulerConfiguration of v1
  LegacyMode mode;     // what of it belongs into a BerthConfiguration
};

/// True for an older KubeSchedulerConfiguration, and for a Policy.
bool is_old(const text::Value& document);

/// The v1 configuration that an old one means. What cannot be said today is reported to `source`; what reads
/// differently or is lost is said in `notes`, and in comments of the tree. Requires: is_old().
Translation translate(const text::Value& document, const Source& source, const TranslateOptions& options,
                      text::Diagnostics& notes);

}  // namespace berth::config
