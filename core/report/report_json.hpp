// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>

#include "report/simulate_report.hpp"

namespace berth::report {

/// The report for programs. Field names are stable: later versions add fields, they do not rename or drop any.
///
///   scheduler    "berth …"
///   totals       nodes, pods, and the number of pods by state
///   whatIf[]     changes that were made before: option, effect, nodes[], addedPods[], returnedPods[], removedPods[]
///                ("namespace/name"); each list, and the whole, is left out when empty
///   untilFull    pod, fitting, full (false: a limit was reached first), message (left out unless full),
///                rejected[] {plugin, reason, nodes}, nodes[] {name, pods}; left out when it was not asked for
///   pods[]       namespace, name, state, node (or null), schedulerName, priority, attempts,
///                evaluatedNodes, feasibleNodes,
///                message and nominatedNode (left out when empty),
///                bestNodes[] {node, total} (left out when not explained),
///                claims[] (names of its resource claims; left out when it has none)
///   nodes[]      name, zone (left out when the node has none), unschedulable,
///                resources[] {name, unit, requested, allocatable};
///                unit is "milli" (cpu), "bytes" or "count"
///   resources[]  the same of the whole cluster
///   evictions[]  pod, priority, node, for (left out when there are none)
///   claims[]     namespace, name, state ("pending", "idle": allocated for no pod, or "in use"), reservedFor[],
///                devices[] {request, driver, pool, device, adminAccess (left out when false)}
///   devicePools[]  devices of a pool that the same nodes have: node (or null, and nodes says which in words),
///                nodeIsMissing (left out when false), driver, pool, problem (left out when there is none),
///                total, free, allocated, tainted, taintedAndAllocated, blocked (by counters that are used up, or by
///                the problem), shares, devices[] {name, state ("allocated", "tainted", "blocked" or "free"),
///                tainted, claims[] (left out when false or empty)}
///   devices      total, free, … of the whole cluster
///
/// claims, devicePools and devices are left out when there are none.
std::string render_json(const SimulationReport& report);
/// The same, without having all of it in memory.
void print_json(const SimulationReport& report, std::ostream& out);
/// The same as YAML.
std::string render_yaml(const SimulationReport& report);

/// A JSON text as YAML. Requires: it is JSON.
std::string yaml_of_json(const std::string& json);

}  // namespace berth::report
