// SPDX-License-Identifier: Apache-2.0
/// Constraints with ScheduleAnyway over groups of nodes: the same scores as soft_constraints.hpp, from counts that are kept per
/// class of pods.
///
/// Not for constraints with many domains other than hosts, of which groups would have to tell each apart, nor for nodes whose
/// label is "": those are scored node by node.
#pragma once
#include <berth/kept_counts.hpp>

#include "soft_constraints.hpp"

#include <memory>
#include <vector>

namespace berth::pod_topology_spread {

struct SoftSums {
  struct Each {
    Constraint rule;
    DomainCache::Table domains;
    bool per_node = false;  // hostname: a domain is a node, whatever its label says
    Bitmap counted;         // by slot: nodes whose pods count; empty: all
    DomainValues counts;
  };
  Id ns = 0;
  bool require_all = false;  // nodes without one of the keys are ignored
  std::vector<Each> constraints;

  void name_columns(const DomainColumnList& out) const {
    for (const Each& each : constraints) out.add(each.counts.column(!each.per_node));
  }

  /// The final scores, by group.
  void score(const DomainGroups& groups, std::span<std::int64_t> scores) const {
    const auto ignored = [&](std::size_t g) {
      bool left_out = false;
      for (std::uint32_t c = 0; require_all && c < constraints.size(); ++c)
        left_out = left_out || groups.domain(c, static_cast<std::uint32_t>(g)) == 0;
      return left_out;
    };
    std::vector<double> sums(groups.size(), 0.0);
    for (std::uint32_t c = 0; c < constraints.size(); ++c) {
      const Each& each = constraints[c];
      std::size_t size = 0;
      std::vector<bool> seen(each.per_node ? 0 : each.domains->size(), false);
      for (std::uint32_t g = 0; g < groups.size(); ++g) {
        if (ignored(g)) continue;
        if (each.per_node) {
          size += groups.nodes(g);
        } else {
          size += seen[groups.domain(c, g)] ? 0 : 1;
          seen[groups.domain(c, g)] = true;
        }
      }
      const double weight = natural_log(static_cast<double>(size + 2));
      const auto extra = static_cast<double>(each.rule.max_skew - 1);
      for (std::uint32_t g = 0; g < groups.size(); ++g)
        if (groups.domain(c, g) != 0) sums[g] += static_cast<double>(groups.value(c, g)) * weight + extra;
    }
    for (std::uint32_t g = 0; g < groups.size(); ++g) scores[g] = ignored(g) ? 0 : SoftState::round_half_away(sums[g]);
    SoftState::normalize(scores, ignored);
  }
};

/// The counts of one class of pods: made, and kept right while pods come and go. [cycle]
class SoftCounter {
 public:
  /// Null: nodes have to be scored one by one.
  std::shared_ptr<const SoftSums> up_to_date(const Cycle& cycle, std::vector<Constraint> rules, bool require_all,
                                             Id hostname, const NodeFacts& facts, const PodIndex& index,
                                             DomainCache& cache) {
    const std::uint64_t generation = facts.generation(cycle);
    if (generation == 0) return nullptr;
    const auto describe = [&](ShapeShares& shares, const berth_shape_v1& shape) {
      return describe_shape(
          sums_->ns, sums_->constraints,
          [](const SoftSums::Each& each) -> const OwnedSelector& { return each.rule.selector; }, shares, shape);
    };
    const auto apply = [this](const ShapeShares::Share& share, Slot slot, std::int64_t pods) {
      SoftSums::Each& each = sums_->constraints[share.sum];
      const std::uint32_t domain = each.counts.table()->at(slot);
      if (domain != 0 && (each.counted.empty() || test(each.counted, slot))) each.counts.add(domain, pods);
    };
    const bool in_place =
        sums_ && has_rules(rules, require_all) && (generation == generation_ || holds(cycle, facts, cache, generation));
    if (!in_place || !journal_.follow(index, cycle, describe, apply)) {
      if (!begin(cycle, std::move(rules), require_all, hostname, facts, cache, generation)) {
        sums_ = nullptr;
        return nullptr;
      }
      journal_.count(
          index, cycle, [&](auto&& visit) { index.each(cycle, BERTH_SHAPES_ALL, sums_->ns, visit); }, describe, apply);
      for (SoftSums::Each& each : sums_->constraints) each.counts.begin_log();
    }
    generation_ = generation;
    return sums_;
  }
  std::size_t bytes() const noexcept {
    if (!sums_) return 0;
    std::size_t bytes = sizeof(SoftSums) + journal_.bytes();
    for (const SoftSums::Each& each : sums_->constraints) {
      bytes += sizeof each + each.counted.capacity() * 8 + each.counts.bytes();
      if (each.per_node) bytes += each.counts.table()->of.capacity() * sizeof(std::uint32_t);
    }
    return bytes;
  }

