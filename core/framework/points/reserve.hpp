// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "framework/cycle_context.hpp"
#include "framework/verdict.hpp"

namespace berth::framework {

/// Reserves in order. On any failure every reserve plugin is undone in reverse order, also those that were not reached.
/// Source: kubernetes v1.36 RunReservePluginsReserve, schedule_one.go.
Verdict run_reserve(CycleContext& context, cache::Slot node);
void run_unreserve(CycleContext& context, cache::Slot node);

}  // namespace berth::framework
