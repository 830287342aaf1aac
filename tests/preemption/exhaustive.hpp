// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/cycle_context.hpp"
#include "scheduler/scheduler.hpp"

/// Preemption as upstream describes it, node by node and pod by pod, without blocks, indexes or early ends: what the
/// search is held against.
namespace berth::preemption_test {

struct Budget {
  std::string ns;
  std::map<std::string, std::string> labels;  // all of them; none: protects no pod
  std::int64_t allowed = 0;
  std::set<std::string> disrupted;
};

struct Choice {
  std::string node;
  std::set<std::string> victims;  // "namespace/name"
  std::uint32_t violations = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct Exhaustive {
  std::optional<Choice> choice;
  std::size_t candidates = 0, without_violation = 0;
};

/// For the scheduler's snapshot as it is. nominated: as the cycle would see it for this pod.
Exhaustive search_exhaustively(const scheduler::DecisionParts& host, const model::PodPtr& pod,
                               const framework::NominatedPods& nominated, const std::vector<Budget>& budgets,
                               const SymbolTable& symbols);

}  // namespace berth::preemption_test
