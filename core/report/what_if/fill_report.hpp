// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cycle/scheduling_cycle.hpp"

namespace berth::report {

/// Nodes that one plugin rejected for one reason. A node counts once for each of its reasons.
struct RejectionCount {
  std::string plugin, reason;
  std::size_t nodes = 0;
};
/// The most frequent first; equal ones by plugin and reason. A rejection before any node was looked at counts no nodes.
std::vector<RejectionCount> count_rejections(const cycle::Explanation& explanation);

/// How many pods like one fit into a cluster, and what then stands in the way.
struct FillReport {
  std::string pod;  // "namespace/name" of the one that they are like
  std::size_t fitting = 0;
  bool is_full = false;                                    // false: the limit was reached before one fitted nowhere
  std::string message;                                     // why the last one fits nowhere, in upstream's words
  std::vector<std::pair<std::string, std::size_t>> nodes;  // that got some, and how many; the most first
  std::vector<RejectionCount> rejections;                  // of the last one
};

}  // namespace berth::report
