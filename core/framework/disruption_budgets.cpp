// SPDX-License-Identifier: Apache-2.0
#include "framework/disruption_budgets.hpp"

#include <algorithm>

namespace berth::framework {
namespace {

bool holds(const model::Requirement& requirement, const model::Labels& labels) {
  const auto at = std::lower_bound(labels.begin(), labels.end(), requirement.key,
                                   [](const model::Label& label, Symbol key) { return label.key < key; });
  const bool known = at != labels.end() && at->key == requirement.key;
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), at->value) != requirement.values.end();
  };
  switch (requirement.op) {
    case model::Operator::in:
      return known && listed();
    case model::Operator::not_in:
      return !known || !listed();
    case model::Operator::exists:
      return known;
    case model::Operator::does_not_exist:
      return !known;
    default:
      return false;  // label selectors compare no numbers
  }
}

}  // namespace

const std::vector<Field>& budget_fields() {
  static const std::vector<Field> fields{{"spec.selector", FieldType::json},
                                         {"status.disruptionsAllowed", FieldType::integer},
                                         {"status.disruptedPods", FieldType::json}};
  return fields;
}

DisruptionBudgets::DisruptionBudgets(ObjectStore& objects, BudgetReader read)
    : objects_(objects),
      read_(std::move(read)),
      watch_(objects.watch(std::string(k_budget_resource), budget_fields())) {}

bool DisruptionBudgets::refresh() {
  const std::uint64_t now = objects_.epoch(watch_);
  if (now == epoch_) return false;
  epoch_ = now;
  budgets_.clear();
  objects_.each(watch_, {}, [this](const Projection& projection) {
    if (read_) budgets_.push_back(read_(projection));
    return true;
  });
  return true;
}

bool protects(const DisruptionBudget& budget, Symbol ns, const model::Labels& labels) {
  return budget.ns == ns && !labels.empty() && budget.selector.kind == model::Selector::Kind::match &&
         !budget.selector.requirements.empty() &&
         std::all_of(budget.selector.requirements.begin(), budget.selector.requirements.end(),
                     [&](const model::Requirement& requirement) { return holds(requirement, labels); });
}

}  // namespace berth::framework
