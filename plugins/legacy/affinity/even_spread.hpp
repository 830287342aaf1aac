// SPDX-License-Identifier: Apache-2.0
/// Spread constraints as they first were: a topology key, a selector, a skew. What came later (fewest domains, label
/// keys to match, policies for affinity and taints) is not looked at; a node counts when the pod's node selection
/// admits it and it has the keys of all constraints. Constraints with the same key share their counts. Terminating pods
/// count. Source: kubernetes v1.16 pkg/scheduler/algorithm/{predicates/metadata.go,priorities/even_pods_spread.go}.
#pragma once
#include <berth/domains.hpp>
#include <berth/plugin.hpp>

#include "../../pod_topology_spread/constraints.hpp"
#include "../../pod_topology_spread/count_moves.hpp"
#include "../../pod_topology_spread/eligibility.hpp"

#include <memory>

namespace berth::legacy {

using pod_topology_spread::Bitmap;
using pod_topology_spread::CountMoves;
using pod_topology_spread::CriticalPaths;
using pod_topology_spread::Eligibility;
using pod_topology_spread::NodeFacts;
using pod_topology_spread::OwnedSelector;

struct EvenRule {
  std::uint32_t key = 0;  // of EvenCounts::keys
  std::int64_t max_skew = 1;
  OwnedSelector selector;
};

/// The counts of one topology key.
struct EvenKey {
  Id key = 0;
  DomainCache::Table domains;
  std::vector<std::int64_t> counts;  // by domain
  std::vector<bool> observed;        // by domain: some counted node is in it
};

struct EvenCounts {
  Id ns = 0;
  Bitmap with_all_keys;  // by slot
  std::vector<EvenKey> keys;
  std::vector<EvenRule> rules;
};

/// The pod's constraints for one action, nothing counted yet. Throws Failure for a selector that does not parse.
inline EvenCounts rules_of(const Cycle& cycle, std::uint32_t action, const NodeFacts& facts, DomainCache& cache) {
  EvenCounts out;
  out.ns = cycle.pod().ns();
  out.with_all_keys.assign(cycle.nodes().begin(), cycle.nodes().end());
  for (const berth_spread_v1& each : cycle.pod().spread()) {
    if (each.when_unsatisfiable != action) continue;
    if (each.selector.kind == BERTH_SELECTOR_INVALID) throw Failure(std::string(view(each.selector.error)));
    std::uint32_t key = 0;
    while (key < out.keys.size() && out.keys[key].key != each.topology_key) ++key;
    if (key == out.keys.size()) {
      EvenKey& fresh = out.keys.emplace_back();
      fresh.key = each.topology_key;
      fresh.domains = cache.get(cycle, each.topology_key, facts.labels.column(cycle, each.topology_key));
      fresh.counts.assign(fresh.domains->size(), 0);
      fresh.observed.assign(fresh.domains->size(), false);
      pod_topology_spread::keep(out.with_all_keys, fresh.domains->nodes);
    }
    out.rules.push_back({key, each.max_skew, OwnedSelector::copy_of(each.selector)});
  }
  return out;
}

/// Nodes whose pods count.
inline Bitmap counted_nodes(const Cycle& cycle, const EvenCounts& counts, const NodeFacts& facts) {
  Eligibility eligibility(facts, cycle);
  Bitmap counted = eligibility.nodes(true, false);
  pod_topology_spread::keep(counted, counts.with_all_keys);
  return counted;
}

inline void observe(EvenCounts& counts, Slot slot) {
  for (EvenKey& key : counts.keys) key.observed[key.domains->at(slot)] = true;
}

/// Adds the pods on counted nodes, of a namespace or (0) of all, per constraint that selects them.
inline void count_pods(const PodIndex& index, const Cycle& cycle, Id ns, const Bitmap& counted, EvenCounts& counts) {
  index.each(cycle, BERTH_SHAPES_ALL, ns, [&](const berth_shape_v1& shape) {
    const auto labels = span_of(shape.labels, shape.label_count);
    for (const EvenRule& rule : counts.rules) {
      if (!rule.selector.matches(labels)) continue;
      EvenKey& key = counts.keys[rule.key];
      for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count))
        if (pod_topology_spread::test(counted, node.slot)) key.counts[key.domains->at(node.slot)] += node.count;
    }
  });
}

/// Counts of the predicate, with pods that are imagined there or away.
class EvenState {
 public:
  explicit EvenState(std::shared_ptr<const EvenCounts> counts) : counts_(std::move(counts)) {
    for (const EvenKey& key : counts_->keys) {
      CriticalPaths& paths = moves_.add_table();
      for (std::uint32_t d = 1; d < key.counts.size(); ++d) {
        if (!key.observed[d]) continue;
        paths.update(key.domains->values[d], key.counts[d]);
        any_ = true;
      }
    }
  }

  /// Whether the node suits the pod's node selection is not asked again.
  void move_pod(Pod other, Slot node, std::int64_t delta) {
    if (other.ns() != counts_->ns || !pod_topology_spread::test(counts_->with_all_keys, node)) return;
    for (const EvenRule& rule : counts_->rules) {
      if (!rule.selector.matches(other.labels())) continue;
      const EvenKey& key = counts_->keys[rule.key];
      const std::uint32_t domain = key.domains->at(node);
      moves_.move(rule.key, domain, key.domains->values[domain], key.counts[domain], delta);
      any_ = true;
    }
  }

  void filter(Pod pod, FilterBlock& block, Rejection refusal) const {
    if (!any_) return;
    for (const EvenRule& rule : counts_->rules) {
      const EvenKey& key = counts_->keys[rule.key];
      const std::int64_t itself = rule.selector.matches(pod.labels()) ? 1 : 0;
      const std::int64_t most = rule.max_skew + moves_.lowest(rule.key) - itself;
      for (std::uint32_t w = 0; w < block.words(); ++w) {
        if (!block.open(w).any()) continue;
        std::uint32_t gathered[64];
        const std::uint32_t* domain = key.domains->rows(block, w, gathered);
        block.reject(w,
                     berth::detail::mask_of([&](unsigned i) { return domain[i] == 0; }) ||
                         moves_.above(rule.key, key.counts.data(), domain, most),
                     refusal);
      }
    }
  }

 private:
  std::shared_ptr<const EvenCounts> counts_;  // shared by all clones
  CountMoves moves_;                          // tables: the keys
  bool any_ = false;                          // something was counted, be it 0 pods
};

}  // namespace berth::legacy
