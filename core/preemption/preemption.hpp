// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/plugin_instance.hpp"
#include "preemption/victim_search.hpp"

namespace berth::preemption {

/// The service through which policies search for victims, and the declaration that a plugin needs for it.
inline constexpr std::string_view k_service = "berth.preemption/1";

/// Ids of the services that Preemption offers.
const std::vector<std::string_view>& service_ids();

/// Preemption as plugins use it: the services "berth.preemption/1" and "berth.dry_run/1", the disruption
/// budgets, and one search for victims per plugin instance.
///
/// Lifetime: made before the framework whose services it offers, and before the cluster is read; outlives the framework;
///           the object store outlives it.
/// Threads:  the scheduling thread.
class Preemption {
 public:
  /// `is_used`: some plugin declares the service, so that disruption budgets are watched. `review`: lets extenders drop
  /// candidates and change their victims; empty: there are none. `reuse`: of answers of nodes, from one search to the
  /// next.
  Preemption(framework::ObjectStore& objects, bool is_used, BudgetReader read_budget, CandidateReview review = {},
             AnswerReuse reuse = AnswerReuse::on)
      : review_(std::move(review)), reuse_(reuse) {
    if (is_used) budgets_.emplace(objects, std::move(read_budget));
  }
  Preemption(const Preemption&) = delete;
  Preemption& operator=(const Preemption&) = delete;

  /// For FrameworkParts::services.
  std::vector<framework::HostService> services();
  bool is_used() const noexcept { return budgets_.has_value(); }

  /// Of that plugin, made at its first search. Requires: is_used().
  VictimSearch& search_of(const framework::PluginInstance& plugin);
  /// What the plugin's search in this cycle chose; null: it found nothing, or did not search.
  const VictimChoice* choice_of(const framework::PluginInstance& plugin, std::uint64_t cycle_id) const;
  /// Why that node was chosen, if the plugin's search in this cycle chose it.
  std::optional<PreemptionReport> report(const framework::PluginInstance& plugin, std::uint64_t cycle_id,
                                         cache::Slot node) const;
  /// Kept answers that the searches of this cycle did not find confirmed.
  std::vector<ChangedAnswer> changed_answers(std::uint64_t cycle_id) const;
  const CandidateReview& review() const noexcept { return review_; }

 private:
  const CandidateReview review_;
  const AnswerReuse reuse_;
  std::optional<DisruptionBudgets> budgets_;
  std::map<const framework::PluginInstance*, std::unique_ptr<VictimSearch>> searches_;
};

}  // namespace berth::preemption
