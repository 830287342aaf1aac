// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "report/report_text.hpp"
#include "report/simulate_report.hpp"

namespace berth::report {

/// One of two policies that decided about the same cluster.
struct Policy {
  std::string name;  // the configuration's file, or "defaults"
  const SimulationReport& report;
};

/// Two policies side by side: totals, use of the nodes, and the pods about which they came to different ends.
std::string render_comparison(const Policy& a, const Policy& b, const TableStyle& style);
/// The same as JSON:
///   scheduler    "berth …"
///   policies[]   name, placed, pending, gated, evictions, nodesInUse (nodes with pods), nodesEmpty, fitting (of
///                --until-full; left out without it), message (what then stands in the way), resources[] {name, unit,
///                requested, allocatable, usedPercent, fullestNodePercent, largestFree: on one node}
///   differences[] pod, a and b: each {state, node (or null), message (left out when there is none)}
///   whatIf[]     as of render_json()
std::string render_comparison_json(const Policy& a, const Policy& b);

}  // namespace berth::report
