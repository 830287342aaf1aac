// SPDX-License-Identifier: Apache-2.0
/// Preferred terms: nodes gain or lose the weights of terms that hold between the pod at hand and placed pods.
///
/// Per placed pod: the weight of each preferred affinity term of the pod at hand that means it (anti-affinity: minus
/// the weight), the same the other way round, and hard_weight for each required affinity term of the placed pod that
/// means the pod at hand. Sums are kept per (topology key, value); a node's raw score is what its labels find there.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/interpodaffinity/scoring.go.
#pragma once
#include <berth/plugin.hpp>

#include "pair_sums.hpp"
#include "terms.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace berth::inter_pod_affinity {

/// The sums of one class of pods: made, and kept right while pods come and go. [cycle]
class PreferredCounter {
 public:
  /// The caller has checked that the pod's terms parse. Topology and namespaces: as they are now.
  template <class NamespaceTable>
  std::shared_ptr<const PairSums> up_to_date(const Cycle& cycle, const Topology& topology, const PodIndex& index,
                                             NamespaceTable& namespaces, std::int32_t hard_weight,
                                             std::uint64_t facts) {
    const bool in_place =
        sums_ && facts != 0 && namespaces.epoch() == epoch_ && (facts == facts_ || sums_->holds(topology));
    const Pod pod = cycle.pod();
    const auto apply = [this](const ShapeShares::Share& share, Slot slot, std::int64_t pods) {
      sums_->add(share.sum, slot, pods, share.weight);
    };
    const auto describe = [&](const Topology* makes_keys) {
      return [&, makes_keys](ShapeShares& shares, const berth_shape_v1& shape) {
        return this->describe(pod, shares, shape, hard_weight, makes_keys);
      };
    };
    if (!in_place || !journal_.follow(index, cycle, describe(nullptr), apply)) {
      sums_ = std::make_shared<PairSums>();
      const auto ns_labels = namespaces.labels(pod.ns());
      ns_labels_.assign(ns_labels.begin(), ns_labels.end());
      own_reach_ = anti_reach_ = {};
      const auto prepare = [&](Terms terms, ReachList& list) {
        for (const Term& term : terms)
          list.reach.push_back(reach_of(term, [&](auto&& visit) { namespaces.each(visit); }));
      };
      prepare(preferred(pod.affinity()), own_reach_);
      prepare(anti_preferred(pod.affinity()), anti_reach_);
      const bool own_terms = !own_reach_.reach.empty() || !anti_reach_.reach.empty();
      journal_.count(
          index, cycle,
          [&](auto&& visit) { index.each(cycle, own_terms ? BERTH_SHAPES_ALL : BERTH_SHAPES_WITH_AFFINITY, 0, visit); },
          describe(&topology), apply);
      sums_->begin_log();
    }
    facts_ = facts;
    epoch_ = namespaces.epoch();
    return sums_;
  }
  std::size_t bytes() const noexcept { return journal_.bytes() + (sums_ ? sums_->bytes() : 0); }

 private:
  /// makes_keys: where keys that are new come from; null: there must not be any.
  bool describe(Pod pod, ShapeShares& shares, const berth_shape_v1& shape, std::int32_t hard_weight,
                const Topology* makes_keys) {
    shares.begin(shape.shape, shape.incarnation);
    bool fits = true;
    const auto add = [&](Id key, std::int32_t weight) {
      std::optional<std::uint32_t> number = sums_->number_of(key);
      if (!number && makes_keys != nullptr) number = sums_->of(key, *makes_keys);
      fits = fits && number;
      if (number) shares.add(*number, weight);
    };
    const auto own = [&](Terms terms, const ReachList& list, std::int32_t sign) {
      for (std::size_t i = 0; i < terms.size(); ++i)
        if (list.any_means(terms, i, shape.ns, span_of(shape.labels, shape.label_count)))
          add(terms[i].topology_key, sign * terms[i].weight);
    };
    own(preferred(pod.affinity()), own_reach_, 1);
    own(anti_preferred(pod.affinity()), anti_reach_, -1);
    if (shape.affinity == nullptr || (shape.flags & BERTH_SHAPE_HAS_AFFINITY) == 0) return fits;
    const auto theirs = [&](Terms terms, auto&& weight_of) {
      for (const Term& term : usable(terms))
        if (means(term, pod.ns(), ns_labels_, pod.labels())) add(term.topology_key, weight_of(term));
    };
    if (hard_weight > 0) theirs(required(*shape.affinity), [&](const Term&) { return hard_weight; });
    theirs(preferred(*shape.affinity), [](const Term& term) { return term.weight; });
    theirs(anti_preferred(*shape.affinity), [](const Term& term) { return -term.weight; });
    return fits;
  }

  std::shared_ptr<PairSums> sums_;  // states of attempts that are over hold it, and do not read it any more
  PodJournal journal_;
  std::vector<Label> ns_labels_;  // of the pod's namespace
  ReachList own_reach_, anti_reach_;
  std::uint64_t facts_ = 0, epoch_ = 0;
};

/// Raw scores of the 64 rows of a word.
inline void score_word(const PairSums& sums, const Block& block, std::uint32_t w, std::int64_t* out) noexcept {
  std::fill(out, out + 64, 0);
  for (const PairSums::PerKey& each : sums.keys()) {
    std::uint32_t gathered[64];
    const std::uint32_t* domain = each.domains->rows(block, w, gathered);
    for (unsigned i = 0; i < 64; ++i) out[i] += each.sums[domain[i]];
  }
}

}  // namespace berth::inter_pod_affinity
