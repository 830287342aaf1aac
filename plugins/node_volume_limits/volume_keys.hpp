// SPDX-License-Identifier: Apache-2.0
/// What a volume counts as: a driver and a handle, numbered. Follows the objects that decide it.
///
/// A claim's key comes from its volume, or from its class while it has none. The index reads each object once per
/// change and answers in memory; refresh() says which claims count as something else now.
/// Threads: refresh() and resolve() [cycle]; everything const from any thread while neither runs.
#pragma once
#include "../shared/storage/in_tree.hpp"

#include <deque>
#include <unordered_map>

namespace limits {

using Key = std::uint32_t;     // 0: counts as nothing
using Driver = std::uint32_t;  // 0: none

/// Driver names and "driver/handle" texts as dense numbers.
class KeyTable {
 public:
  Key key(const std::string& driver, const std::string& handle) {
    const auto [it, added] = keys_.emplace(driver + "/" + handle, static_cast<Key>(driver_of_.size()));
    if (added) driver_of_.push_back(this->driver(driver));
    return it->second;
  }
  Driver driver(const std::string& name) {
    return drivers_.emplace(name, static_cast<Driver>(drivers_.size() + 1)).first->second;
  }
  Driver driver_of(Key key) const noexcept { return driver_of_[key]; }
  std::size_t size() const noexcept { return driver_of_.size(); }

 private:
  std::unordered_map<std::string, Key> keys_;
  std::unordered_map<std::string, Driver> drivers_;
  std::vector<Driver> driver_of_{0};  // by key
};

struct ClaimUse {
  std::string ns, name;
  bool exists = false;
  std::string volume, class_name, owner_uid;
  Key key = 0;
  std::vector<std::uint32_t> slots;  // nodes whose counts were made with it
};

class VolumeKeys {
 public:
  explicit VolumeKeys(berth::Objects objects)
      : objects_(objects),
        claim_watch_(objects.watch(storage::k_claims, storage::k_claim_fields)),
        volume_watch_(objects.watch(storage::k_volumes, storage::k_volume_fields)),
        class_watch_(objects.watch(storage::k_classes, storage::k_class_fields)) {}

  KeyTable& table() noexcept { return table_; }
  const KeyTable& table() const noexcept { return table_; }

  /// Takes in what changed. stale(ClaimUse&) for each claim that may count as something else than before,
  /// changed(name) for each volume; an empty name stands for all of them.
  template <class Stale, class Changed>
  void refresh(Stale&& stale, Changed&& changed) {
    std::vector<ClaimUse*> touched;
    bool all = false;
    classes_seen_ = objects_.changes(class_watch_, classes_seen_, [&](auto, auto name, const berth_object_v1* now) {
      all = true;
      if (name.empty()) return classes_.clear();
      if (now == nullptr) {
        classes_.erase(std::string(name));
      } else {
        classes_[std::string(name)] = storage::text(*now, storage::class_field::provisioner);
      }
    });
    volumes_seen_ = objects_.changes(volume_watch_, volumes_seen_, [&](auto, auto name, const berth_object_v1* now) {
      changed(name);
      if (name.empty()) {
        all = true;
        return volumes_.clear();
      }
      take_volume(std::string(name), now, touched);
    });
    claims_seen_ = objects_.changes(claim_watch_, claims_seen_, [&](auto ns, auto name, const berth_object_v1* now) {
      if (name.empty()) {
        all = true;
        for (auto& [key, claim] : claims_) claim.exists = false;
        return;
      }
      ClaimUse& claim = claim_at(ns, name);
      claim.exists = now != nullptr;
      if (now != nullptr) {
        const storage::Claim read = storage::read_claim(*now);
        if (!claim.volume.empty() && claim.volume != read.volume) std::erase(users_[claim.volume], &claim);
        if (!read.volume.empty() && claim.volume != read.volume) users_[read.volume].push_back(&claim);
        claim.volume = read.volume;
        claim.class_name = read.class_name;
        claim.owner_uid = read.owner_uid;
      }
      touched.push_back(&claim);
    });
    if (all)
      for (auto& [key, claim] : claims_) touched.push_back(&claim);
    for (ClaimUse* claim : touched) {
      claim->key = claim->exists ? key_of(*claim) : 0;
      stale(*claim);
    }
  }

  /// Forgets claims that are gone, and everything when keys without users have piled up. Every ClaimUse is void then.
  void prune() {
    if (table_.size() > 65536 + 4 * claims_.size()) {
      *this = VolumeKeys(*this, Empty{});
      return;
    }
    for (auto it = claims_.begin(); it != claims_.end();) {
      it->second.slots.clear();
      if (it->second.exists) {
        ++it;
        continue;
      }
      if (const auto users = users_.find(it->second.volume); users != users_.end())
        std::erase(users->second, &it->second);
      it = claims_.erase(it);
    }
  }

