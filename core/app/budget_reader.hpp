// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/symbols.hpp"
#include "framework/disruption_budgets.hpp"

namespace berth::app {

/// Reads PodDisruptionBudgets for preemption. A selector that does not parse protects no pod, as upstream.
framework::BudgetReader budget_reader(SymbolTable& symbols);

}  // namespace berth::app
