// SPDX-License-Identifier: Apache-2.0
/// Constraints with DoNotSchedule: how many matching pods each domain holds, and which nodes would exceed the allowed
/// skew.
///
/// HardCounts is built once per pod and shared by all clones of the state. What-if pods are a short list of differences
/// beside it, with a copy of the critical paths, so a clone costs nothing that grows with the cluster.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go.
#pragma once
#include <berth/domains.hpp>

#include "count_moves.hpp"
#include "eligibility.hpp"
#include "pod_counts.hpp"

namespace berth::pod_topology_spread {

struct HardConstraint {
  Constraint rule;
  DomainCache::Table domains;
  Bitmap counted;                    // by slot: nodes whose pods count
  std::vector<std::int64_t> counts;  // by domain
  std::size_t domain_count = 0;      // domains with at least one counted node
  bool selects_pod = false;          // the pod itself will count
};

struct HardCounts {
  Id ns = 0;
  Bitmap with_all_keys;  // by slot
  std::vector<HardConstraint> constraints;
};

class HardState {
 public:
  explicit HardState(std::shared_ptr<const HardCounts> counts) : counts_(std::move(counts)) {
    for (const HardConstraint& each : counts_->constraints) {
      CriticalPaths& paths = moves_.add_table();
      for_each_domain(each, [&](std::uint32_t d) { paths.update(each.domains->values[d], each.counts[d]); });
    }
  }

  /// A pod is imagined on, or away from, a node. Unlike the first count, terminating pods and selectors that select
  /// everything count here.
  void move_pod(Pod other, Slot node, std::int64_t delta) {
    if (other.ns() != counts_->ns || !test(counts_->with_all_keys, node)) return;
    for (std::uint32_t c = 0; c < counts_->constraints.size(); ++c) {
      const HardConstraint& each = counts_->constraints[c];
      if (!test(each.counted, node) || !each.rule.selector.matches(other.labels())) continue;
      const std::uint32_t domain = each.domains->at(node);
      moves_.move(c, domain, each.domains->values[domain], each.counts[domain], delta);
    }
  }

  void filter(FilterBlock& block, Rejection no_label, Rejection skewed) const {
    for (std::uint32_t c = 0; c < counts_->constraints.size(); ++c) {
      const HardConstraint& each = counts_->constraints[c];
      const std::int64_t limit = most_allowed(c);
      for (std::uint32_t w = 0; w < block.words(); ++w) {
        if (!block.open(w).any()) continue;
        std::uint32_t gathered[64];
        const std::uint32_t* domain = each.domains->rows(block, w, gathered);
        block.reject(w, berth::detail::mask_of([&](unsigned i) { return domain[i] == 0; }), no_label);
        block.reject(w, moves_.above(c, each.counts.data(), domain, limit), skewed);
      }
    }
  }

 private:
  /// Visits the domains that have a counted node, each once.
  template <class Visit>
  static void for_each_domain(const HardConstraint& each, Visit&& visit) {
    const std::size_t size = each.domains->size();
    if (each.domain_count + 1 == size) {
      for (std::uint32_t d = 1; d < size; ++d) visit(d);
      return;
    }
    std::vector<bool> seen(size, false);
    for (std::size_t w = 0; w < each.counted.size(); ++w)
      each_bit(each.counted[w], [&](std::uint32_t bit) {
        const std::uint32_t d = each.domains->of[w * 64 + bit];
        if (!seen[d]) visit(d);
        seen[d] = true;
      });
  }

  /// Count that a domain may have before the pod joins it.
  std::int64_t most_allowed(std::uint32_t c) const noexcept {
    const HardConstraint& each = counts_->constraints[c];
    const bool enough = static_cast<std::int64_t>(each.domain_count) >= each.rule.min_domains;
    const std::int64_t lowest = enough ? moves_.lowest(c) : 0;
    return each.rule.max_skew + lowest - (each.selects_pod ? 1 : 0);
  }

  std::shared_ptr<const HardCounts> counts_;
  CountMoves moves_;  // tables: the constraints
};

namespace detail {

inline std::size_t count_domains(const HardConstraint& each) {
  if (each.counted == each.domains->nodes) return each.domains->size() - 1;
  std::vector<bool> seen(each.domains->size(), false);
  std::size_t count = 0;
  for (std::size_t w = 0; w < each.counted.size(); ++w)
    each_bit(each.counted[w], [&](std::uint32_t bit) {
      const std::uint32_t d = each.domains->of[w * 64 + bit];
      count += seen[d] ? 0 : 1;
      seen[d] = true;
    });
  return count;
}

}  // namespace detail

/// [cycle] Requires: at least one constraint.
inline std::shared_ptr<const HardCounts> count_hard(const Cycle& cycle, std::vector<Constraint> rules,
                                                    const NodeFacts& facts, const PodIndex& index, DomainCache& cache) {
  auto counts = std::make_shared<HardCounts>();
  counts->ns = cycle.pod().ns();
  counts->with_all_keys.assign(cycle.nodes().begin(), cycle.nodes().end());
  for (Constraint& rule : rules) {
    HardConstraint each;
    each.domains = cache.get(cycle, rule.topology_key, facts.labels.column(cycle, rule.topology_key));
    each.selects_pod = rule.selector.matches(cycle.pod().labels());
    each.rule = std::move(rule);
    keep(counts->with_all_keys, each.domains->nodes);
    counts->constraints.push_back(std::move(each));
  }
  Eligibility eligibility(facts, cycle);
  for (HardConstraint& each : counts->constraints) {
    each.counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
    keep(each.counted, counts->with_all_keys);
    each.counts.assign(each.domains->size(), 0);
    each.domain_count = detail::count_domains(each);
  }
  count_matching(
      index, cycle, counts->constraints,
      [](const HardConstraint& each) -> const OwnedSelector& { return each.rule.selector; },
      [&](std::size_t c, std::span<const berth_shape_node_v1> nodes) {
        HardConstraint& each = counts->constraints[c];
        const std::uint32_t* domain = each.domains->of.data();
        for (const berth_shape_node_v1& node : nodes)
          if (test(each.counted, node.slot)) each.counts[domain[node.slot]] += node.count;
      });
  return counts;
}

}  // namespace berth::pod_topology_spread
