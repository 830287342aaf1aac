// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "report/simulate_report.hpp"

namespace berth::report {

/// The report for programs. Field names are stable: later versions add fields, they do not rename or drop any.
///
///   scheduler    "berth …"
///   totals       nodes, pods, and the number of pods by state
///   pods[]       namespace, name, state, node (or null), schedulerName, priority, attempts,
///                evaluatedNodes, feasibleNodes,
///                message and nominatedNode (left out when empty),
///                bestNodes[] {node, total} (left out when not explained)
///   nodes[]      name, zone (left out when the node has none), unschedulable,
///                resources[] {name, unit, requested, allocatable};
///                unit is "milli" (cpu), "bytes" or "count"
///   resources[]  the same of the whole cluster
std::string render_json(const SimulationReport& report);
/// The same as YAML.
std::string render_yaml(const SimulationReport& report);

/// A JSON text as YAML. Requires: it is JSON.
std::string yaml_of_json(const std::string& json);

}  // namespace berth::report
