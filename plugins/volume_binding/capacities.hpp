// SPDX-License-Identifier: Apache-2.0
/// What drivers say about free storage, by class, most first. Follows the watch; an object is parsed once per version.
/// Threads: [cycle].
///
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go (hasEnoughCapacity).
#pragma once
#include "../shared/storage/objects.hpp"

#include <map>
#include <memory>
#include <unordered_map>

namespace volume_binding {

namespace capacity_field {
enum { class_name, capacity, maximum, topology, count };
}
inline constexpr std::array<berth_field_v1, capacity_field::count> k_capacity_fields = {
    storage::field("storageClassName", BERTH_FIELD_STR),
    storage::field("capacity", BERTH_FIELD_QUANTITY),
    storage::field("maximumVolumeSize", BERTH_FIELD_QUANTITY),
    storage::field("nodeTopology", BERTH_FIELD_JSON),
};

/// The size up to which a capacity promises volumes; absent: none.
inline std::optional<std::int64_t> capacity_limit(const berth_object_v1& object) {
  for (const std::size_t field : {capacity_field::maximum, capacity_field::capacity})
    if (storage::present(object, field)) return storage::number(object, field);
  return std::nullopt;
}

class Capacities {
 public:
  explicit Capacities(berth::Objects objects)
      : objects_(objects), watch_(objects.watch(storage::k_capacities, k_capacity_fields)) {}

  void refresh() {
    seen_ = objects_.changes(watch_, seen_, [&](auto ns, auto name, const berth_object_v1* now) {
      if (name.empty()) {
        by_class_.clear();
        by_name_.clear();
        return;
      }
      const std::string key = std::string(ns) + "/" + std::string(name);
      drop(key);
      if (now != nullptr) add(key, *now);
    });
  }
  /// Topologies in which volumes of the class can be made, from the largest limit down. visit(limit, term) answers
  /// whether to go on.
  template <class Visit>
  void each(const std::string& class_name, Visit&& visit) const {
    const auto list = by_class_.find(class_name);
    if (list == by_class_.end()) return;
    for (auto at = list->second.rbegin(); at != list->second.rend(); ++at)
      if (!visit(at->first.first, at->second)) return;
  }

 private:
  using LimitAndName = std::pair<std::int64_t, std::string>;
  struct Where {
    std::string class_name;
    std::int64_t limit;
  };

  /// Objects that promise nothing to any node are left out.
  void add(const std::string& key, const berth_object_v1& object) {
    const auto limit = capacity_limit(object);
    if (!limit || !storage::present(object, capacity_field::topology)) return;
    storage::Term topology = storage::parse_label_selector(storage::json(object, capacity_field::topology));
    if (topology.invalid) return;
    const Where& where = by_name_[key] = {std::string(storage::text(object, capacity_field::class_name)), *limit};
    by_class_[where.class_name].emplace(LimitAndName{*limit, key}, std::move(topology));
  }
  void drop(const std::string& key) {
    const auto at = by_name_.find(key);
    if (at == by_name_.end()) return;
    const auto list = by_class_.find(at->second.class_name);
    list->second.erase({at->second.limit, key});
    if (list->second.empty()) by_class_.erase(list);
    by_name_.erase(at);
  }

  berth::Objects objects_;
  std::uint32_t watch_;
  std::uint64_t seen_ = 0;
  std::unordered_map<std::string, Where> by_name_;  // by "ns/name"
  std::unordered_map<std::string, std::map<LimitAndName, storage::Term>> by_class_;
};

}  // namespace volume_binding
