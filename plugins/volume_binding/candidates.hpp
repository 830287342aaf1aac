// SPDX-License-Identifier: Apache-2.0
/// The unclaimed volumes that would do for one claim, arranged so that a node finds its smallest one at once.
///
/// Source: kubernetes v1.36 component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume). Of equally large
/// volumes the first by name is taken; upstream takes the first of a hash map.
#pragma once
#include "catalog.hpp"
#include "node_values.hpp"

#include <algorithm>

namespace volume_binding {

class Candidates {
 public:
  /// `claims`: how many claims of the pod choose among the same volumes.
  void collect(const berth::Cycle& cycle, const storage::Claim& claim, const Catalog& catalog, NodeValues& values,
               std::size_t claims) {
    catalog.each_claimed(claim.key(), [&](const VolumePtr& volume) {
      if (reserved_ == nullptr && volume->class_name == claim.class_name && volume->is_for(claim) &&
          suits(*volume, claim)) {
        reserved_ = volume;
        reserved_bits_ = values.matching(cycle, volume->affinity);
      }
    });
    std::size_t unrestricted = 0;
    catalog.each_free(claim.class_name, [&](const VolumePtr& volume) {
      if (!suits(*volume, claim) || !available(*volume, claim)) return true;
      add(cycle, volume, values);
      // Those behind are larger, and every node has enough of these.
      return volume->affinity.has_value() || ++unrestricted < claims;
    });
  }

  /// No node finds one.
  bool empty() const noexcept { return reserved_ == nullptr && all_.empty(); }

  /// nullptr: none. `taken` holds what earlier claims of the pod chose.
  const VolumePtr* pick(berth::Slot slot, const std::vector<const storage::Volume*>& taken) const {
    const auto is_taken = [&](const storage::Volume* volume) {
      return std::find(taken.begin(), taken.end(), volume) != taken.end();
    };
    // A volume that names the claim is the only one, even where it does not fit.
    if (reserved_ != nullptr && !is_taken(reserved_.get()))
      return storage::test(reserved_bits_, slot) ? &reserved_ : nullptr;
    std::uint32_t best = k_none;
    for (const General& general : general_) {
      if (general.index >= best) break;
      if (storage::test(affinities_[general.affinity].second, slot) && !is_taken(all_[general.index].get()))
        best = general.index;
    }
    for (const ByLabel& label : by_label_)
      for (const std::uint32_t index : label.of_domain[label.table->at(slot)]) {
        if (index >= best) break;
        if (is_taken(all_[index].get())) continue;
        best = index;
        break;
      }
    return best == k_none ? nullptr : &all_[best];
  }

 private:
  static constexpr std::uint32_t k_none = 0xffffffff;
  struct General {
    std::uint32_t index, affinity;
  };
  /// Volumes that are bound to the values of one label.
  struct ByLabel {
    std::string key;
    berth::DomainCache::Table table;
    std::vector<std::vector<std::uint32_t>> of_domain;  // indexes into all_, ascending
  };

  static bool suits(const storage::Volume& volume, const storage::Claim& claim) {
    const auto mode = [](const std::string& text) { return text.empty() ? std::string_view("Filesystem") : text; };
    return volume.capacity >= claim.request && mode(volume.mode) == mode(claim.mode) &&
           volume.attributes == claim.attributes && !volume.deleted;
  }
  static bool available(const storage::Volume& volume, const storage::Claim& claim) {
    if (volume.phase != "Available") return false;
    if (claim.has_selector &&
        !storage::matches(claim.selector, [&](const std::string& key) -> std::optional<std::string_view> {
          const std::string* value = storage::find(volume.labels, key);
          return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
        }))
      return false;
    return std::all_of(claim.modes.begin(), claim.modes.end(), [&](const std::string& wanted) {
      return std::find(volume.modes.begin(), volume.modes.end(), wanted) != volume.modes.end();
    });
  }

  void add(const berth::Cycle& cycle, const VolumePtr& volume, NodeValues& values) {
    const auto index = static_cast<std::uint32_t>(all_.size());
    all_.push_back(volume);
    if (volume->affinity && volume->affinity->size() == 1)
      if (const storage::Requirement* one = NodeValues::simple(volume->affinity->front())) {
        const LabelIndex& label = values.index(cycle, one->key);
        ByLabel& list = list_for(one->key, label);
        for (const std::string& value : one->values)
          if (const auto domain = label.domain_of.find(value); domain != label.domain_of.end()) {
            std::vector<std::uint32_t>& of_value = list.of_domain[domain->second];
            if (of_value.empty() || of_value.back() != index) of_value.push_back(index);
          }
        return;
      }
    auto known = std::find_if(affinities_.begin(), affinities_.end(),
                              [&](const auto& entry) { return entry.first == volume->affinity; });
    if (known == affinities_.end()) {
      affinities_.emplace_back(volume->affinity, values.matching(cycle, volume->affinity));
      known = std::prev(affinities_.end());
    }
    general_.push_back({index, static_cast<std::uint32_t>(known - affinities_.begin())});
  }
  ByLabel& list_for(const std::string& key, const LabelIndex& label) {
    for (ByLabel& list : by_label_)
      if (list.key == key) return list;
    ByLabel& list = by_label_.emplace_back();
    list.key = key;
    list.table = label.table;
    list.of_domain.resize(label.table->size());
    return list;
  }

  VolumePtr reserved_;
  storage::NodeBits reserved_bits_;
  std::vector<VolumePtr> all_;    // smallest first
  std::vector<General> general_;  // ascending
  std::vector<std::pair<storage::Terms, storage::NodeBits>> affinities_;
  std::vector<ByLabel> by_label_;
};

}  // namespace volume_binding
