// SPDX-License-Identifier: Apache-2.0
/// Constraints with DoNotSchedule: how many matching pods each domain holds, and which nodes would exceed the allowed
/// skew.
///
/// HardCounts is kept per class of pods and shared by all clones of the state. What-if pods are a short list of differences
/// from it, with critical paths that the first of them makes, so a clone costs nothing that grows with the cluster.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go.
#pragma once
#include <berth/domains.hpp>
#include <berth/kept_counts.hpp>

#include "../shared/guarded.hpp"
#include "count_moves.hpp"
#include "eligibility.hpp"
#include "pod_counts.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace berth::pod_topology_spread {

struct HardConstraint {
  Constraint rule;
  DomainCache::Table domains;
  Bitmap counted;                 // by slot: nodes whose pods count
  DomainValues counts;            // by domain
  std::vector<bool> has_counted;  // by domain: it has at least one counted node
  std::size_t domain_count = 0;   // such domains
  std::int64_t lowest = 0;        // of their counts; CriticalPaths::k_none when there are none
  std::size_t at_lowest = 0;      // so many have it; 0: to be looked up
  bool selects_pod = false;       // the pod itself will count

  void add(Slot slot, std::int64_t pods) {
    if (!test(counted, slot)) return;
    const std::uint32_t domain = domains->of[slot];
    const std::int64_t before = counts[domain];
    counts.add(domain, pods);
    if (at_lowest == 0) return;
    if (before == lowest && pods > 0) --at_lowest;
    if (before != lowest && counts[domain] == lowest) ++at_lowest;
    if (counts[domain] < lowest) at_lowest = 0;
  }
  /// Visits the domains that have a counted node, each once, in the order in which their nodes come.
  template <class Visit>
  void for_each_domain(Visit&& visit) const {
    const std::size_t size = domains->size();
    if (domain_count + 1 == size) {
      for (std::uint32_t d = 1; d < size; ++d) visit(d);
      return;
    }
    std::vector<bool> seen(size, false);
    for (std::size_t w = 0; w < counted.size(); ++w)
      each_bit(counted[w], [&](std::uint32_t bit) {
        const std::uint32_t d = domains->of[w * 64 + bit];
        if (!seen[d]) visit(d);
        seen[d] = true;
      });
  }
  void find_lowest() noexcept {
    if (at_lowest != 0) return;
    lowest = CriticalPaths::k_none;
    for (std::size_t d = 1; d < has_counted.size(); ++d) {
      if (!has_counted[d] || counts[d] > lowest) continue;
      at_lowest = counts[d] == lowest ? at_lowest + 1 : 1;
      lowest = counts[d];
    }
  }
};

struct HardCounts {
  Id ns = 0;
  Bitmap with_all_keys;  // by slot
  std::vector<HardConstraint> constraints;

  /// Critical paths of the constraints, made for the first pod that is imagined. [cycle] [worker]
  std::vector<CriticalPaths> critical_paths() const {
    const guarded::Lock lock(paths_mutex_);
    if (paths_.empty())
      for (const HardConstraint& each : constraints) {
        CriticalPaths& paths = paths_.emplace_back();
        each.for_each_domain([&](std::uint32_t d) { paths.update(each.domains->values[d], each.counts[d]); });
      }
    return paths_;
  }
  /// Counts have changed. [cycle]
  void forget_critical_paths() {
    const guarded::Lock lock(paths_mutex_);
    paths_.clear();
  }

 private:
  mutable guarded::Mutex paths_mutex_;
  mutable std::vector<CriticalPaths> paths_ GUARDED_BY(paths_mutex_);
};

class HardState {
 public:
  explicit HardState(std::shared_ptr<const HardCounts> counts) : counts_(std::move(counts)) {}

