// SPDX-License-Identifier: Apache-2.0
// What a search for victims says: why none was found, and who would go for what reason.
#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/plugin_call.hpp"
#include "preemption/victim_search_run.hpp"

namespace berth::preemption {

namespace {

/// Adds "COUNT REASON" of one of the reasons.
void add_entry(std::vector<std::string>& entries, std::uint32_t count, std::string_view reason) {
  if (count == 0 || reason.empty()) return;
  std::string& entry = entries.emplace_back();
  entry.reserve(reason.size() + 12);
  entry += fmt::format_int(count).c_str();
  entry += ' ';
  entry += reason;
}

}  // namespace

void VictimSearchRun::explain_failure() {
  const std::string_view no_victims = framework::from_abi(request_.no_victims),
                         not_searched = framework::from_abi(request_.not_searched);
  const std::uint32_t left_out = host_.snapshot.node_count() - std::min(node_count_, host_.snapshot.node_count());
  std::vector<std::string> entries;
  if (without_room_.empty() && no_victims != not_searched) {
    // Most pods that fit nowhere have a priority that nothing is below.
    add_entry(entries, without_victims_, no_victims);
    add_entry(entries, left_out, not_searched);
    return write_failure(entries);
  }
  std::map<std::string, std::uint32_t> counted;
  if (without_victims_ != 0) counted[std::string(no_victims)] += without_victims_;
  if (left_out != 0) counted[std::string(not_searched)] += left_out;

  std::map<std::pair<const framework::PluginInstance*, berth_reason>, std::uint32_t> by_reason;
  const auto add = [&](const framework::NodeVerdict& verdict) {
    if (verdict.plugin != nullptr) ++by_reason[{verdict.plugin, verdict.reason}];
  };
  std::vector<cache::Slot> slots;
  std::swap(slots, without_room_);
  std::vector<framework::NodeVerdict> verdicts;
  for (std::size_t first = 0; first < slots.size(); first += k_chunk_rows) {
    const auto chunk = std::span<const cache::Slot>(slots).subspan(first, std::min(k_chunk_rows, slots.size() - first));
    collect_victims(chunk);
    const framework::NominatedPods* const nominated = context_.nominated();
    rows_.begin(context_, chunk_slots_);
    alive_.assign(bitmap::words_for(chunk_.size()), 0);
    for (std::uint32_t r = 0; r < chunk_.size(); ++r) {
      const Row& row = chunk_[r];
      if (row.alone && (rows_.reads_lists() || (nominated != nullptr && nominated->contains(chunk_slots_[r])))) {
        evict_all(row);
        if (const auto verdict = judge_alone(row, chunk_slots_[r]); verdict.ok()) add(*verdict);
        continue;
      }
      bitmap::set(alive_.data(), r);
      remove_all(r, row);
    }
    verdicts.assign(alive_.size() * 64, {});
    rows_.judge(alive_.data(), false, verdicts);
    for (const framework::NodeVerdict& verdict : verdicts) add(verdict);
  }
  rows_.end();
  for (const auto& [key, count] : by_reason)
    for (std::string& reason : framework::sentences(*key.first, key.second)) counted[std::move(reason)] += count;

  for (const auto& [reason, count] : counted) add_entry(entries, count, reason);
  write_failure(entries);
}

void VictimSearchRun::write_failure(std::vector<std::string>& entries) {
  std::sort(entries.begin(), entries.end());  // bytewise, as fit errors are
  choice_.text = fmt::format("0/{} nodes are available:", host_.snapshot.node_count());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    choice_.text += i == 0 ? " " : ", ";
    choice_.text += entries[i];
  }
  if (!entries.empty()) choice_.text += ".";
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
