// SPDX-License-Identifier: Apache-2.0
/// Which nodes count for a constraint: those that the pod's node selection admits and those whose taints it tolerates,
/// as the constraint's two policies say. Bitmaps by slot, worked out once per pod and only when a constraint asks for
/// them.
#pragma once
#include <berth/plugin.hpp>

#include <algorithm>
#include <vector>

namespace berth::pod_topology_spread {

using Bitmap = std::vector<std::uint64_t>;

inline void keep(Bitmap& bitmap, std::span<const std::uint64_t> mask) noexcept {
  for (std::size_t w = 0; w < bitmap.size(); ++w) bitmap[w] &= w < mask.size() ? mask[w] : 0;
}
inline bool test(std::span<const std::uint64_t> bitmap, Slot slot) noexcept {
  return slot / 64 < bitmap.size() && (bitmap[slot / 64] >> (slot & 63) & 1u) != 0;
}

/// The host's services that node facts come from.
struct NodeFacts {
  Labels labels;
  Sets sets;
  Intern intern;
  NodeMatcher matcher;
  const berth_nodes_v1* nodes;
  void* ctx;
  IdColumn name;
  IdColumn taint_set;

  /// As it was: nodes are what they were, but for the pods on them. 0: the host does not say.
  std::uint64_t generation(const Cycle& cycle) const noexcept {
    return nodes->facts != nullptr ? nodes->facts(ctx, cycle.raw()) : 0;
  }
  const Id* column(const Cycle& cycle, IdColumn which) const noexcept {
    return static_cast<const Id*>(nodes->column(ctx, cycle.raw(), which.index));
  }
};

class Eligibility {
 public:
  Eligibility(const NodeFacts& facts, const Cycle& cycle) : facts_(facts), cycle_(cycle) {}

  /// Snapshot nodes that count under these policies. Valid as long as this object.
  const Bitmap& nodes(bool honor_affinity, bool honor_taints) {
    Bitmap& result = known_[(honor_affinity ? 1 : 0) + (honor_taints ? 2 : 0)];
    if (!result.empty()) return result;
    result.assign(cycle_.nodes().begin(), cycle_.nodes().end());
    if (honor_affinity) keep_selected(result);
    if (honor_taints) keep_tolerated(result);
    return result;
  }

 private:
  void keep_matching(Bitmap& result, const Requirement& requirement) {
    scratch_.assign(result.size(), 0);
    if (!facts_.labels.match(cycle_, requirement, scratch_)) scratch_.assign(result.size(), 0);
    keep(result, scratch_);
  }

  void keep_selected(Bitmap& result) {
    const berth_node_selection_v1& selection = cycle_.pod().node_selection();
    for (const Label& pair : span_of(selection.selector, selection.selector_count)) {
      Requirement equals{};
      equals.key = pair.key;
      equals.op = BERTH_OP_IN;
      equals.values = &pair.value;
      equals.value_count = 1;
      keep_matching(result, equals);
    }
    if (selection.has_required == 0) return;
    Bitmap any(result.size(), 0);
    for (const NodeTerm& term : span_of(selection.required, selection.required_count)) {
      if (!NodeMatcher::can_match(term)) continue;
      Bitmap one = result;
      for (const Requirement& each : span_of(term.expressions, term.expression_count)) keep_matching(one, each);
      if (term.field_count != 0) keep_named(one, term);
      for (std::size_t w = 0; w < any.size(); ++w) any[w] |= one[w];
    }
    result = std::move(any);
  }

  void keep_named(Bitmap& result, const NodeTerm& term) {
    const Id* names = facts_.column(cycle_, facts_.name);
    for (std::size_t w = 0; w < result.size(); ++w)
      each_bit(result[w], [&](std::uint32_t bit) {
        if (!facts_.matcher.fields_match(term, names[w * 64 + bit])) result[w] &= ~(std::uint64_t{1} << bit);
      });
  }

  void keep_tolerated(Bitmap& result) {
    const Id* taint_sets = facts_.column(cycle_, facts_.taint_set);
    SetMemo<bool> memo;
    for (std::size_t w = 0; w < result.size(); ++w) {
      if (result[w] == 0) continue;
      each_distinct(Lane<Id>(taint_sets + 64 * w), Mask(result[w]), [&](Id set, Mask rows) {
        if (set == 0) return;
        const bool away = memo.get(set, [&](std::uint32_t s) {
          return has_untolerated_taint(facts_.sets.taints(s), cycle_.pod().tolerations(),
                                       [this](Id id) { return facts_.intern.text(id); });
        });
        if (away) result[w] &= ~rows.bits();
      });
    }
  }

  const NodeFacts& facts_;
  const Cycle& cycle_;
  Bitmap known_[4];
  Bitmap scratch_;
};

}  // namespace berth::pod_topology_spread
