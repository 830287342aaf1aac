// SPDX-License-Identifier: Apache-2.0
/// Pods of one service on nodes that agree in the named labels: the first placed pod decides the values.
///
/// The pod's nodeSelector decides first. For labels that it leaves open, and if some service selects the pod, the node
/// of the first placed pod with all the labels of the pod at hand does. Placed pods stand in the list order of their
/// nodes, imagined ones behind them: so does one that goes and comes back.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates (ServiceAffinity).
#pragma once
#include <berth/node_order.hpp>
#include <berth/plugin.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace berth::legacy {

/// Pods of the namespace that have all labels of the pod at hand, by where they are.
class Peers {
 public:
  Peers(const PodIndex& index, const NodeOrder& order, const Cycle& cycle) {
    auto placed = std::make_shared<std::vector<Place>>();
    const auto wanted = cycle.pod().labels();
    index.each(cycle, BERTH_SHAPES_ALL, cycle.pod().ns(), [&](const berth_shape_v1& shape) {
      if (!NodeMatcher::has_all(wanted, span_of(shape.labels, shape.label_count))) return;
      for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count))
        placed->push_back({node.slot, node.count});
    });
    if (placed->size() > 1) {
      std::vector<std::uint32_t> positions(cycle.slot_count(), 0);
      std::uint32_t position = 0;
      for (const Slot slot : order.slots(cycle)) positions[slot] = position++;
      std::sort(placed->begin(), placed->end(),
                [&](const Place& a, const Place& b) { return positions[a.slot] < positions[b.slot]; });
    }
    placed_ = std::move(placed);
  }

  /// Another pod is imagined on a node (1) or away from it (-1). Requires: it has all the labels.
  void move(Slot node, std::int64_t delta) {
    if (delta > 0) {
      added_.push_back(node);
      return;
    }
    // Of pods on one node, those that were imagined last go first.
    const auto last = std::find(added_.rbegin(), added_.rend(), node);
    if (last == added_.rend()) {
      removed_.push_back(node);
    } else {
      added_.erase(std::next(last).base());
    }
  }

  /// The node of the first one, BERTH_NO_SLOT when there is none.
  Slot first() const noexcept {
    for (std::size_t i = 0; i < placed_->size();) {
      const Slot slot = (*placed_)[i].slot;
      std::int64_t count = 0;
      for (; i < placed_->size() && (*placed_)[i].slot == slot; ++i) count += (*placed_)[i].count;
      if (count > std::count(removed_.begin(), removed_.end(), slot)) return slot;
    }
    return added_.empty() ? BERTH_NO_SLOT : added_.front();
  }

 private:
  struct Place {
    Slot slot;
    std::int64_t count;
  };
  std::shared_ptr<const std::vector<Place>> placed_;  // shared by all clones
  std::vector<Slot> added_;                           // in the order in which they came
  std::vector<Slot> removed_;                         // of the placed ones
};

/// What pre_filter leaves.
struct AffinityState {
  bool has_services = false;
  Peers peers;
  std::vector<const Id*> values;  // by label, then by slot
};

/// The named labels, as ids and as columns.
class AffinityLabels {
 public:
  AffinityLabels(Setup& setup, const std::vector<std::string>& labels) {
    for (const std::string& label : labels) {
      keys_.push_back(setup.service<Intern>()(label));
      columns_.push_back(setup.label(label));
    }
  }
  bool empty() const noexcept { return keys_.empty(); }

  std::vector<const Id*> by_slot(const Cycle& cycle, Labels labels) const {
    std::vector<const Id*> values;
    for (const Id key : keys_) values.push_back(labels.column(cycle, key));
    return values;
  }

  void filter(const Cycle& cycle, const AffinityState& state, FilterBlock& block, Rejection refusal) const {
    const std::vector<Id> wanted = wanted_values(cycle, state);
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      const Rows rows = block.word(w);
      Mask fits = Mask::all();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] != 0) fits &= rows[columns_[i]] == wanted[i];
      block.reject(w, !fits, refusal);
    }
  }

 private:
  /// By label; 0: any.
  std::vector<Id> wanted_values(const Cycle& cycle, const AffinityState& state) const {
    const berth_node_selection_v1& selection = cycle.pod().node_selection();
    const auto selector = span_of(selection.selector, selection.selector_count);
    std::vector<Id> wanted;
    for (const Id key : keys_) wanted.push_back(find_label(selector, key));
    const Slot first = state.has_services ? state.peers.first() : BERTH_NO_SLOT;
    if (first == BERTH_NO_SLOT) return wanted;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] == 0) wanted[i] = state.values[i][first];
    return wanted;
  }

  std::vector<Id> keys_;
  std::vector<IdColumn> columns_;
};

}  // namespace berth::legacy
