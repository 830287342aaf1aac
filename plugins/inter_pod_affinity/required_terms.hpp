// SPDX-License-Identifier: Apache-2.0
/// Required terms: of the pod at hand, and anti-affinity of placed pods against it.
///
/// Three sums per (topology key, value), kept per class of pods and shared by all clones of the state:
///   existing_anti  terms of placed pods that want the pod at hand kept away
///   affinity       placed pods that match all required affinity terms, once per term
///   anti           placed pods that match a required anti-affinity term, once per term
/// What-if pods are a short list of differences from them, so a clone costs nothing that grows with the cluster.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
#pragma once
#include <berth/plugin.hpp>

#include "movable_sums.hpp"
#include "terms.hpp"

#include <memory>
#include <optional>

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

  /// A pod is imagined on, or away from, a node. False: no term is about it, so no such pod counts on any node.
  bool move_pod(Pod pod, Pod other, Slot node, std::int64_t delta, Sets sets) {
    if (node >= counts_->slot_count) return true;
    const auto labels = sets.labels(counts_->label_sets[node]);
    const RequiredCounts& base = *counts_;
    bool counts = false;
    for (const Term& term : usable(anti_required(other.affinity())))
      if (means(term, pod.ns(), base.ns_labels, pod.labels())) {
        existing_anti_.move(term.topology_key, labels, delta);
        counts = true;
      }
    const Terms affinity = required(pod.affinity());
    if (base.affinity_reach.all_mean(affinity, other.ns(), other.labels())) {
      for (const Term& term : affinity) affinity_pairs_ += affinity_.move_counting(term.topology_key, labels, delta);
      counts = true;
    }
    const Terms anti = anti_required(pod.affinity());
    for (std::size_t i = 0; i < anti.size(); ++i)
      if (base.anti_reach.any_means(anti, i, other.ns(), other.labels())) {
        anti_.move(anti[i].topology_key, labels, delta);
        counts = true;
      }
    return counts;
  }

  void filter(FilterBlock& block, Rejection no_affinity, Rejection anti, Rejection existing_anti, Sets sets) const {
    if (block.rows() == 1) return filter_one(block, no_affinity, anti, existing_anti, sets);
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      block.reject(w, !affinity_holds(block, w), no_affinity);
      for (const Id key : counts_->anti_keys) block.reject(w, anti_.above_zero(key, block, w), anti);
      const Mask unwanted = existing_anti_.any_above_zero(
          block, w, block.open(w).bits(), [&](std::uint32_t bit) { return labels_of(block.slot(w * 64 + bit), sets); });
      block.reject(w, unwanted, existing_anti);
    }
  }

  void name_columns(const DomainColumnList& out) const {
    for (const PairSums* sums : {&counts_->affinity, &counts_->anti, &counts_->existing_anti}) sums->name_columns(out);
  }
  /// As filter(), for groups of nodes. Requires: no pod was imagined.
  void filter_groups(FilterGroups& groups) const {
    const auto affinity_end = static_cast<std::uint32_t>(counts_->affinity.keys().size());
    const bool may_be_anywhere = is_first();
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      bool has_keys = true, has_pods = true, unwanted = false;
      for (std::uint32_t c = 0; c < affinity_end; ++c) {
        has_keys = has_keys && groups.domain(c, g) != 0;
        has_pods = has_pods && groups.value(c, g) > 0;
      }
      for (std::uint32_t c = affinity_end; c < groups.column_count(); ++c)
        unwanted = unwanted || groups.value(c, g) > 0;
      if (unwanted || !has_keys || (!has_pods && !may_be_anywhere)) groups.reject(g);
    }
  }

 private:
  /// A node with pods that are imagined is a block of its own: it would pay for the 64 rows of a word.
  void filter_one(FilterBlock& block, Rejection no_affinity, Rejection anti, Rejection existing_anti, Sets sets) const {
    if (!block.open(0).any()) return;
    const Slot slot = block.slot(0);
    bool has_keys = true, has_pods = true;
    for (const Id key : counts_->affinity_keys) {
      has_keys = has_keys && counts_->affinity.find(key)->domains->at(slot) != 0;
      has_pods = has_pods && affinity_.is_above_zero(key, slot);
    }
    if (!has_keys || (!has_pods && !is_first())) return block.reject_row(0, no_affinity);
    for (const Id key : counts_->anti_keys)
      if (anti_.is_above_zero(key, slot)) return block.reject_row(0, anti);
    if (existing_anti_.is_any_above_zero(slot, [&] { return labels_of(slot, sets); }))
      block.reject_row(0, existing_anti);
  }
  std::span<const Label> labels_of(Slot slot, Sets sets) const {
    return slot < counts_->slot_count ? sets.labels(counts_->label_sets[slot]) : std::span<const Label>();
  }
  /// The first pod of a group that wants to be together may go anywhere.
  bool is_first() const noexcept { return affinity_pairs_ == 0 && counts_->pod_matches_itself; }

  Mask affinity_holds(const FilterBlock& block, std::uint32_t w) const {
    Mask has_keys = Mask::all();
    Mask has_pods = Mask::all();
    for (const Id key : counts_->affinity_keys) {
      std::uint32_t gathered[64];
      const std::uint32_t* domain = counts_->affinity.find(key)->domains->rows(block, w, gathered);
      has_keys &= berth::detail::mask_of([&](unsigned i) { return domain[i] != 0; });
      has_pods &= affinity_.above_zero(key, block, w);
    }
    return has_keys && (has_pods || is_first());
  }

  std::shared_ptr<const RequiredCounts> counts_;  // shared by all clones
  MovableSums existing_anti_;
  MovableSums affinity_;
  MovableSums anti_;
  std::int64_t affinity_pairs_;
};

