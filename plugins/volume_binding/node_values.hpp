// SPDX-License-Identifier: Apache-2.0
/// Which nodes meet a selector, where most selectors name a label and a few of its values: then only the nodes with
/// those values are touched, and held against what else the selector asks for. Threads: [cycle].
#pragma once
#include "../shared/storage/terms.hpp"

#include <berth/domains.hpp>

#include <unordered_map>

namespace volume_binding {

/// One label over the nodes of a snapshot, by value.
struct LabelIndex {
  berth::DomainCache::Table table;
  std::unordered_map<std::string, std::uint32_t> domain_of;  // by value; 0 is no domain
  std::vector<std::vector<berth::Slot>> slots;               // by domain
  std::uint64_t seen_in = 0;                                 // the last cycle in which it was asked for
};

class NodeValues {
 public:
  NodeValues(berth::Labels labels, berth::Intern intern) : labels_(labels), intern_(intern), judge_(labels, intern) {}

  /// Requires: called before anything else in each cycle.
  void start_cycle() { ++cycle_; }

  /// Good until the next call. Compared with the nodes once in a cycle.
  const LabelIndex& index(const berth::Cycle& cycle, const std::string& key) {
    if (const auto known = indexes_.find(key); known != indexes_.end() && known->second.seen_in == cycle_)
      return known->second;
    const berth::Id id = intern_.for_cycle(key);
    const berth::DomainCache::Table table = domains_.get(cycle, id, labels_.column(cycle, id));
    if (indexes_.size() >= k_indexes_max && !indexes_.contains(key)) indexes_.clear();
    LabelIndex& index = indexes_[key];
    index.seen_in = cycle_;
    if (index.table == table) return index;
    index = {};
    index.seen_in = cycle_;
    index.slots.resize(table->size());
    for (std::uint32_t domain = 1; domain < table->size(); ++domain)
      index.domain_of.emplace(intern_.text(table->values[domain]), domain);
    for (std::size_t w = 0; w < table->nodes.size(); ++w)
      berth::each_bit(table->nodes[w], [&](std::uint32_t bit) {
        const auto slot = static_cast<berth::Slot>(w * 64 + bit);
        index.slots[table->of[slot]].push_back(slot);
      });
    index.table = table;
    return index;
  }

  storage::NodeBits all(const berth::Cycle& cycle) const { return judge_.all(cycle); }
  void add_matching(const berth::Cycle& cycle, const storage::Term& term, storage::NodeBits& bits) {
    if (term.invalid) return;
    if (const storage::Requirement* lead = lead_of(cycle, term)) {
      std::vector<const berth::Id*> columns;
      if (term.all.size() > 1)
        for (const storage::Requirement& r : term.all)
          columns.push_back(labels_.column(cycle, intern_.for_cycle(r.key)));
      const LabelIndex& label = index(cycle, lead->key);
      for (const std::string& value : lead->values)
        if (const auto domain = label.domain_of.find(value); domain != label.domain_of.end())
          for (const berth::Slot slot : label.slots[domain->second])
            if (meets_others(term, lead, columns, slot)) bits[slot / 64] |= std::uint64_t{1} << (slot & 63);
      return;
    }
    const storage::NodeBits more = judge_.matching(cycle, term);
    for (std::size_t w = 0; w < bits.size(); ++w) bits[w] |= more[w];
  }
  storage::NodeBits matching(const berth::Cycle& cycle, const storage::Terms& terms) {
    if (!terms) return all(cycle);
    storage::NodeBits bits(cycle.nodes().size(), 0);
    for (const storage::Term& term : *terms) add_matching(cycle, term, bits);
    return bits;
  }

 private:
  /// The requirement that leaves the fewest nodes; nullptr: none names values of a label that is indexed.
  const storage::Requirement* lead_of(const berth::Cycle& cycle, const storage::Term& term) {
    const storage::Requirement* best = nullptr;
    std::size_t best_nodes = 0;
    for (const storage::Requirement& r : term.all) {
      if (r.op != BERTH_OP_IN || !may_index(r.key)) continue;
      const LabelIndex& label = index(cycle, r.key);
      std::size_t nodes = 0;
      for (const std::string& value : r.values)
        if (const auto domain = label.domain_of.find(value); domain != label.domain_of.end())
          nodes += label.slots[domain->second].size();
      if (best != nullptr && best_nodes <= nodes) continue;
      best = &r;
      best_nodes = nodes;
    }
    return best;
  }
  /// Labels beyond those that are kept are compared node by node: to number their values takes longer.
  bool may_index(const std::string& key) {
    if (cycle_ != indexed_in_) {
      indexed_in_ = cycle_;
      indexed_ = 0;
    }
    const auto known = indexes_.find(key);
    if (known != indexes_.end() && known->second.seen_in == cycle_) return true;
    return indexed_ < k_indexes_max && ++indexed_ > 0;
  }
  bool meets_others(const storage::Term& term, const storage::Requirement* lead,
                    const std::vector<const berth::Id*>& columns, berth::Slot slot) const {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (&term.all[i] == lead) continue;
      const berth::Id value = columns[i][slot];
      if (!storage::matches(term.all[i], [&](const std::string&) -> std::optional<std::string_view> {
            return value == 0 ? std::nullopt : std::optional(intern_.text(value));
          }))
        return false;
    }
    return true;
  }

  static constexpr std::size_t k_indexes_max = 32;

  berth::Labels labels_;
  berth::Intern intern_;
  storage::NodeJudge judge_;
  berth::DomainCache domains_;
  std::unordered_map<std::string, LabelIndex> indexes_;
  std::uint64_t cycle_ = 0, indexed_in_ = 0;
  std::size_t indexed_ = 0;  // in the cycle `indexed_in_`
};

}  // namespace volume_binding
