// SPDX-License-Identifier: Apache-2.0
#include "preemption/disruption_budgets.hpp"

#include <algorithm>

#include "model/label_match.hpp"

namespace berth::preemption {
const std::vector<framework::Field>& budget_fields() {
  static const std::vector<framework::Field> fields{{"spec.selector", framework::FieldType::json},
                                                    {"status.disruptionsAllowed", framework::FieldType::integer},
                                                    {"status.disruptedPods", framework::FieldType::json}};
  return fields;
}

DisruptionBudgets::DisruptionBudgets(framework::ObjectStore& objects, BudgetReader read)
    : objects_(objects),
      read_(std::move(read)),
      watch_(objects.watch(std::string(k_budget_resource), budget_fields())) {}

void DisruptionBudgets::refresh() {
  const std::uint64_t now = objects_.epoch(watch_);
  if (now == epoch_) return;
  epoch_ = now;
  budgets_.clear();
  objects_.each(watch_, {}, [this](const framework::Projection& projection) {
    if (read_) budgets_.push_back(read_(projection));
    return true;
  });
  ++version_;
}

bool protects(const DisruptionBudget& budget, Symbol ns, const model::Labels& labels) {
  return budget.ns == ns && !labels.empty() && budget.selector.kind == model::Selector::Kind::match &&
         !budget.selector.requirements.empty() &&
         std::all_of(budget.selector.requirements.begin(), budget.selector.requirements.end(),
                     [&](const model::Requirement& requirement) { return model::holds(requirement, labels); });
}

}  // namespace berth::preemption