  /// A pod is imagined on, or away from, a node. Unlike the first count, terminating pods and selectors that select
  /// everything count here. False: no constraint is about it, so no such pod counts on any node.
  bool move_pod(Pod other, Slot node, std::int64_t delta) {
    if (other.ns() != counts_->ns) return false;
    bool counts = false;
    for (std::uint32_t c = 0; c < counts_->constraints.size(); ++c) {
      const HardConstraint& each = counts_->constraints[c];
      if (!each.rule.selector.matches(other.labels())) continue;
      counts = true;
      if (!test(counts_->with_all_keys, node) || !test(each.counted, node)) continue;
      if (!moved_) begin_moves();
      const std::uint32_t domain = each.domains->at(node);
      moves_.move(c, domain, each.domains->values[domain], each.counts[domain], delta);
    }
    return counts;
  }

  void filter(FilterBlock& block, Rejection no_label, Rejection skewed) const {
    if (block.rows() == 1) return filter_one(block, no_label, skewed);
    for (std::uint32_t c = 0; c < counts_->constraints.size(); ++c) {
      const HardConstraint& each = counts_->constraints[c];
      const std::int64_t limit = most_allowed(c);
      for (std::uint32_t w = 0; w < block.words(); ++w) {
        if (!block.open(w).any()) continue;
        std::uint32_t gathered[64];
        const std::uint32_t* domain = each.domains->rows(block, w, gathered);
        block.reject(w, berth::detail::mask_of([&](unsigned i) { return domain[i] == 0; }), no_label);
        block.reject(w, moves_.above(c, each.counts.values().data(), domain, limit), skewed);
      }
    }
  }

  void name_columns(const DomainColumnList& out) const {
    for (const HardConstraint& each : counts_->constraints) out.add(each.counts);
  }
  /// As filter(), for groups of nodes. Requires: no pod was imagined.
  void filter_groups(FilterGroups& groups) const {
    for (std::uint32_t c = 0; c < counts_->constraints.size(); ++c) {
      const std::int64_t limit = most_allowed(c);
      for (std::uint32_t g = 0; g < groups.size(); ++g)
        if (groups.domain(c, g) == 0 || groups.value(c, g) > limit) groups.reject(g);
    }
  }

 private:
  /// A node with pods that are imagined is a block of its own: it would pay for the 64 rows of a word.
  void filter_one(FilterBlock& block, Rejection no_label, Rejection skewed) const {
    for (std::uint32_t c = 0; c < counts_->constraints.size() && block.open(0).any(); ++c) {
      const HardConstraint& each = counts_->constraints[c];
      const std::uint32_t domain = each.domains->at(block.slot(0));
      if (domain == 0)
        block.reject_row(0, no_label);
      else if (moves_.is_above(c, each.counts.values().data(), domain, most_allowed(c)))
        block.reject_row(0, skewed);
    }
  }
  void begin_moves() {
    moved_ = true;
    for (const CriticalPaths& paths : counts_->critical_paths()) moves_.add_table() = paths;
  }
  /// Count that a domain may have before the pod joins it.
  std::int64_t most_allowed(std::uint32_t c) const noexcept {
    const HardConstraint& each = counts_->constraints[c];
    const bool enough = static_cast<std::int64_t>(each.domain_count) >= each.rule.min_domains;
    const std::int64_t lowest = !enough ? 0 : moved_ ? moves_.lowest(c) : each.lowest;
    return each.rule.max_skew + lowest - (each.selects_pod ? 1 : 0);
  }

  std::shared_ptr<const HardCounts> counts_;
  CountMoves moves_;  // tables: the constraints, once a pod was imagined
  bool moved_ = false;
};

