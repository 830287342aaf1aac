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

namespace berth::inter_pod_affinity {

class PreferredSums {
 public:
  PreferredSums(const Cycle& cycle, const Topology& topology, const PodIndex& index)
      : cycle_(cycle), topology_(topology), index_(index) {}

  /// The pod's own preferences, over the placed pods that its terms can mean.
  template <class EachNamespace>
  void add_own(EachNamespace&& each_namespace) {
    add_own(preferred(cycle_.pod().affinity()), 1, each_namespace);
    add_own(anti_preferred(cycle_.pod().affinity()), -1, each_namespace);
  }

  /// Those of placed pods. ns_labels: of the pod's namespace.
  void add_existing(std::int32_t hard_weight, std::span<const Label> ns_labels) {
    const Pod pod = cycle_.pod();
    index_.each(cycle_, BERTH_SHAPES_WITH_AFFINITY, 0, [&](const berth_shape_v1& shape) {
      if (shape.affinity == nullptr) return;
      const auto add = [&](const Term& term, std::int32_t weight) {
        if (means(term, pod.ns(), ns_labels, pod.labels())) sums_.add(term.topology_key, shape, weight, topology_);
      };
      if (hard_weight > 0)
        for (const Term& term : usable(required(*shape.affinity))) add(term, hard_weight);
      for (const Term& term : usable(preferred(*shape.affinity))) add(term, term.weight);
      for (const Term& term : usable(anti_preferred(*shape.affinity))) add(term, -term.weight);
    });
  }

  PairSums take() && { return std::move(sums_); }

 private:
  template <class EachNamespace>
  void add_own(Terms terms, std::int32_t sign, EachNamespace&& each_namespace) {
    if (terms.empty()) return;
    ReachList list;
    for (const Term& term : terms) list.reach.push_back(reach_of(term, each_namespace));
    each_within(index_, cycle_, list.reach, [&](const berth_shape_v1& shape) {
      for (std::size_t i = 0; i < terms.size(); ++i)
        if (list.any_means(terms, i, shape.ns, span_of(shape.labels, shape.label_count)))
          sums_.add(terms[i].topology_key, shape, sign * terms[i].weight, topology_);
    });
  }

  const Cycle& cycle_;
  const Topology& topology_;
  const PodIndex& index_;
  PairSums sums_;
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
