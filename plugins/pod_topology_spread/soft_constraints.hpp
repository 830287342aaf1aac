// SPDX-License-Identifier: Apache-2.0
/// Constraints with ScheduleAnyway: nodes in domains with fewer matching pods score higher.
///
/// A node's raw score is the sum over constraints of count * ln(domains + 2) + max_skew - 1, rounded half away from
/// zero: few domains weigh less than many. Normalisation turns it round, so that the smallest raw score becomes 100.
/// Nodes that lack a topology key of a constraint that the pod (or the profile's list of defaults) names are ignored
/// and score 0; with the built-in defaults a node without a zone belongs to the zone "".
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
#pragma once
#include <berth/domains.hpp>
#include <cmath>

#include "eligibility.hpp"
#include "natural_log.hpp"
#include "pod_counts.hpp"

namespace berth::pod_topology_spread {

struct SoftConstraint {
  Constraint rule;
  DomainCache::Table domains;
  std::uint32_t empty_domain = 0;  // the domain of nodes whose label is ""; it is one with "no label"
  bool per_node = false;           // hostname: counts and terms are by slot instead of by domain
  Bitmap counted;                  // by slot: nodes whose pods count; empty: all
  std::vector<std::int64_t> counts;
  std::vector<double> terms;  // what a node adds to its sum; 0 without the key

  void add(std::span<const berth_shape_node_v1> nodes) noexcept {
    const std::uint32_t* domain = domains->of.data();
    if (per_node) {
      for (const berth_shape_node_v1& node : nodes) counts[node.slot] += node.count;
    } else if (counted.empty()) {
      for (const berth_shape_node_v1& node : nodes) counts[domain[node.slot]] += node.count;
    } else {
      for (const berth_shape_node_v1& node : nodes)
        if (test(counted, node.slot)) counts[domain[node.slot]] += node.count;
    }
  }

  /// Requires: all pods were added.
  void close(double weight) {
    const auto extra = static_cast<double>(rule.max_skew - 1);
    if (!per_node && empty_domain != 0) counts[empty_domain] += counts[0];
    terms.resize(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) terms[i] = static_cast<double>(counts[i]) * weight + extra;
    if (!per_node) terms[0] = 0;
    for (std::size_t w = 0; per_node && w < domains->nodes.size(); ++w)
      each_bit(~domains->nodes[w], [&](std::uint32_t bit) { terms[w * 64 + bit] = 0; });
  }

  /// Adds the terms of the 64 rows of a word.
  void add_terms(const Block& block, std::uint32_t w, double* sum) const noexcept {
    if (!per_node) {
      std::uint32_t gathered[64];
      const std::uint32_t* domain = domains->rows(block, w, gathered);
      for (unsigned i = 0; i < 64; ++i) sum[i] += terms[domain[i]];
      return;
    }
    const std::size_t first = std::size_t{block.first_slot()} + std::size_t{64} * w;
    if (block.contiguous() && first + 64 <= terms.size()) {
      for (unsigned i = 0; i < 64; ++i) sum[i] += terms[first + i];
      return;
    }
    for (std::uint32_t i = 0; i < 64 && w * 64 + i < block.rows(); ++i) {
      const Slot slot = block.slot(w * 64 + i);
      if (slot < terms.size()) sum[i] += terms[slot];
    }
  }
};

class SoftState {
 public:
  std::vector<SoftConstraint> constraints;
  Bitmap ignored;  // by slot; empty when no node is

  bool is_ignored(Slot slot) const noexcept { return !ignored.empty() && test(ignored, slot); }

  /// Raw scores of the 64 rows of a word.
  void score_word(const Block& block, std::uint32_t w, std::int64_t* out) const noexcept {
    double sum[64] = {};
    for (const SoftConstraint& each : constraints) each.add_terms(block, w, sum);
    for (unsigned i = 0; i < 64; ++i) out[i] = round_half_away(sum[i]);
    if (ignored.empty()) return;
    for (std::uint32_t i = 0; i < 64 && w * 64 + i < block.rows(); ++i)
      if (is_ignored(block.slot(w * 64 + i))) out[i] = 0;
  }

