// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/framework.hpp"
#include "preemption/victim_search.hpp"

namespace berth::preemption {

/// The service through which policies search for victims, and the declaration that a plugin needs for it.
inline constexpr std::string_view k_service = "berth.draft.preemption/0";

/// Ids of the services that Preemption offers.
const std::vector<std::string_view>& service_ids();

/// Preemption as plugins use it: the services "berth.draft.preemption/0" and "berth.draft.dry_run/0", the disruption
/// budgets, and one search for victims per plugin instance.
///
/// Lifetime: made before the framework whose services it offers, and outlives it; the object store outlives it.
/// Threads:  the scheduling thread.
class Preemption {
 public:
  /// `review`: lets extenders drop candidates and change their victims; empty: there are none.
  Preemption(framework::ObjectStore& objects, BudgetReader read_budget, CandidateReview review = {})
      : objects_(objects), read_budget_(std::move(read_budget)), review_(std::move(review)) {}
  Preemption(const Preemption&) = delete;
  Preemption& operator=(const Preemption&) = delete;

  /// For FrameworkParts::services.
  std::vector<framework::HostService> services();
  /// Watches disruption budgets when a plugin declares the service. Call once, before the cluster is read.
  void watch_budgets(const framework::Framework& framework);
  /// False when no plugin declares the service.
  bool is_used() const noexcept { return budgets_ != nullptr; }

  /// Of that plugin, made at its first search. Requires: is_used().
  VictimSearch& search_of(const framework::PluginInstance& plugin);
  /// What the plugin's search in this cycle chose; null: it found nothing, or did not search.
  const VictimChoice* choice_of(const framework::PluginInstance& plugin, std::uint64_t cycle_id) const;
  /// Why that node was chosen, if the plugin's search in this cycle chose it.
  std::optional<PreemptionReport> report(const framework::PluginInstance& plugin, std::uint64_t cycle_id,
                                         cache::Slot node) const;
  const CandidateReview& review() const noexcept { return review_; }

 private:
  framework::ObjectStore& objects_;
  BudgetReader read_budget_;
  const CandidateReview review_;
  std::unique_ptr<DisruptionBudgets> budgets_;
  std::map<const framework::PluginInstance*, std::unique_ptr<VictimSearch>> searches_;
};

}  // namespace berth::preemption
