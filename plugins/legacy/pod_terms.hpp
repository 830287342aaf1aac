// SPDX-License-Identifier: Apache-2.0
/// Affinity terms as they were then: a term lists namespaces, or means that of its own pod; selectors over namespaces
/// did not exist and are not looked at. A term that does not parse is an error, whosever it is. Source: kubernetes
/// v1.16 pkg/scheduler/algorithm/predicates/metadata.go, priorities/util/topologies.go.
#pragma once
#include "../inter_pod_affinity/pair_sums.hpp"

#include <memory>

namespace berth::legacy {

using inter_pod_affinity::PairSums;
using inter_pod_affinity::Topology;

using PodTerm = berth_affinity_term_v1;
using PodTerms = std::span<const PodTerm>;

/// Throws Failure for a list with a term that does not parse.
inline PodTerms parsed(const PodTerm* first, std::uint32_t count) {
  const PodTerms terms = span_of(first, count);
  for (const PodTerm& term : terms)
    if (term.selector.kind == BERTH_SELECTOR_INVALID) throw Failure(std::string(view(term.selector.error)));
  return terms;
}
inline PodTerms required_affinity(const berth_affinity_v1& a) { return parsed(a.required, a.required_count); }
inline PodTerms preferred_affinity(const berth_affinity_v1& a) { return parsed(a.preferred, a.preferred_count); }
inline PodTerms required_anti(const berth_affinity_v1& a) { return parsed(a.anti_required, a.anti_required_count); }
inline PodTerms preferred_anti(const berth_affinity_v1& a) { return parsed(a.anti_preferred, a.anti_preferred_count); }

/// A pod as terms see it.
struct Seen {
  Id ns;
  std::span<const Label> labels;
};
inline Seen seen(Pod pod) { return {pod.ns(), pod.labels()}; }
inline Seen seen(const berth_shape_v1& shape) { return {shape.ns, span_of(shape.labels, shape.label_count)}; }

/// Does a term of a pod in namespace `own` mean the other pod?
inline bool means(const PodTerm& term, Id own, const Seen& other) {
  const auto listed = span_of(term.namespaces, term.namespace_count);
  const bool there =
      listed.empty() ? other.ns == own : std::find(listed.begin(), listed.end(), other.ns) != listed.end();
  return there && matches(term.selector, other.labels);
}
/// False for an empty list.
inline bool all_mean(PodTerms terms, Id own, const Seen& other) {
  return !terms.empty() &&
         std::all_of(terms.begin(), terms.end(), [&](const PodTerm& term) { return means(term, own, other); });
}

/// Sums per (key, value) with pods that are imagined there or away as a short list beside them: a copy costs nothing
/// that grows with the cluster.
class MovableSums {
 public:
  explicit MovableSums(PairSums sums) : base_(std::make_shared<const PairSums>(std::move(sums))) {
    for (const PairSums::PerKey& each : base_->keys())
      pairs_ += static_cast<std::int64_t>(each.sums.size()) - std::count(each.sums.begin(), each.sums.end(), 0);
  }

  void move(Id key, Id value, std::int64_t delta) {
    if (value == 0) return;
    const std::int64_t before = sum(key, value);
    pairs_ += (before == 0 ? 1 : 0) - (before + delta == 0 ? 1 : 0);
    moves_.push_back({key, value, delta});
  }
  /// No pair has a sum.
  bool empty() const noexcept { return pairs_ == 0; }

  /// Rows whose value of the key has a sum above 0. label_sets: of the block's rows.
  Mask hit(Id key, const Block& block, std::uint32_t w, IdColumn label_set, Sets sets) const {
    if (const PairSums::PerKey* each = base_->find(key)) {
      std::uint32_t gathered[64];
      const std::uint32_t* domain = each->domains->rows(block, w, gathered);
      const std::int64_t* sums = each->sums.data();
      if (moves_.empty()) return berth::detail::mask_of([&](unsigned i) { return sums[domain[i]] > 0; });
      return berth::detail::mask_of([&](unsigned i) {
        return domain[i] != 0 && sums[domain[i]] + moved(key, each->domains->values[domain[i]]) > 0;
      });
    }
    Mask found;
    if (moves_.empty()) return found;
    each_distinct(block.word(w)[label_set], Mask(block.candidates(w)), [&](std::uint32_t set, Mask rows) {
      const Id value = find_label(sets.labels(set), key);
      if (value != 0 && moved(key, value) > 0) found |= rows;
    });
    return found;
  }
  /// Rows that some key hits.
  Mask hit_by_any(const Block& block, std::uint32_t w, IdColumn label_set, Sets sets) const {
    Mask found;
    for (const PairSums::PerKey& each : base_->keys()) found |= hit(each.key, block, w, label_set, sets);
    for (const Move& each : moves_)
      if (base_->find(each.key) == nullptr) found |= hit(each.key, block, w, label_set, sets);
    return found;
  }

 private:
  struct Move {
    Id key;
    Id value;
    std::int64_t delta;
  };

  std::int64_t moved(Id key, Id value) const noexcept {
    std::int64_t sum = 0;
    for (const Move& each : moves_)
      if (each.key == key && each.value == value) sum += each.delta;
    return sum;
  }
  std::int64_t sum(Id key, Id value) const noexcept {
    std::int64_t base = 0;
    if (const PairSums::PerKey* each = base_->find(key)) {
      const auto& values = each->domains->values;
      const auto at = std::find(values.begin(), values.end(), value);
      if (at != values.end()) base = each->sums[static_cast<std::size_t>(at - values.begin())];
    }
    return base + moved(key, value);
  }

  std::shared_ptr<const PairSums> base_;
  std::vector<Move> moves_;
  std::int64_t pairs_ = 0;
};

}  // namespace berth::legacy
