// SPDX-License-Identifier: Apache-2.0
// What a search for victims says: why none was found, and who would go for what reason.
#include "preemption/preemption_messages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "preemption/victim_search.hpp"

namespace berth::preemption {

void RuledOutNodes::add(std::uint32_t count, std::string_view reason) {
  if (count == 0 || reason.empty()) return;
  std::string& entry = entries_.emplace_back();
  entry.reserve(reason.size() + 12);
  entry += fmt::format_int(count).c_str();
  entry += ' ';
  entry += reason;
}

std::string RuledOutNodes::sentence(std::uint32_t nodes) && {
  std::sort(entries_.begin(), entries_.end());  // bytewise, as fit errors are
  std::string text = fmt::format("0/{} nodes are available:", nodes);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    text += i == 0 ? " " : ", ";
    text += entries_[i];
  }
  if (!entries_.empty()) text += ".";
  return text;
}

std::string PreemptionReport::sentence() const {
  constexpr std::size_t k_named = 8;  // further victims are counted
  if (victims.empty()) return fmt::format("waits for pods that are leaving {} already", node);
  std::string text = "evicts ";
  for (std::size_t i = 0; i < victims.size() && i < k_named; ++i) {
    if (i != 0) text += i + 1 == victims.size() ? " and " : ", ";
    text += fmt::format("{} (priority {})", victims[i].pod, victims[i].priority);
  }
  if (victims.size() > k_named) text += fmt::format(" and {} more", victims.size() - k_named);
  text += " from " + node;
  text += violations == 0 ? ", without violating a disruption budget"
                          : fmt::format(", {} of them beyond a disruption budget", violations);
  text += candidates == 1 ? "; the only node where evictions make room"
                          : fmt::format("; the best of {} nodes where evictions make room", candidates);
  if (!runner_up.empty()) text += fmt::format("; next best is {}, behind by: {}", runner_up, decided_by);
  return text;
}

PreemptionReport VictimChoice::report(const framework::Host& host) const {
  PreemptionReport report;
  report.node = host.snapshot.row(best->slot).node->name;
  for (const cache::PodHandle handle : best->victims)
    if (const model::PodPtr pod = host.pod_of(handle); pod && !pod->deleting)
      report.victims.push_back({pod->key(), pod->priority});
  report.candidates = candidates;
  report.searched = searched;
  report.violations = best->violations;
  if (!second) return report;
  report.runner_up = host.snapshot.row(second->slot).node->name;
  report.decided_by = "order of nodes";
  for (std::size_t w = 0; w < criteria.size(); ++w)
    if (best->rank[w] != second->rank[w]) {
      report.decided_by = criteria[w];
      break;
    }
  return report;
}

}  // namespace berth::preemption
