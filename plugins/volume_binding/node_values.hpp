// SPDX-License-Identifier: Apache-2.0
/// Which nodes meet a selector, where most selectors name one label and a few of its values: then only the nodes with
/// those values are touched. Threads: [cycle].
#pragma once
#include "../storage/terms.hpp"

#include <berth/domains.hpp>

#include <unordered_map>

namespace volume_binding {

/// One label over the nodes of a snapshot, by value.
struct LabelIndex {
  berth::DomainCache::Table table;
  std::unordered_map<std::string, std::uint32_t> domain_of;  // by value; 0 is no domain
  std::vector<std::vector<berth::Slot>> slots;               // by domain
};

class NodeValues {
 public:
  NodeValues(berth::Labels labels, berth::Intern intern) : labels_(labels), intern_(intern), judge_(labels, intern) {}

  /// Good until the next call for a snapshot in which the label changed.
  const LabelIndex& index(const berth::Cycle& cycle, const std::string& key) {
    const berth::Id id = intern_(key);
    const berth::DomainCache::Table table = domains_.get(cycle, id, labels_.column(cycle, id));
    LabelIndex& index = indexes_[key];
    if (index.table == table) return index;
    if (indexes_.size() > k_indexes_max) {
      indexes_.clear();
      return this->index(cycle, key);
    }
    index = {};
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

  /// The label and values when a term asks for nothing else; nullptr for others.
  static const storage::Requirement* simple(const storage::Term& term) {
    return !term.invalid && term.all.size() == 1 && term.all.front().op == BERTH_OP_IN ? &term.all.front() : nullptr;
  }

  storage::NodeBits all(const berth::Cycle& cycle) const { return judge_.all(cycle); }
  void add_matching(const berth::Cycle& cycle, const storage::Term& term, storage::NodeBits& bits) {
    if (const storage::Requirement* one = simple(term)) {
      const LabelIndex& label = index(cycle, one->key);
      for (const std::string& value : one->values)
        if (const auto domain = label.domain_of.find(value); domain != label.domain_of.end())
          for (const berth::Slot slot : label.slots[domain->second]) bits[slot / 64] |= std::uint64_t{1} << (slot & 63);
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
  static constexpr std::size_t k_indexes_max = 32;

  berth::Labels labels_;
  berth::Intern intern_;
  storage::NodeJudge judge_;
  berth::DomainCache domains_;
  std::unordered_map<std::string, LabelIndex> indexes_;
};

}  // namespace volume_binding