/// The counts of one class of pods: made, and kept right while pods come and go. [cycle]
class RequiredCounter {
 public:
  /// The caller has checked that the pod's terms parse. Topology and namespaces: as they are now.
  template <class NamespaceTable>
  std::shared_ptr<const RequiredCounts> up_to_date(const Cycle& cycle, const Topology& topology, const PodIndex& index,
                                                   NamespaceTable& namespaces, const Id* label_sets,
                                                   std::uint64_t facts) {
    const bool in_place = counts_ && facts != 0 && namespaces.epoch() == epoch_ && (facts == facts_ || holds(topology));
    const Pod pod = cycle.pod();
    const auto describe = [&](ShapeShares& shares, const berth_shape_v1& shape) {
      return this->describe(pod, shares, shape, nullptr);
    };
    const auto apply = [this](const ShapeShares::Share& share, Slot slot, std::int64_t pods) {
      sums(share.sum).add(share.sum & k_key_mask, slot, pods, share.weight);
    };
    if (!in_place || !journal_.follow(index, cycle, describe, apply)) count(cycle, topology, index, namespaces);
    counts_->affinity_pairs = counts_->affinity.pair_count();
    counts_->label_sets = label_sets;
    counts_->slot_count = cycle.slot_count();
    facts_ = facts;
    epoch_ = namespaces.epoch();
    return counts_;
  }
  std::size_t bytes() const noexcept {
    if (!counts_) return 0;
    return sizeof(RequiredCounts) + journal_.bytes() + counts_->existing_anti.bytes() + counts_->affinity.bytes() +
           counts_->anti.bytes();
  }

 private:
  // A sum of a share: which of the three, and the number of its key.
  static constexpr std::uint32_t k_existing_anti = 0, k_affinity = 1u << 16, k_anti = 2u << 16, k_key_mask = 0xFFFF;

  PairSums& sums(std::uint32_t sum) noexcept {
    return sum >= k_anti ? counts_->anti : sum >= k_affinity ? counts_->affinity : counts_->existing_anti;
  }
  bool holds(const Topology& topology) const {
    return counts_->existing_anti.holds(topology) && counts_->affinity.holds(topology) && counts_->anti.holds(topology);
  }

  /// topology: makes keys that are new; null: there must not be any.
  bool describe(Pod pod, ShapeShares& shares, const berth_shape_v1& shape, const Topology* topology) {
    RequiredCounts& counts = *counts_;
    shares.begin(shape.shape, shape.incarnation);
    const auto labels = span_of(shape.labels, shape.label_count);
    if (shape.affinity != nullptr)
      for (const Term& term : usable(anti_required(*shape.affinity))) {
        if (!means(term, pod.ns(), counts.ns_labels, pod.labels())) continue;
        std::optional<std::uint32_t> key = counts.existing_anti.number_of(term.topology_key);
        if (!key && topology == nullptr) return false;
        if (!key) key = counts.existing_anti.of(term.topology_key, *topology);
        shares.add(k_existing_anti | *key, 1);
      }
    const Terms affinity = required(pod.affinity()), anti = anti_required(pod.affinity());
    if (counts.affinity_reach.all_mean(affinity, shape.ns, labels))
      for (const Term& term : affinity) shares.add(k_affinity | *counts.affinity.number_of(term.topology_key), 1);
    for (std::size_t i = 0; i < anti.size(); ++i)
      if (counts.anti_reach.any_means(anti, i, shape.ns, labels))
        shares.add(k_anti | *counts.anti.number_of(anti[i].topology_key), 1);
    return true;
  }

  template <class NamespaceTable>
  void count(const Cycle& cycle, const Topology& topology, const PodIndex& index, NamespaceTable& namespaces) {
    counts_ = std::make_shared<RequiredCounts>();
    RequiredCounts& counts = *counts_;
    const Pod pod = cycle.pod();
    const Terms affinity = required(pod.affinity()), anti = anti_required(pod.affinity());
    const auto ns_labels = namespaces.labels(pod.ns());
    counts.ns_labels.assign(ns_labels.begin(), ns_labels.end());
    const auto prepare = [&](Terms terms, ReachList& reach, std::vector<Id>& keys, PairSums& sums) {
      for (const Term& term : terms) {
        reach.reach.push_back(reach_of(term, [&](auto&& visit) { namespaces.each(visit); }));
        keys.push_back(term.topology_key);
        sums.of(term.topology_key, topology);
      }
    };
    prepare(affinity, counts.affinity_reach, counts.affinity_keys, counts.affinity);
    prepare(anti, counts.anti_reach, counts.anti_keys, counts.anti);
    counts.pod_matches_itself = counts.affinity_reach.all_mean(affinity, pod.ns(), pod.labels());
    const bool own_terms = !affinity.empty() || !anti.empty();
    journal_.count(
        index, cycle,
        [&](auto&& visit) {
          index.each(cycle, own_terms ? BERTH_SHAPES_ALL : BERTH_SHAPES_WITH_REQUIRED_ANTI, 0, visit);
        },
        [&](ShapeShares& shares, const berth_shape_v1& shape) { return describe(pod, shares, shape, &topology); },
        [this](const ShapeShares::Share& share, Slot slot, std::int64_t pods) {
          sums(share.sum).add(share.sum & k_key_mask, slot, pods, share.weight);
        });
    for (PairSums* sums : {&counts.existing_anti, &counts.affinity, &counts.anti}) sums->begin_log();
  }

  std::shared_ptr<RequiredCounts> counts_;  // states of attempts that are over hold it, and do not read it any more
  PodJournal journal_;
  std::uint64_t facts_ = 0, epoch_ = 0;
};

}  // namespace berth::inter_pod_affinity
