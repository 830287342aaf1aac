// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/symbols.hpp"
#include "preemption/disruption_budgets.hpp"

namespace berth::scheduler {

/// Reads PodDisruptionBudgets for preemption. A selector that does not parse protects no pod, as upstream.
preemption::BudgetReader budget_reader(SymbolTable& symbols);

}  // namespace berth::scheduler