 private:
  bool has_rules(const std::vector<Constraint>& rules, bool require_all) const {
    return require_all == sums_->require_all &&
           std::equal(rules.begin(), rules.end(), sums_->constraints.begin(), sums_->constraints.end(),
                      [](const Constraint& rule, const SoftSums::Each& each) { return rule == each.rule; });
  }
  static Bitmap counted_nodes(const SoftSums::Each& each, Eligibility& eligibility, const Bitmap& with_all_keys,
                              bool require_all) {
    Bitmap counted = eligibility.nodes(each.rule.honor_affinity, each.rule.honor_taints);
    if (require_all) keep(counted, with_all_keys);
    return counted;
  }
  /// Whether nodes are in the domains that they were in, and count where they did.
  bool holds(const Cycle& cycle, const NodeFacts& facts, DomainCache& cache, std::uint64_t generation) const {
    Bitmap with_all_keys(cycle.nodes().begin(), cycle.nodes().end());
    for (const SoftSums::Each& each : sums_->constraints) {
      if (cache.get(cycle, each.rule.topology_key, facts.labels.column(cycle, each.rule.topology_key), generation) !=
          each.domains)
        return false;
      keep(with_all_keys, each.domains->nodes);
    }
    Eligibility eligibility(facts, cycle);
    for (const SoftSums::Each& each : sums_->constraints)
      if (!each.per_node && counted_nodes(each, eligibility, with_all_keys, sums_->require_all) != each.counted)
        return false;
    return true;
  }
  bool begin(const Cycle& cycle, std::vector<Constraint> rules, bool require_all, Id hostname, const NodeFacts& facts,
             DomainCache& cache, std::uint64_t generation) {
    sums_ = std::make_shared<SoftSums>();
    sums_->ns = cycle.pod().ns();
    sums_->require_all = require_all;
    Bitmap with_all_keys(cycle.nodes().begin(), cycle.nodes().end());
    for (Constraint& rule : rules) {
      SoftSums::Each each;
      each.domains = cache.get(cycle, rule.topology_key, facts.labels.column(cycle, rule.topology_key), generation);
      each.per_node = rule.topology_key == hostname;
      const auto& values = each.domains->values;
      if (!each.per_node && (values.size() > DomainValues::k_few + 1 ||
                             std::find(values.begin() + 1, values.end(), BERTH_ID_EMPTY) != values.end()))
        return false;
      each.counts = DomainValues(each.per_node ? by_node(*each.domains) : each.domains);
      each.rule = std::move(rule);
      keep(with_all_keys, each.domains->nodes);
      sums_->constraints.push_back(std::move(each));
    }
    Eligibility eligibility(facts, cycle);
    for (SoftSums::Each& each : sums_->constraints)
      if (!each.per_node) each.counted = counted_nodes(each, eligibility, with_all_keys, require_all);
    return true;
  }
  /// A domain for each node that has the label.
  static DomainCache::Table by_node(const Domains& domains) {
    auto table = std::make_shared<Domains>();
    table->of.assign(domains.of.size(), 0);
    table->nodes = domains.nodes;
    table->values.assign(domains.of.size() + 1, 0);
    table->number = berth::detail::next_number();
    for (std::size_t slot = 0; slot < domains.of.size(); ++slot)
      if (domains.of[slot] != 0) table->of[slot] = static_cast<std::uint32_t>(slot) + 1;
    return table;
  }

  std::shared_ptr<SoftSums> sums_;  // states of attempts that are over hold it, and do not read it any more
  PodJournal journal_;
  std::uint64_t generation_ = 0;
};

}  // namespace berth::pod_topology_spread
