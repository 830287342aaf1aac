// SPDX-License-Identifier: Apache-2.0
/// What the CSINodes of a snapshot say, by slot: read when one changes or a slot gets another node, not for each pod.
#pragma once
#include "../../shared/storage/in_tree.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace berth::legacy {

struct CsiNode {
  std::uint32_t migrated = 0;                                  // in-tree types, as storage::bit_of
  std::vector<std::pair<std::uint32_t, std::int64_t>> limits;  // by number of the driver
};

/// Threads: refresh() and read() by one thread alone; the rest by any.
class CsiNodes {
 public:
  static constexpr std::uint32_t k_no_driver = ~std::uint32_t{0};

  explicit CsiNodes(Setup& setup)
      : intern_(setup.service<Intern>()),
        objects_(setup.service<Objects>()),
        watch_(objects_.watch(storage::k_csi_nodes, storage::k_csi_node_fields)) {}

  /// names: by slot.
  void refresh(const Cycle& cycle, const Id* names) {
    const std::uint64_t epoch = objects_.epoch(watch_);
    if (epoch != epoch_) nodes_.clear();
    epoch_ = epoch;
    const auto present = cycle.nodes();
    for (std::size_t w = 0; w < present.size(); ++w)
      each_bit(present[w], [&](std::uint32_t bit) {
        const auto slot = static_cast<Slot>(w * 64 + bit);
        read(slot, names[slot]);
      });
  }
  /// Reads that of one node, unless it is known.
  void read(Slot slot, Id name) {
    if (nodes_.size() <= slot) nodes_.resize(slot + 1);
    if (nodes_[slot].name == name) return;
    Known& known = nodes_[slot] = {name, {}};
    objects_.get(watch_, {}, intern_.text(name), [&](const berth_object_v1& object) {
      known.node.migrated = storage::migrated_plugins(object);
      const Json drivers = storage::json(object, storage::csi_node_field::drivers);
      for (const Json& driver : drivers.items()) {
        const Json& count = driver["allocatable"]["count"];
        if (count.is_number())
          known.node.limits.emplace_back(numbered(driver["name"].string_or("name", "")), count.integer("count"));
      }
    });
  }

  /// One that says nothing for a node that was not read.
  const CsiNode& at(Slot slot) const {
    static const CsiNode k_silent;
    return slot < nodes_.size() ? nodes_[slot].node : k_silent;
  }
  /// k_no_driver: no CSINode limits it.
  std::uint32_t number_of(const std::string& driver) const {
    const auto found = numbers_.find(driver);
    return found == numbers_.end() ? k_no_driver : found->second;
  }

 private:
  struct Known {
    Id name = 0;
    CsiNode node;
  };
  std::uint32_t numbered(const std::string& driver) {
    return numbers_.try_emplace(driver, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  Intern intern_;
  Objects objects_;
  std::uint32_t watch_;
  std::uint64_t epoch_ = 0;
  std::vector<Known> nodes_;                      // by slot
  std::map<std::string, std::uint32_t> numbers_;  // of drivers; they are few and never forgotten
};

}  // namespace berth::legacy
