// SPDX-License-Identifier: Apache-2.0
#include "scheduler/budget_reader.hpp"

#include "decode/selectors/selector_text.hpp"

namespace berth::scheduler {

preemption::BudgetReader budget_reader(SymbolTable& symbols) {
  return [&symbols](const framework::Projection& projection) {
    preemption::DisruptionBudget budget;
    SymbolCollection symbols_of_budget(symbols);
    budget.ns = symbols.intern(projection.ns);
    const auto& values = projection.values;  // in the order of budget_fields()
    if (values[0].present) budget.selector = decode::label_selector_of_json(values[0].text, symbols);
    if (values[1].present) budget.allowed = values[1].number;
    if (values[2].present) budget.disrupted = decode::keys_of_json(values[2].text);
    budget.symbols = symbols_of_budget.take();
    return budget;
  };
}

}  // namespace berth::scheduler