/// The counts of one class of pods: made, and kept right while pods come and go. [cycle]
class HardCounter {
 public:
  /// Requires: at least one constraint.
  std::shared_ptr<const HardCounts> up_to_date(const Cycle& cycle, std::vector<Constraint> rules,
                                               const NodeFacts& facts, const PodIndex& index, DomainCache& cache) {
    const std::uint64_t generation = facts.generation(cycle);
    const auto describe = [&](ShapeShares& shares, const berth_shape_v1& shape) {
      return describe_shape(
          counts_->ns, counts_->constraints,
          [](const HardConstraint& each) -> const OwnedSelector& { return each.rule.selector; }, shares, shape);
    };
    const auto apply = [this](const ShapeShares::Share& share, Slot slot, std::int64_t pods) {
      counts_->constraints[share.sum].add(slot, pods);
    };
    const bool in_place = counts_ && generation != 0 && has_rules(rules) &&
                          (generation == generation_ || holds(cycle, facts, cache, generation));
    if (!in_place || !journal_.follow(index, cycle, describe, apply)) {
      begin(cycle, std::move(rules), facts, cache, generation);
      journal_.count(
          index, cycle, [&](auto&& visit) { index.each(cycle, BERTH_SHAPES_ALL, counts_->ns, visit); }, describe,
          apply);
      for (HardConstraint& each : counts_->constraints) each.counts.begin_log();
    }
    for (HardConstraint& each : counts_->constraints) each.find_lowest();
    counts_->forget_critical_paths();
    generation_ = generation;
    return counts_;
  }
  std::size_t bytes() const noexcept {
    if (!counts_) return 0;
    std::size_t bytes = sizeof(HardCounts) + journal_.bytes();
    for (const HardConstraint& each : counts_->constraints)
      bytes += sizeof each + each.counted.capacity() * 8 + each.counts.bytes() + each.has_counted.capacity() / 8;
    return bytes;
  }

 private:
  bool has_rules(const std::vector<Constraint>& rules) const {
    return std::equal(rules.begin(), rules.end(), counts_->constraints.begin(), counts_->constraints.end(),
                      [](const Constraint& rule, const HardConstraint& each) { return rule == each.rule; });
  }
  /// Whether nodes are in the domains that they were in, and count where they did.
  bool holds(const Cycle& cycle, const NodeFacts& facts, DomainCache& cache, std::uint64_t generation) const {
    Bitmap with_all_keys(cycle.nodes().begin(), cycle.nodes().end());
    for (const HardConstraint& each : counts_->constraints) {
      if (cache.get(cycle, each.rule.topology_key, facts.labels.column(cycle, each.rule.topology_key), generation) !=
          each.domains)
        return false;
      keep(with_all_keys, each.domains->nodes);
    }
    Eligibility eligibility(facts, cycle);
    for (const HardConstraint& each : counts_->constraints) {
      Bitmap counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
      keep(counted, with_all_keys);
      if (counted != each.counted) return false;
    }
    return with_all_keys == counts_->with_all_keys;
  }

  void begin(const Cycle& cycle, std::vector<Constraint> rules, const NodeFacts& facts, DomainCache& cache,
             std::uint64_t generation) {
    counts_ = std::make_shared<HardCounts>();
    HardCounts& counts = *counts_;
    counts.ns = cycle.pod().ns();
    counts.with_all_keys.assign(cycle.nodes().begin(), cycle.nodes().end());
    for (Constraint& rule : rules) {
      HardConstraint each;
      each.domains = cache.get(cycle, rule.topology_key, facts.labels.column(cycle, rule.topology_key), generation);
      each.selects_pod = rule.selector.matches(cycle.pod().labels());
      each.rule = std::move(rule);
      keep(counts.with_all_keys, each.domains->nodes);
      counts.constraints.push_back(std::move(each));
    }
    Eligibility eligibility(facts, cycle);
    for (HardConstraint& each : counts.constraints) {
      each.counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
      keep(each.counted, counts.with_all_keys);
      each.counts = DomainValues(each.domains);
      each.has_counted.assign(each.domains->size(), false);
      for (std::size_t w = 0; w < each.counted.size(); ++w)
        each_bit(each.counted[w], [&](std::uint32_t bit) { each.has_counted[each.domains->of[w * 64 + bit]] = true; });
      each.domain_count = static_cast<std::size_t>(std::count(each.has_counted.begin(), each.has_counted.end(), true));
    }
  }

  std::shared_ptr<HardCounts> counts_;  // states of attempts that are over hold it, and do not read it any more
  PodJournal journal_;
  std::uint64_t generation_ = 0;
};

}  // namespace berth::pod_topology_spread
