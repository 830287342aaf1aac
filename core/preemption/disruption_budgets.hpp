// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "framework/services/object_store.hpp"
#include "model/pod.hpp"
#include "model/selectors.hpp"

namespace berth::preemption {

/// What preemption knows of one PodDisruptionBudget.
struct DisruptionBudget {
  Symbol ns = 0;
  model::Selector selector;
  std::int64_t allowed = 0;            // status.disruptionsAllowed
  SymbolHold symbols;                  // of the two above, as far as they come from the object
  std::vector<std::string> disrupted;  // names in status.disruptedPods, sorted: their eviction is counted already
};
/// Makes a budget of its projection: namespace, then the fields k_budget_fields. Passed in, because reading JSON is not
/// done here.
using BudgetReader = std::function<DisruptionBudget(const framework::Projection& projection)>;

inline constexpr std::string_view k_budget_resource = "policy/v1/poddisruptionbudgets";
/// spec.selector (JSON), status.disruptionsAllowed (integer), status.disruptedPods (JSON).
const std::vector<framework::Field>& budget_fields();

/// The cluster's disruption budgets, kept current through a watch of the object store.
///
/// Threads: the scheduling thread. Lifetime: the store outlives it.
class DisruptionBudgets {
 public:
  /// Declares the watch, so: before the cluster is read.
  DisruptionBudgets(framework::ObjectStore& objects, BudgetReader read);

  /// Reads what changed.
  void refresh();
  /// Grows when something changed. More than one search has to notice.
  std::uint64_t version() const noexcept { return version_; }
  const std::vector<DisruptionBudget>& all() const noexcept { return budgets_; }

 private:
  framework::ObjectStore& objects_;
  const BudgetReader read_;
  const framework::ObjectStore::WatchId watch_;
  std::uint64_t epoch_ = 0, version_ = 1;
  std::vector<DisruptionBudget> budgets_;
};

/// True when the budget speaks about a pod of these labels.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/defaultpreemption (filterPodsWithPDBViolation): no labels,
/// no selector and an empty selector match nothing.
bool protects(const DisruptionBudget& budget, Symbol ns, const model::Labels& labels);

}  // namespace berth::preemption
