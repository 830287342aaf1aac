// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "app/commands/run_command.hpp"
#include "config/raw_configuration.hpp"
#include "text/diagnostics.hpp"

/// How `berth run` comes to its configuration.
namespace berth::app {

/// Reads what --config names; else what the flags of an algorithm stand for (--policy-config-file, --policy-configmap,
/// --algorithm-provider, as kube-scheduler v1.22 had them); else the defaults. A Policy in a ConfigMap is asked of the
/// API server, which is waited for. `flag_errors` gets what is wrong with the flags, `warnings` those that are passed over.
/// Source: kubernetes v1.22 cmd/kube-scheduler/app/options/deprecated.go.
config::RawConfiguration read_configuration(const RunOptions& options, const Clock& clock,
                                            text::Diagnostics& diagnostics, text::Diagnostics& flag_errors,
                                            text::Diagnostics& warnings);

/// The Policy in a ConfigMap, once, before anything else talks to the API server, which is waited for.
Result<std::string> read_policy_map(const config::PolicyLocation& location, const std::string& kubeconfig,
                                    const std::string& master, const Clock& clock);

}  // namespace berth::app
