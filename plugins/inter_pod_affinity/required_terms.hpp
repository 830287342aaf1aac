// SPDX-License-Identifier: Apache-2.0
/// Required terms: of the pod at hand, and anti-affinity of placed pods against it.
///
/// Three sums per (topology key, value), counted once per pod and shared by all clones of the state:
///   existing_anti  terms of placed pods that want the pod at hand kept away
///   affinity       placed pods that match all required affinity terms, once per term
///   anti           placed pods that match a required anti-affinity term, once per term
/// What-if pods are a short list of differences beside them, so a clone costs nothing that grows with the cluster.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
#pragma once
#include <berth/plugin.hpp>

#include "pair_sums.hpp"
#include "terms.hpp"

#include <memory>

namespace berth::inter_pod_affinity {

struct RequiredCounts {
  PairSums existing_anti;
  PairSums affinity;
  PairSums anti;
  std::size_t affinity_pairs = 0;   // pairs with a sum above 0
  bool pod_matches_itself = false;  // all own affinity terms mean the pod itself
  ReachList affinity_reach;
  ReachList anti_reach;
  std::vector<Id> affinity_keys;  // one per term
  std::vector<Id> anti_keys;
  std::vector<Label> ns_labels;    // of the pod's namespace
  const Id* label_sets = nullptr;  // by slot
  std::uint32_t slot_count = 0;
};

class RequiredState {
 public:
  explicit RequiredState(std::shared_ptr<const RequiredCounts> counts)
      : counts_(std::move(counts)), affinity_pairs_(static_cast<std::int64_t>(counts_->affinity_pairs)) {}

  /// A pod is imagined on, or away from, a node.
  void move_pod(Pod pod, Pod other, Slot node, std::int64_t delta, Sets sets) {
    if (node >= counts_->slot_count) return;
    const auto labels = sets.labels(counts_->label_sets[node]);
    const RequiredCounts& base = *counts_;
    for (const Term& term : usable(anti_required(other.affinity())))
      if (means(term, pod.ns(), base.ns_labels, pod.labels()))
        move(k_existing_anti, base.existing_anti, term.topology_key, find_label(labels, term.topology_key), delta);
    const Terms affinity = required(pod.affinity());
    if (base.affinity_reach.all_mean(affinity, other.ns(), other.labels()))
      for (const Term& term : affinity)
        move(k_affinity, base.affinity, term.topology_key, find_label(labels, term.topology_key), delta);
    const Terms anti = anti_required(pod.affinity());
    for (std::size_t i = 0; i < anti.size(); ++i)
      if (base.anti_reach.any_means(anti, i, other.ns(), other.labels()))
        move(k_anti, base.anti, anti[i].topology_key, find_label(labels, anti[i].topology_key), delta);
  }

  void filter(FilterBlock& block, Rejection no_affinity, Rejection anti, Rejection existing_anti, Sets sets) const {
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      block.reject(w, !affinity_holds(block, w), no_affinity);
      for (const Id key : counts_->anti_keys)
        block.reject(w, above_zero(k_anti, *counts_->anti.find(key), block, w), anti);
      for (const PairSums::PerKey& each : counts_->existing_anti.keys())
        block.reject(w, above_zero(k_existing_anti, each, block, w), existing_anti);
      if (moved_unknown_key_) block.reject(w, moved_anti_elsewhere(block, w, sets), existing_anti);
    }
  }

 private:
  enum Map : std::uint32_t { k_existing_anti, k_affinity, k_anti };
  struct Move {
    Map map;
    Id key;
    Id value;
    std::int64_t delta;
  };

  void move(Map map, const PairSums& base, Id key, Id value, std::int64_t delta) {
    if (value == 0) return;
    const PairSums::PerKey* known = base.find(key);
    if (known == nullptr) moved_unknown_key_ = true;
    if (map == k_affinity) {
      const std::int64_t before = base_sum(*known, value) + moved(map, key, value);
      affinity_pairs_ += (before == 0 ? 1 : 0) - (before + delta == 0 ? 1 : 0);
    }
    moves_.push_back({map, key, value, delta});
  }
  static std::int64_t base_sum(const PairSums::PerKey& each, Id value) noexcept {
    const auto at = std::find(each.domains->values.begin(), each.domains->values.end(), value);
    return at == each.domains->values.end() ? 0
                                            : each.sums[static_cast<std::size_t>(at - each.domains->values.begin())];
  }
  std::int64_t moved(Map map, Id key, Id value) const noexcept {
    std::int64_t sum = 0;
    for (const Move& each : moves_)
      if (each.map == map && each.key == key && each.value == value) sum += each.delta;
    return sum;
  }

