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

#include "movable_sums.hpp"
#include "terms.hpp"

#include <memory>

namespace berth::inter_pod_affinity {

struct RequiredCounts {
  PairSums existing_anti;
  PairSums affinity;
  PairSums anti;
  std::int64_t affinity_pairs = 0;  // pairs with a sum
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
      : counts_(std::move(counts)),
        existing_anti_(counts_->existing_anti),
        affinity_(counts_->affinity),
        anti_(counts_->anti),
        affinity_pairs_(counts_->affinity_pairs) {}

  /// A pod is imagined on, or away from, a node.
  void move_pod(Pod pod, Pod other, Slot node, std::int64_t delta, Sets sets) {
    if (node >= counts_->slot_count) return;
    const auto labels = sets.labels(counts_->label_sets[node]);
    const RequiredCounts& base = *counts_;
    for (const Term& term : usable(anti_required(other.affinity())))
      if (means(term, pod.ns(), base.ns_labels, pod.labels())) existing_anti_.move(term.topology_key, labels, delta);
    const Terms affinity = required(pod.affinity());
    if (base.affinity_reach.all_mean(affinity, other.ns(), other.labels()))
      for (const Term& term : affinity) affinity_pairs_ += affinity_.move_counting(term.topology_key, labels, delta);
    const Terms anti = anti_required(pod.affinity());
    for (std::size_t i = 0; i < anti.size(); ++i)
      if (base.anti_reach.any_means(anti, i, other.ns(), other.labels()))
        anti_.move(anti[i].topology_key, labels, delta);
  }

  void filter(FilterBlock& block, Rejection no_affinity, Rejection anti, Rejection existing_anti, Sets sets) const {
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      block.reject(w, !affinity_holds(block, w), no_affinity);
      for (const Id key : counts_->anti_keys) block.reject(w, anti_.above_zero(key, block, w), anti);
      const Mask unwanted = existing_anti_.any_above_zero(block, w, block.open(w).bits(), [&](std::uint32_t bit) {
        const Slot slot = block.slot(w * 64 + bit);
        return slot < counts_->slot_count ? sets.labels(counts_->label_sets[slot]) : std::span<const Label>();
      });
      block.reject(w, unwanted, existing_anti);
    }
  }

 private:
  Mask affinity_holds(const FilterBlock& block, std::uint32_t w) const {
    Mask has_keys = Mask::all();
    Mask has_pods = Mask::all();
    for (const Id key : counts_->affinity_keys) {
      std::uint32_t gathered[64];
      const std::uint32_t* domain = counts_->affinity.find(key)->domains->rows(block, w, gathered);
      has_keys &= berth::detail::mask_of([&](unsigned i) { return domain[i] != 0; });
      has_pods &= affinity_.above_zero(key, block, w);
    }
    // The first pod of a group that wants to be together may go anywhere.
    const bool is_first = affinity_pairs_ == 0 && counts_->pod_matches_itself;
    return has_keys && (has_pods || is_first);
  }

  std::shared_ptr<const RequiredCounts> counts_;  // shared by all clones
  MovableSums existing_anti_;
  MovableSums affinity_;
  MovableSums anti_;
  std::int64_t affinity_pairs_;
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
  counts->affinity_pairs = counts->affinity.pair_count();
  counts->pod_matches_itself = counts->affinity_reach.all_mean(affinity, pod.ns(), pod.labels());
  return counts;
}

}  // namespace berth::inter_pod_affinity
