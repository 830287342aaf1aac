// SPDX-License-Identifier: Apache-2.0
/// Constraints with ScheduleAnyway: nodes in domains with fewer matching pods score higher.
///
/// A node's raw score is the sum over constraints of count * ln(domains + 2) + max_skew - 1, rounded half away from
/// zero: few domains weigh less than many. Normalisation turns it round, so that the smallest raw score becomes 100.
/// Nodes that lack a topology key of a constraint that the pod (or the profile's list of defaults) names are ignored
/// and score 0; with the built-in defaults a node without a zone belongs to the zone "". Source: kubernetes v1.36
/// pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
#pragma once
#include <berth/domains.hpp>

#include "eligibility.hpp"
#include "natural_log.hpp"
#include "pod_counts.hpp"

#include <cmath>

namespace berth::pod_topology_spread {

struct SoftConstraint {
  Constraint rule;
  DomainCache::Table domains;
  std::uint32_t empty_domain = 0;  // the domain of nodes whose label is ""; it is one with "no label"
  bool per_node = false;           // hostname: counts are by slot instead of by domain
  bool counts_all = false;         // every node of the snapshot counts
  Bitmap counted;                  // by slot
  std::vector<std::int64_t> counts;
  double weight = 0;

  std::uint32_t counter_of(Slot slot) const noexcept {
    const std::uint32_t domain = domains->at(slot);
    return domain == empty_domain ? 0 : domain;
  }
  double term(std::int64_t count) const noexcept {
    return static_cast<double>(count) * weight + static_cast<double>(rule.max_skew - 1);
  }
};

class SoftState {
 public:
  std::vector<SoftConstraint> constraints;
  Bitmap ignored;  // by slot; empty when no node is

  bool is_ignored(Slot slot) const noexcept { return !ignored.empty() && test(ignored, slot); }

  std::int64_t score(Slot slot) const noexcept {
    if (is_ignored(slot)) return 0;
    double sum = 0;
    for (const SoftConstraint& each : constraints) {
      if (each.domains->at(slot) == 0) continue;
      sum += each.term(each.counts[each.per_node ? slot : each.counter_of(slot)]);
    }
    return round_half_away(sum);
  }

  void normalize(std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    std::int64_t lowest = INT64_MAX;
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (is_ignored(nodes[i])) scores[i] = k_invalid;
      if (scores[i] == k_invalid) continue;
      lowest = std::min(lowest, scores[i]);
      highest = std::max(highest, scores[i]);
    }
    const bool exact = lowest >= 0 && highest < (std::int64_t{1} << 44);
    const double top = static_cast<double>(highest + (exact ? lowest : 0));
    for (std::int64_t& score : scores) {
      if (score == k_invalid) {
        score = 0;
      } else if (highest == 0) {
        score = BERTH_SCORE_MAX;
      } else if (exact) {
        score = static_cast<std::int64_t>(100.0 * (top - static_cast<double>(score)) / static_cast<double>(highest));
      } else {
        score = BERTH_SCORE_MAX * (highest + lowest - score) / highest;
      }
    }
  }

 private:
  static constexpr std::int64_t k_invalid = -1;

  static std::int64_t round_half_away(double x) noexcept {
    if (!(x >= 0 && x < 4503599627370496.0)) return static_cast<std::int64_t>(std::round(x));
    const auto whole = static_cast<std::int64_t>(x);
    return whole + (x - static_cast<double>(whole) >= 0.5 ? 1 : 0);
  }
};

namespace detail {

/// Domains that a node of `nodes` belongs to; the pseudo-domain of nodes without the label counts as one.
inline std::size_t domains_among(const SoftConstraint& each, std::span<const Slot> nodes, const SoftState& state) {
  std::vector<std::uint8_t> seen(each.domains->size(), 0);
  for (const Slot slot : nodes)
    if (!state.is_ignored(slot)) seen[each.counter_of(slot)] = 1;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), 1));
}

}  // namespace detail

/// nodes: the feasible ones. require_all: nodes without one of the keys are ignored. [cycle]
inline std::shared_ptr<const SoftState> count_soft(const Cycle& cycle, std::vector<Constraint> rules, bool require_all,
                                                   std::span<const Slot> nodes, Id hostname, const NodeFacts& facts,
                                                   const PodIndex& index, DomainCache& cache) {
  auto state = std::make_shared<SoftState>();
  Bitmap with_all_keys(cycle.nodes().begin(), cycle.nodes().end());
  for (Constraint& rule : rules) {
    SoftConstraint each;
    each.domains = cache.get(cycle, rule.topology_key, facts.labels.column(cycle, rule.topology_key));
    each.per_node = rule.topology_key == hostname;
    if (!each.per_node) {
      const auto& values = each.domains->values;
      const auto empty = std::find(values.begin() + 1, values.end(), BERTH_ID_EMPTY);
      if (empty != values.end()) each.empty_domain = static_cast<std::uint32_t>(empty - values.begin());
    }
    each.rule = std::move(rule);
    keep(with_all_keys, each.domains->nodes);
    state->constraints.push_back(std::move(each));
  }
  std::size_t considered = nodes.size();
  if (require_all) {
    state->ignored.assign(cycle.nodes().begin(), cycle.nodes().end());
    for (std::size_t w = 0; w < with_all_keys.size(); ++w) state->ignored[w] &= ~with_all_keys[w];
    const bool none =
        std::all_of(state->ignored.begin(), state->ignored.end(), [](std::uint64_t word) { return word == 0; });
    if (none) state->ignored.clear();
    considered -= static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](Slot slot) { return state->is_ignored(slot); }));
  }
  Eligibility eligibility(facts, cycle);
  for (SoftConstraint& each : state->constraints) {
    const std::size_t size = each.per_node ? considered : detail::domains_among(each, nodes, *state);
    each.weight = natural_log(static_cast<double>(size + 2));
    each.counts.assign(each.per_node ? cycle.nodes().size() * 64 : each.domains->size(), 0);
    if (each.per_node) continue;
    each.counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
    if (require_all) keep(each.counted, with_all_keys);
    each.counts_all = std::equal(each.counted.begin(), each.counted.end(), cycle.nodes().begin(), cycle.nodes().end());
  }
  count_matching(
      index, cycle, state->constraints,
      [](const SoftConstraint& each) -> const OwnedSelector& { return each.rule.selector; },
      [&](std::size_t c, Slot slot, std::uint32_t pods) {
        SoftConstraint& each = state->constraints[c];
        if (each.per_node) {
          each.counts[slot] += pods;
        } else if (each.counts_all || test(each.counted, slot)) {
          each.counts[each.counter_of(slot)] += pods;
        }
      });
  return state;
}

}  // namespace berth::pod_topology_spread