  /// The claim of that name, made when it is not there yet. The reference stays good.
  ClaimUse& claim_at(std::string_view ns, std::string_view name) {
    std::string key(ns);
    key.append("/").append(name);
    ClaimUse& claim = claims_[std::move(key)];
    if (claim.name.empty()) {
      claim.ns = ns;
      claim.name = name;
    }
    return claim;
  }
  const ClaimUse* find(std::string_view ns, std::string_view name) const {
    const auto it = claims_.find(std::string(ns).append("/").append(name));
    return it == claims_.end() ? nullptr : &it->second;
  }

  struct Inline {
    Key key = 0;  // 0: is not counted
    std::string error;
  };
  /// An entry of spec.volumes, as JSON. On a node without CSINode nothing of it is counted.
  Inline inline_volume(std::string_view source) {
    const berth::Json volume = berth::Json::parse(source);
    const storage::InTree* type = storage::in_tree_of(volume);
    if (type == nullptr || !type->switched) return {};
    const storage::Handle handle = storage::csi_handle(*type, volume, nullptr);
    if (!handle.error.empty())
      return {0, "converting volume(" + volume["name"].string_or("name", "") + ") from inline to csi: " + handle.error};
    return {table_.key(std::string(type->driver), handle.value), {}};
  }
  /// "driver/handle" of a volume's own CSI source under the name of `attacher`; 0 when it has none.
  Key attached(const std::string& attacher, const std::string& volume) {
    const auto it = volumes_.find(volume);
    return it == volumes_.end() || !it->second.csi ? 0 : table_.key(attacher, it->second.handle);
  }

 private:
  struct Empty {};
  VolumeKeys(const VolumeKeys& other, Empty)
      : objects_(other.objects_),
        claim_watch_(other.claim_watch_),
        volume_watch_(other.volume_watch_),
        class_watch_(other.class_watch_) {}

  struct VolumeUse {
    bool csi = false;  // has a CSI source of its own
    std::string driver, handle;
    bool counts() const noexcept { return !driver.empty() && !handle.empty(); }
  };

  void take_volume(const std::string& name, const berth_object_v1* now, std::vector<ClaimUse*>& touched) {
    const auto users = users_.find(name);
    if (users != users_.end()) touched.insert(touched.end(), users->second.begin(), users->second.end());
    if (now == nullptr) {
      volumes_.erase(name);
      return;
    }
    const storage::Volume volume = storage::read_volume(*now);
    VolumeUse use;
    const berth::Json& csi = volume.spec["csi"];
    if (csi.is_object()) {
      use = {true, csi["driver"].string_or("driver", ""), csi["volumeHandle"].string_or("volumeHandle", "")};
    } else if (const storage::InTree* type = storage::in_tree_of(volume.spec); type != nullptr && type->switched) {
      const storage::Handle handle = storage::csi_handle(*type, volume.spec, &volume.labels);
      if (handle.error.empty()) use = {false, std::string(type->driver), handle.value};
    }
    volumes_[name] = std::move(use);
  }

  Key key_of(const ClaimUse& claim) {
    if (!claim.volume.empty())
      if (const auto volume = volumes_.find(claim.volume); volume != volumes_.end())
        return volume->second.counts() ? table_.key(volume->second.driver, volume->second.handle) : 0;
    const auto storage_class = claim.class_name.empty() ? classes_.end() : classes_.find(claim.class_name);
    if (storage_class == classes_.end()) return 0;
    std::string driver = storage_class->second;
    if (const storage::InTree* type = storage::in_tree_plugin(driver)) {
      if (!type->switched) return 0;
      driver = type->driver;
    }
    // A handle that no volume has, and one per claim.
    return table_.key(driver, "\x01" + claim.ns + "/" + claim.name);
  }

  berth::Objects objects_;
  std::uint32_t claim_watch_, volume_watch_, class_watch_;
  std::uint64_t claims_seen_ = 0, volumes_seen_ = 0, classes_seen_ = 0;
  KeyTable table_;
  std::unordered_map<std::string, ClaimUse> claims_;               // by "ns/name"; nodes stay where they are
  std::unordered_map<std::string, VolumeUse> volumes_;             // by name
  std::unordered_map<std::string, std::string> classes_;           // name -> provisioner
  std::unordered_map<std::string, std::vector<ClaimUse*>> users_;  // by volume name
};

}  // namespace limits
