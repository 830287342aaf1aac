// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

inline constexpr std::int64_t k_permit_wait_max_ns = 15 * 60 * 1'000'000'000LL;

/// A plugin that asked for time before a pod is bound.
struct PermitWait {
  model::PluginIndex plugin = model::k_no_plugin;
  std::string plugin_name;      // for the text of a time-out
  std::int64_t timeout_ns = 0;  // 0 to k_permit_wait_max_ns
};
/// What the plugin asked for, within the limits.
PermitWait permit_wait(const PluginInstance& plugin, std::int64_t timeout_ms);

/// success; a rejection or error; or wait, with the plugins that wait.
struct PermitResult {
  Verdict verdict;
  std::vector<PermitWait> waits;
};

/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunPermitPlugins).
PermitResult run_permit(CycleContext& context, cache::Slot node);

}  // namespace berth::framework
