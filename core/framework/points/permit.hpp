// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// A permit plugin that asked for time.
struct PermitWait {
  model::PluginIndex plugin = model::k_no_plugin;
  std::int64_t timeout_ms = 0;  // capped at 15 minutes
};

/// success; a rejection or error; or wait, with the plugins that wait.
struct PermitResult {
  Verdict verdict;
  std::vector<PermitWait> waits;
};

/// Source: kubernetes v1.36 pkg/scheduler/framework/runtime/framework.go (RunPermitPlugins).
PermitResult run_permit(CycleContext& context, cache::Slot node);

}  // namespace berth::framework
