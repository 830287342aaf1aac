// SPDX-License-Identifier: Apache-2.0
/// Affinity terms as they were then: a term lists namespaces, or means that of its own pod; selectors over namespaces
/// did not exist and are not looked at. A term that does not parse is an error, whosever it is. Source: kubernetes
/// v1.16 pkg/scheduler/algorithm/predicates/metadata.go, priorities/util/topologies.go.
#pragma once
#include "../../inter_pod_affinity/movable_sums.hpp"

namespace berth::legacy {

using inter_pod_affinity::MovableSums;
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

}  // namespace berth::legacy
