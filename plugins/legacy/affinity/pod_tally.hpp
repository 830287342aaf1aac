// SPDX-License-Identifier: Apache-2.0
/// How many pods of a namespace a selector selects, by node.
#pragma once
#include <berth/plugin.hpp>

#include <vector>

namespace berth::legacy {

/// By slot. Terminating pods are left out. The selector is evaluated once per shape. [cycle]
template <class Selector>
std::vector<std::int64_t> tally(const PodIndex& index, const Cycle& cycle, Id ns, const Selector& selector) {
  std::vector<std::int64_t> counts(cycle.slot_count(), 0);
  index.each(cycle, BERTH_SHAPES_ALL, ns, [&](const berth_shape_v1& shape) {
    if ((shape.flags & BERTH_SHAPE_TERMINATING) != 0) return;
    if (!selector.matches(span_of(shape.labels, shape.label_count))) return;
    for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count)) counts[node.slot] += node.count;
  });
  return counts;
}

/// Writes the tally into the candidate rows.
inline void score_tally(const std::vector<std::int64_t>& counts, ScoreBlock& block) {
  block.each_candidate([&](std::uint32_t row) {
    const Slot slot = block.slot(row);
    block(row) = slot < counts.size() ? counts[slot] : 0;
  });
}

}  // namespace berth::legacy
