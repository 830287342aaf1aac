// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace berth::bench {

/// Re-decides a workload the slow way and compares: for each pod every node, with the default profile's
/// arithmetic written out again, independent of host and plugins. placements[i] is an index into nodes, or -1.
///
/// A gang has all its nodes, each chosen as for a plain pod with the members before it in place, or none, and then
/// leaves no trace. What counts for such pods: room for cpu, memory and one more pod; free devices for its claim (which
/// devices it gets shows in where later pods fit); least-allocated score,
/// balanced-allocation score; of pods with a rule, what it says about pods of the same application by zone or host; equal
/// totals go to the first node in pre-order of the array heap over the feasible list.
/// The other scorers are constant over nodes. Answers with what is wrong first, or nothing.
/// Of a workload with rules the first checked_decisions() are compared.
std::string check(const Workload& workload, const std::vector<int>& placements);
std::size_t checked_decisions(const Workload& workload) noexcept;

/// False for claims with alternatives, which change scores, and for gangs with claims: neither is written out here.
bool is_checkable(const Workload& workload);

}  // namespace berth::bench
