// SPDX-License-Identifier: Apache-2.0
/// Pods that a constraint counts: of the pod's namespace, not terminating, matched by the selector. A selector that
/// selects everything counts nothing.
#pragma once
#include <berth/plugin.hpp>

#include <berth/kept_counts.hpp>

#include "constraints.hpp"

namespace berth::pod_topology_spread {

/// Calls add(constraint index, slot, pods) for every node that holds matching pods. The selector is evaluated once per
/// shape.
template <class Constraints, class SelectorOf, class Add>
void count_matching(const PodIndex& index, const Cycle& cycle, const Constraints& constraints, SelectorOf&& selector_of,
                    Add&& add) {
  index.each(cycle, BERTH_SHAPES_ALL, cycle.pod().ns(), [&](const berth_shape_v1& shape) {
    if ((shape.flags & BERTH_SHAPE_TERMINATING) != 0) return;
    const auto labels = span_of(shape.labels, shape.label_count);
    for (std::size_t c = 0; c < constraints.size(); ++c) {
      const OwnedSelector& selector = selector_of(constraints[c]);
      if (selector.selects_everything() || !selector.matches(labels)) continue;
      add(c, span_of(shape.nodes, shape.node_count));
    }
  });
}

/// The constraints that count a shape, as its shares: sum c with weight 1 is constraint c.
template <class Constraints, class SelectorOf>
bool describe_shape(Id ns, const Constraints& constraints, SelectorOf&& selector_of, ShapeShares& shares,
                    const berth_shape_v1& shape) {
  shares.begin(shape.shape, shape.incarnation);
  if ((shape.flags & BERTH_SHAPE_TERMINATING) != 0 || shape.ns != ns) return true;
  const auto labels = span_of(shape.labels, shape.label_count);
  for (std::uint32_t c = 0; c < constraints.size(); ++c) {
    const OwnedSelector& selector = selector_of(constraints[c]);
    if (!selector.selects_everything() && selector.matches(labels)) shares.add(c, 1);
  }
  return true;
}

}  // namespace berth::pod_topology_spread