  void normalize(std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    normalize(scores, [&](std::size_t i) { return is_ignored(nodes[i]); });
  }
  /// ignored(i): the node, or group of nodes, of scores[i] is left out, and gets 0.
  template <class Ignored>
  static void normalize(std::span<std::int64_t> scores, Ignored&& ignored) {
    std::int64_t lowest = INT64_MAX;
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (ignored(i)) {
        scores[i] = k_invalid;
        continue;
      }
      lowest = std::min(lowest, scores[i]);
      highest = std::max(highest, scores[i]);
    }
    const bool exact = lowest >= 0 && highest < (std::int64_t{1} << 44);  // quotients of doubles are those of integers
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
  static std::int64_t round_half_away(double x) noexcept {
    if (!(x >= 0 && x < 4503599627370496.0)) return static_cast<std::int64_t>(std::round(x));
    const auto whole = static_cast<std::int64_t>(x);
    return whole + (x - static_cast<double>(whole) >= 0.5 ? 1 : 0);
  }

 private:
  static constexpr std::int64_t k_invalid = -1;
};

namespace detail {

/// Domains that a node of `nodes` belongs to; nodes without the label share one, with those whose label is "".
inline std::size_t domains_among(const SoftConstraint& each, const Cycle& cycle, std::span<const Slot> nodes,
                                 const SoftState& state) {
  const std::vector<std::uint32_t>& domain = each.domains->of;
  std::vector<std::uint8_t> seen(each.domains->size(), 0);
  if (nodes.size() == cycle.node_count() && state.ignored.empty()) {
    std::fill(seen.begin(), seen.end(), std::uint8_t{1});
    seen[0] = std::equal(each.domains->nodes.begin(), each.domains->nodes.end(), cycle.nodes().begin()) ? 0 : 1;
  } else if (state.ignored.empty()) {
    for (const Slot slot : nodes) seen[domain[slot]] = 1;
  } else {
    for (const Slot slot : nodes)
      if (!state.is_ignored(slot)) seen[domain[slot]] = 1;
  }
  if (each.empty_domain != 0 && seen[0] != 0) seen[each.empty_domain] = 0;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), 1));
}

inline void ignore_nodes_without_keys(const Cycle& cycle, const Bitmap& with_all_keys, SoftState& state) {
  Bitmap ignored(cycle.nodes().begin(), cycle.nodes().end());
  std::uint64_t any = 0;
  for (std::size_t w = 0; w < ignored.size(); ++w) any |= ignored[w] &= ~with_all_keys[w];
  if (any != 0) state.ignored = std::move(ignored);
}

}  // namespace detail

/// nodes: the feasible ones. require_all: nodes without one of the keys are ignored. [cycle]
inline std::shared_ptr<const SoftState> count_soft(const Cycle& cycle, std::vector<Constraint> rules, bool require_all,
                                                   std::span<const Slot> nodes, Id hostname, const NodeFacts& facts,
                                                   const PodIndex& index, DomainCache& cache) {
  auto state = std::make_shared<SoftState>();
  const auto snapshot = cycle.nodes();
  Bitmap with_all_keys(snapshot.begin(), snapshot.end());
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
  if (require_all) detail::ignore_nodes_without_keys(cycle, with_all_keys, *state);

  Eligibility eligibility(facts, cycle);
  for (SoftConstraint& each : state->constraints) {
    each.counts.assign(each.per_node ? snapshot.size() * 64 : each.domains->size(), 0);
    if (each.per_node) continue;
    each.counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
    if (require_all) keep(each.counted, with_all_keys);
    if (std::equal(each.counted.begin(), each.counted.end(), snapshot.begin())) each.counted.clear();
  }
  count_matching(
      index, cycle, state->constraints,
      [](const SoftConstraint& each) -> const OwnedSelector& { return each.rule.selector; },
      [&](std::size_t c, std::span<const berth_shape_node_v1> where) { state->constraints[c].add(where); });
  std::size_t considered = nodes.size();
  if (!state->ignored.empty())
    considered -= static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](Slot slot) { return state->is_ignored(slot); }));
  for (SoftConstraint& each : state->constraints) {
    const std::size_t size = each.per_node ? considered : detail::domains_among(each, cycle, nodes, *state);
    each.close(natural_log(static_cast<double>(size + 2)));
  }
  return state;
}

}  // namespace berth::pod_topology_spread
