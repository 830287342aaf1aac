// SPDX-License-Identifier: Apache-2.0
/// Nodes as the allocator wants to see them, kept by slot between cycles: made again when a node or the slices change.
/// Threads: prepare() [cycle]; of() [worker], each slot by one thread at a time.
#pragma once
#include <deque>

#include "device_cluster.hpp"

namespace devices {

class NodeFacts {
 public:
  struct Entry {
    dra::Node node;
    std::unique_ptr<dra::NodeLabels> labels;
    std::shared_ptr<const dra::NodePools> pools;  ///< of `inventory`

   private:
    friend class NodeFacts;
    berth::Id name = 0, label_set = 0;
    std::shared_ptr<const dra::Inventory> inventory;
  };

  NodeFacts(berth::Intern intern, berth::Sets sets) : intern_(intern), sets_(sets) {}

  void prepare(std::uint32_t slot_count) {
    // Ids may stand for something else now.
    if (const std::uint64_t recycled = sets_.recycled(); recycled != recycled_) {
      entries_.clear();
      recycled_ = recycled;
    }
    if (entries_.size() < slot_count) entries_.resize(slot_count);
  }

  /// `inventory` may be null: pools are not asked for then.
  const Entry& of(berth::Slot slot, berth::Id name, berth::Id label_set,
                  const std::shared_ptr<const dra::Inventory>& inventory) {
    Entry& entry = entries_[slot];
    if (entry.labels == nullptr || entry.name != name || entry.label_set != label_set ||
        entry.node.name != intern_.text(name))
      read(entry, name, label_set);
    if (inventory != nullptr && entry.inventory != inventory) {
      entry.pools = inventory->gather(entry.node);
      entry.inventory = inventory;
    }
    return entry;
  }

 private:
  void read(Entry& entry, berth::Id name, berth::Id label_set) {
    entry = Entry();
    entry.name = name;
    entry.label_set = label_set;
    entry.node.name = intern_.text(name);
    for (const berth::Label& label : sets_.labels(label_set))
      entry.node.labels.push_back({std::string(intern_.text(label.key)), std::string(intern_.text(label.value))});
    entry.labels = std::make_unique<dra::NodeLabels>(entry.node);
  }

  berth::Intern intern_;
  berth::Sets sets_;
  std::uint64_t recycled_ = 0;
  std::deque<Entry> entries_;  // which stay where they are when more come: `labels` refers to `node`
};

}  // namespace devices
