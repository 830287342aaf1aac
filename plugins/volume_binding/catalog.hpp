// SPDX-License-Identifier: Apache-2.0
/// Volumes by what a search asks for: unclaimed ones of a class by size, and those that name a claim. Follows the
/// watch, what is assumed included. Threads: [cycle].
#pragma once
#include "../shared/storage/in_tree.hpp"
#include "affinities.hpp"

#include <map>
#include <memory>
#include <unordered_map>

namespace volume_binding {

/// A volume with its affinity as all that have the same share it; null where the volume names a claim.
struct KnownVolume : storage::Volume {
  AffinityPtr shared_affinity;
};
using VolumePtr = std::shared_ptr<const KnownVolume>;

class Catalog {
 public:
  explicit Catalog(berth::Objects objects)
      : objects_(objects), watch_(objects.watch(storage::k_volumes, storage::k_volume_fields)) {}
  std::uint32_t watch() const noexcept { return watch_; }

  void refresh() {
    seen_ = objects_.changes(watch_, seen_, [&](auto, auto name, const berth_object_v1* now) {
      if (name.empty()) {
        by_name_.clear();
        free_.clear();
        claimed_.clear();
        affinities_ = {};
        return;
      }
      drop(std::string(name));
      if (now != nullptr) add(std::make_shared<KnownVolume>(KnownVolume{storage::read_volume(*now), nullptr}));
    });
  }

  /// Null when there is none.
  VolumePtr find(const std::string& name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }
  /// Unclaimed volumes of a class of `capacity` and larger, smallest first, then by name. visit(volume) answers whether
  /// to go on.
  template <class Visit>
  void each_free(const std::string& class_name, std::int64_t capacity, Visit&& visit) const {
    const auto list = free_.find(class_name);
    if (list == free_.end()) return;
    for (auto at = list->second.lower_bound({capacity, {}}); at != list->second.end(); ++at)
      if (!visit(at->second)) return;
  }
  /// Volumes of any class whose claimRef names the claim.
  template <class Visit>
  void each_claimed(const std::string& claim_key, Visit&& visit) const {
    const auto list = claimed_.find(claim_key);
    if (list == claimed_.end()) return;
    for (const auto& [name, volume] : list->second) visit(volume);
  }

 private:
  using SizeAndName = std::pair<std::int64_t, std::string>;

  static std::string claim_key(const storage::Volume& volume) {
    return volume.claim_ref.ns + "/" + volume.claim_ref.name;
  }
  void add(std::shared_ptr<KnownVolume> volume) {
    if (volume->claim_ref.present) {
      claimed_[claim_key(*volume)][volume->name] = volume;
    } else {
      volume->shared_affinity = affinities_.add(volume->affinity);
      free_[volume->class_name][{volume->capacity, volume->name}] = volume;
    }
    by_name_[volume->name] = std::move(volume);
  }
  void drop(const std::string& name) {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return;
    const KnownVolume& volume = *it->second;
    if (volume.claim_ref.present) {
      const auto list = claimed_.find(claim_key(volume));
      list->second.erase(name);
      if (list->second.empty()) claimed_.erase(list);
    } else {
      const auto list = free_.find(volume.class_name);
      list->second.erase({volume.capacity, name});
      if (list->second.empty()) free_.erase(list);
      affinities_.drop(volume.shared_affinity);
    }
    by_name_.erase(it);
  }

  berth::Objects objects_;
  std::uint32_t watch_;
  std::uint64_t seen_ = 0;
  Affinities affinities_;  // of unclaimed volumes
  std::unordered_map<std::string, VolumePtr> by_name_;
  std::unordered_map<std::string, std::map<SizeAndName, VolumePtr>> free_;     // by class
  std::unordered_map<std::string, std::map<std::string, VolumePtr>> claimed_;  // by "ns/name" of the claim
};

}  // namespace volume_binding
