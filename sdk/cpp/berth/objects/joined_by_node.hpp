// SPDX-License-Identifier: Apache-2.0
/// Objects that say something about the node whose name they have (measurements, resource topologies), by slot.
///
///     struct Load { std::int64_t cpu_milli; };
///     berth::JoinedByNode<Load> loads_(setup, "example.com/v1/nodeloads", fields, [](const berth_object_v1& object) { … });
///     …
///     loads_.follow(cycle);                          // in pre_filter or pre_score
///     const Load* load = loads_.at(nodes.slot(row)); // in filter and score; null: no such object
///
/// An object may come before its node or after it, and a slot may pass from node to node. follow() costs what has changed: of
/// objects what their journal has, of nodes a comparison of their names. A policy that declares BERTH_DEP_OBJECTS |
/// BERTH_DEP_ANNOUNCED keeps reuse: its verdicts end with a change of the watch.
/// Units:   what Decode makes of them. Memory: the decoded objects, and the names of nodes.
/// Threads: follow() on [cycle] threads; at() there and on [worker] threads of the same attempt.
/// Errors:  the constructor throws Failure when the resource cannot be watched; follow() what Decode throws.
/// Source:  NodeColumns (ext/all_nodes.h) for names, DecodedObjects (ext/objects.h) for objects.
#pragma once
#include <berth/decoded_objects.hpp>
#include <berth/setup.hpp>

#include <span>

namespace berth {
inline namespace sdk {

/// T is what a policy makes of an object, immutable. Owns the objects, and pins the names of nodes while they are
/// there.
template <class T>
class JoinedByNode {
 public:
  /// Null: the object counts as not there. Called by follow(), once per version of an object.
  using Decode = typename DecodedObjects<T>::Decode;
  /// Shared: an object lives while by_slot_ or the objects have it.
  using Pointer = typename DecodedObjects<T>::Pointer;

  /// In the policy's constructor. `resource` has no namespaces: objects within one are left out. `watches` of the
  /// policy lists it.
  JoinedByNode(Setup& setup, std::string_view resource, std::span<const berth_field_v1> fields, Decode decode)
      : JoinedByNode(setup, setup.service<Objects>(), resource, fields, std::move(decode)) {}
  /// Gives the names back to the host.
  ~JoinedByNode() {
    for (const Id name : names_) intern_.unpin(name);
  }
  // It has pins at the host, which are given back once.
  JoinedByNode(const JoinedByNode&) = delete;
  JoinedByNode& operator=(const JoinedByNode&) = delete;

  /// Brings at() up to date. Whether anything has changed there. Nothing is allocated when nothing has.
  bool follow(const Cycle& cycle) {
    bool has_changes = false;
    objects_.refresh([&](const auto& key, const Pointer&, const Pointer& now) {
      if (!key.first.empty()) return;
      const auto at = slots_.find(key.second);
      if (at == slots_.end()) return;
      by_slot_[at->second] = now;
      has_changes = true;
    });
    const std::uint64_t facts = nodes_.facts(cycle);
    if (facts != 0 && facts == facts_) return has_changes;
    facts_ = facts;
    return follow_nodes(cycle) || has_changes;
  }
  /// Null: no object has that node's name. Good until the next follow().
  const T* at(Slot slot) const noexcept { return slot < by_slot_.size() ? by_slot_[slot].get() : nullptr; }
  /// Objects, with a node or without, as of the last follow(); those within namespaces count as well.
  std::size_t size() const noexcept { return objects_.size(); }

 private:
  // Columns are asked for before the watch.
  JoinedByNode(Setup& setup, Objects objects, std::string_view resource, std::span<const berth_field_v1> fields,
               Decode decode)
      : name_(setup.name()),
        intern_(setup.service<Intern>()),
        nodes_(setup.service<NodeColumns>()),
        objects_(objects, objects.watch(resource, fields), std::move(decode)) {}

  /// Compares names by slot with those of last time. Whether any node came, went or moved.
  bool follow_nodes(const Cycle& cycle) {
    const std::uint32_t slots = cycle.raw()->slot_count;
    const Id* const names = nodes_.column(cycle, name_);
    if (names_.size() < slots) {
      names_.resize(slots, 0);
      by_slot_.resize(slots);
    }
    moved_.clear();
    for (Slot slot = 0; slot < names_.size(); ++slot)
      if (name_now(cycle, names, slot) != names_[slot]) moved_.push_back(slot);
    // All leave before some come: a name may move from slot to slot.
    for (const Slot slot : moved_) {
      by_slot_[slot].reset();
      if (names_[slot] == 0) continue;
      slots_.erase(std::string(intern_.text(names_[slot])));
      intern_.unpin(std::exchange(names_[slot], 0));
    }
    for (const Slot slot : moved_) {
      const Id name = name_now(cycle, names, slot);
      if (name == 0) continue;
      intern_.pin(name);  // its number is not to be another's meanwhile
      names_[slot] = name;
      const std::string text(intern_.text(name));
      slots_[text] = slot;
      by_slot_[slot] = objects_.find({}, text);
    }
    return !moved_.empty();
  }
  /// 0: the slot has no node in this snapshot.
  static Id name_now(const Cycle& cycle, const Id* names, Slot slot) noexcept {
    const berth_cycle_v1& raw = *cycle.raw();
    return slot < raw.slot_count && (raw.nodes[slot / 64] >> (slot % 64) & 1u) != 0 ? names[slot] : 0;
  }

  // The order is that of construction: the column and the services first, then the watch.
  const IdColumn name_;
  const Intern intern_;
  const NodeColumns nodes_;
  DecodedObjects<T> objects_;
  std::uint64_t facts_ = 0;
  std::vector<Id> names_;                           ///< by slot, pinned; 0: none
  std::vector<Pointer> by_slot_;                    ///< what at() answers
  std::map<std::string, Slot, std::less<>> slots_;  ///< by name, the other way round
  std::vector<Slot> moved_;                         ///< of follow_nodes(), kept for its memory
};

}  // namespace sdk
}  // namespace berth
