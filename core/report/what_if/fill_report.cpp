// SPDX-License-Identifier: Apache-2.0
#include "report/what_if/fill_report.hpp"

#include <algorithm>
#include <map>

namespace berth::report {

std::vector<RejectionCount> count_rejections(const cycle::Explanation& explanation) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> counts;
  const auto count = [&](const cycle::NodeExplanation& node, std::size_t nodes) {
    if (node.code == framework::Code::success) return;
    if (node.reasons.empty()) counts[{node.plugin, ""}] += nodes;
    for (const std::string& reason : node.reasons) counts[{node.plugin, reason}] += nodes;
  };
  if (explanation.pod_rejection) count(*explanation.pod_rejection, 0);
  for (const cycle::NodeExplanation& node : explanation.nodes) count(node, 1);
  std::vector<RejectionCount> out;
  for (const auto& [who, nodes] : counts) out.push_back({std::string(who.first), std::string(who.second), nodes});
  std::stable_sort(out.begin(), out.end(),
                   [](const RejectionCount& a, const RejectionCount& b) { return a.nodes > b.nodes; });
  return out;
}

}  // namespace berth::report