  /// Rows whose sum for the key is above 0; rows without the key have none.
  Mask above_zero(Map map, const PairSums::PerKey& each, const FilterBlock& block, std::uint32_t w) const {
    std::uint32_t gathered[64];
    const std::uint32_t* domain = each.domains->rows(block, w, gathered);
    const std::int64_t* sums = each.sums.data();
    if (moves_.empty()) return berth::detail::mask_of([&](unsigned i) { return sums[domain[i]] > 0; });
    return berth::detail::mask_of([&](unsigned i) {
      return domain[i] != 0 && sums[domain[i]] + moved(map, each.key, each.domains->values[domain[i]]) > 0;
    });
  }

  Mask affinity_holds(const FilterBlock& block, std::uint32_t w) const {
    Mask has_keys = Mask::all();
    Mask has_pods = Mask::all();
    for (const Id key : counts_->affinity_keys) {
      const PairSums::PerKey& each = *counts_->affinity.find(key);
      std::uint32_t gathered[64];
      const std::uint32_t* domain = each.domains->rows(block, w, gathered);
      has_keys &= berth::detail::mask_of([&](unsigned i) { return domain[i] != 0; });
      has_pods &= above_zero(k_affinity, each, block, w);
    }
    // The first pod of a group that wants to be together may go anywhere.
    const bool is_first = affinity_pairs_ == 0 && counts_->pod_matches_itself;
    return has_keys && (has_pods || is_first);
  }

  /// Anti-affinity that only a what-if pod brought, over a key that no placed pod's term uses.
  Mask moved_anti_elsewhere(const FilterBlock& block, std::uint32_t w, Sets sets) const {
    Mask found = Mask::none();
    each_bit(block.open(w).bits(), [&](std::uint32_t bit) {
      const Slot slot = block.slot(w * 64 + bit);
      if (slot >= counts_->slot_count) return;
      const auto labels = sets.labels(counts_->label_sets[slot]);
      for (const Move& each : moves_) {
        if (each.map != k_existing_anti || find_label(labels, each.key) != each.value) continue;
        if (counts_->existing_anti.find(each.key) == nullptr && moved(k_existing_anti, each.key, each.value) > 0)
          found |= Mask(std::uint64_t{1} << bit);
      }
    });
    return found;
  }

  std::shared_ptr<const RequiredCounts> counts_;
  std::vector<Move> moves_;
  std::int64_t affinity_pairs_;
  bool moved_unknown_key_ = false;
};

/// [cycle] The caller has checked that the pod's terms parse. ns_labels: those of the pod's namespace.
template <class EachNamespace>
std::shared_ptr<const RequiredCounts> count_required(const Cycle& cycle, const Topology& topology,
                                                     const PodIndex& index, std::span<const Label> ns_labels,
                                                     const Id* label_sets, EachNamespace&& each_namespace) {
  auto counts = std::make_shared<RequiredCounts>();
  const Pod pod = cycle.pod();
  const Terms affinity = required(pod.affinity());
  const Terms anti = anti_required(pod.affinity());
  counts->ns_labels.assign(ns_labels.begin(), ns_labels.end());
  counts->label_sets = label_sets;
  counts->slot_count = cycle.slot_count();
  const auto prepare = [&](Terms terms, ReachList& reach, std::vector<Id>& keys, PairSums& sums) {
    for (const Term& term : terms) {
      reach.reach.push_back(reach_of(term, each_namespace));
      keys.push_back(term.topology_key);
      sums.of(term.topology_key, topology);
    }
  };
  prepare(affinity, counts->affinity_reach, counts->affinity_keys, counts->affinity);
  prepare(anti, counts->anti_reach, counts->anti_keys, counts->anti);

  index.each(cycle, BERTH_SHAPES_WITH_REQUIRED_ANTI, 0, [&](const berth_shape_v1& shape) {
    if (shape.affinity == nullptr) return;
    for (const Term& term : usable(anti_required(*shape.affinity)))
      if (means(term, pod.ns(), ns_labels, pod.labels()))
        counts->existing_anti.add(term.topology_key, shape, 1, topology);
  });
  each_within(index, cycle, counts->affinity_reach.reach, [&](const berth_shape_v1& shape) {
    if (counts->affinity_reach.all_mean(affinity, shape.ns, span_of(shape.labels, shape.label_count)))
      for (const Term& term : affinity) counts->affinity.add(term.topology_key, shape, 1, topology);
  });
  each_within(index, cycle, counts->anti_reach.reach, [&](const berth_shape_v1& shape) {
    for (std::size_t i = 0; i < anti.size(); ++i)
      if (counts->anti_reach.any_means(anti, i, shape.ns, span_of(shape.labels, shape.label_count)))
        counts->anti.add(anti[i].topology_key, shape, 1, topology);
  });
  for (const PairSums::PerKey& each : counts->affinity.keys())
    counts->affinity_pairs +=
        each.sums.size() - static_cast<std::size_t>(std::count(each.sums.begin(), each.sums.end(), 0));
  counts->pod_matches_itself = counts->affinity_reach.all_mean(affinity, pod.ns(), pod.labels());
  return counts;
}

}  // namespace berth::inter_pod_affinity
