// SPDX-License-Identifier: Apache-2.0
/// Affinity terms: which pods does a term mean?
///
/// A pod is meant when its namespace is listed or its namespace's labels satisfy the namespace selector, and its own
/// labels satisfy the selector. For terms of the pod at hand, namespaces that the selector finds are added to the list,
/// and then the selector is tried once more against no labels at all: one that an empty label set satisfies means every
/// namespace, even those it rejects. Upstream behaves so, and so do we. A list of terms in which one does not parse
/// counts as empty on placed pods, and rejects the pod at hand.
/// Source: kubernetes v1.36 staging/src/k8s.io/kube-scheduler/framework/types.go (AffinityTerm),
/// pkg/scheduler/framework/plugins/interpodaffinity.
#pragma once
#include <berth/select.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace berth::inter_pod_affinity {

using Term = berth_affinity_term_v1;
using Terms = std::span<const Term>;

inline Terms required(const berth_affinity_v1& a) noexcept { return span_of(a.required, a.required_count); }
inline Terms preferred(const berth_affinity_v1& a) noexcept { return span_of(a.preferred, a.preferred_count); }
inline Terms anti_required(const berth_affinity_v1& a) noexcept {
  return span_of(a.anti_required, a.anti_required_count);
}
inline Terms anti_preferred(const berth_affinity_v1& a) noexcept {
  return span_of(a.anti_preferred, a.anti_preferred_count);
}

/// The first selector of the list that does not parse, or null.
inline const Selector* first_invalid(Terms terms) noexcept {
  for (const Term& term : terms) {
    if (term.selector.kind == BERTH_SELECTOR_INVALID) return &term.selector;
    if (term.namespace_selector.kind == BERTH_SELECTOR_INVALID) return &term.namespace_selector;
  }
  return nullptr;
}
/// A placed pod's list: empty when one of its terms does not parse.
inline Terms usable(Terms terms) noexcept { return first_invalid(terms) == nullptr ? terms : Terms(); }

/// What is wrong with the terms of a pod, in upstream's words; empty when nothing is.
inline std::string parse_problems(const berth_affinity_v1& affinity) {
  std::string all;
  std::size_t count = 0;
  const auto check = [&](const char* list, Terms terms) {
    const Selector* invalid = first_invalid(terms);
    if (invalid == nullptr) return;
    all += (count++ == 0 ? "" : ", ") + std::string(list) + ": " + std::string(view(invalid->error));
  };
  check("requiredAffinityTerms", required(affinity));
  check("requiredAntiAffinityTerms", anti_required(affinity));
  check("preferredAffinityTerms", preferred(affinity));
  check("preferredAntiAffinityTerms", anti_preferred(affinity));
  return count > 1 ? "[" + all + "]" : all;
}

inline bool lists(const Term& term, Id ns) noexcept {
  const auto namespaces = span_of(term.namespaces, term.namespace_count);
  return std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
}
/// A term of some other pod, against a pod in a namespace with these labels.
inline bool means(const Term& term, Id ns, std::span<const Label> ns_labels, std::span<const Label> labels) noexcept {
  return (lists(term, ns) || matches(term.namespace_selector, ns_labels)) && matches(term.selector, labels);
}
/// As written, without looking namespaces up: what hints do.
inline bool means_as_written(const Term& term, Pod pod) noexcept { return means(term, pod.ns(), {}, pod.labels()); }
/// False for an empty list.
inline bool all_mean_as_written(Terms terms, Pod pod) noexcept {
  return !terms.empty() &&
         std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return means_as_written(t, pod); });
}

/// Where a term of the pod at hand looks.
struct Reach {
  bool everywhere = false;
  std::vector<Id> namespaces;

  bool includes(Id ns) const noexcept {
    return everywhere || std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
  }
};

/// `each_namespace(visit)` calls visit(namespace, its labels) for every namespace; asked only where a selector needs
/// it.
template <class EachNamespace>
Reach reach_of(const Term& term, EachNamespace&& each_namespace) {
  Reach reach;
  const Selector& selector = term.namespace_selector;
  reach.everywhere = matches(selector, {});
  const auto listed = span_of(term.namespaces, term.namespace_count);
  reach.namespaces.assign(listed.begin(), listed.end());
  if (reach.everywhere || selector.kind != BERTH_SELECTOR_MATCH) return reach;
  each_namespace([&](Id ns, std::span<const Label> labels) {
    if (matches(selector, labels)) reach.namespaces.push_back(ns);
  });
  return reach;
}

/// Terms of the pod at hand with their reach, parallel. The terms are the pod's: ask for them again in every call.
struct ReachList {
  std::vector<Reach> reach;

  bool any_means(Terms terms, std::size_t i, Id ns, std::span<const Label> labels) const noexcept {
    return reach[i].includes(ns) && matches(terms[i].selector, labels);
  }
  /// False for an empty list.
  bool all_mean(Terms terms, Id ns, std::span<const Label> labels) const noexcept {
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (!any_means(terms, i, ns, labels)) return false;
    return !terms.empty();
  }
};

}  // namespace berth::inter_pod_affinity
