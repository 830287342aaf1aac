// SPDX-License-Identifier: Apache-2.0
/// The unclaimed volumes that would do for the claims of a pod, arranged so that a node finds its smallest one at once.
///
/// Claims that differ in nothing but their size search one Pool. A node's labels lead to the affinities that it meets,
/// and these to their volumes: work grows with what suits the node, not with the volumes there are.
/// Source: kubernetes v1.36 component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume). Of equally large
/// volumes the first by name is taken; upstream takes the first of a hash map.
#pragma once
#include "catalog.hpp"
#include "node_values.hpp"

#include <algorithm>

namespace volume_binding {

namespace detail {
inline std::string_view mode_of(const std::string& mode) {
  return mode.empty() ? std::string_view("Filesystem") : std::string_view(mode);
}
inline bool suits(const storage::Volume& volume, const storage::Claim& claim) {
  return mode_of(volume.mode) == mode_of(claim.mode) && volume.attributes == claim.attributes && !volume.deleted;
}
}  // namespace detail

/// Volumes for claims of one class, mode, access modes, selector and attributes. Immutable once collected.
class Pool {
 public:
  explicit Pool(std::uint32_t number) : number_(number) {}

  /// By order of creation in an attempt.
  std::uint32_t number() const noexcept { return number_; }
  bool empty() const noexcept { return all_.empty(); }
  std::size_t claims() const noexcept { return claims_; }
  const VolumePtr& at(std::uint32_t index) const { return all_[index]; }

  /// What claims have to have in common to share a pool.
  static std::string key_of(const storage::Claim& claim) {
    std::string out;
    Affinities::append(out, claim.class_name);
    Affinities::append(out, detail::mode_of(claim.mode));
    Affinities::append(out, claim.attributes);
    out += std::to_string(claim.modes.size()) + ',';
    for (const std::string& mode : claim.modes) Affinities::append(out, mode);
    if (claim.has_selector) Affinities::append(out, claim.selector);
    return out;
  }
  void add_claim(const storage::Claim& claim) {
    smallest_ = claims_ == 0 ? claim.request : std::min(smallest_, claim.request);
    largest_ = claims_ == 0 ? claim.request : std::max(largest_, claim.request);
    ++claims_;
  }
  /// Once, after all claims were added; `claim`: one of them. `taken_max`: how many volumes the pod takes at most.
  void collect(const storage::Claim& claim, const Catalog& catalog, std::size_t taken_max, AffinityIndex& affinities) {
    std::size_t unrestricted = 0;
    std::vector<std::uint32_t> affinity_of;
    catalog.each_free(claim.class_name, smallest_, [&](const VolumePtr& volume) {
      if (!detail::suits(*volume, claim) || !available(*volume, claim)) return true;
      affinity_of.push_back(affinities.number_of(volume->shared_affinity));
      all_.push_back(volume);
      // Those behind are larger, and every node has enough of these.
      return volume->affinity.has_value() || volume->capacity < largest_ || ++unrestricted < taken_max;
    });
    starts_.assign(affinities.size() + 1, 0);
    for (const std::uint32_t affinity : affinity_of) ++starts_[affinity + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    by_affinity_.resize(all_.size());
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end());
    for (std::uint32_t i = 0; i < affinity_of.size(); ++i) by_affinity_[next[affinity_of[i]]++] = i;
  }

  /// The first volume that is large enough.
  std::uint32_t first_of(std::int64_t request) const {
    const auto at = std::partition_point(all_.begin(), all_.end(),
                                         [&](const VolumePtr& volume) { return volume->capacity < request; });
    return static_cast<std::uint32_t>(at - all_.begin());
  }
  /// The volumes of an affinity, smallest first.
  std::span<const std::uint32_t> of(std::uint32_t affinity) const {
    if (affinity + 1 >= starts_.size()) return {};
    return {by_affinity_.data() + starts_[affinity], starts_[affinity + 1] - starts_[affinity]};
  }

 private:
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

  std::uint32_t number_;
  std::size_t claims_ = 0;
  std::int64_t smallest_ = 0, largest_ = 0;
  std::vector<VolumePtr> all_;                       // smallest first
  std::vector<std::uint32_t> starts_, by_affinity_;  // indexes into all_, ascending within each affinity
};

/// One node's search for all claims of a pod, smallest first; reused from node to node. Threads: one at a time.
class Search {
 public:
  /// Requires: the index and the pools outlive the search of this node.
  void start(const AffinityIndex* affinities, std::span<const berth::Label> labels) {
    for (const std::size_t place : places_) taken_[place] = nullptr;
    places_.clear();
    for (Walk& walk : walks_) walk.begun = false;
    matched_.clear();
    if (affinities != nullptr) affinities->matching(labels, matched_);
  }
  void take(const storage::Volume* volume) {
    if (places_.size() * 2 >= taken_.size()) grow();
    insert(volume);
  }
  bool is_taken(const storage::Volume* volume) const {
    if (places_.empty()) return false;
    for (std::size_t at = place_of(volume);; at = (at + 1) & (taken_.size() - 1)) {
      if (taken_[at] == volume) return true;
      if (taken_[at] == nullptr) return false;
    }
  }
  /// The smallest volume from index `from` on that suits the node and is not taken; nullptr: none.
  /// Requires: for one pool `from` does not go down between two start().
  const VolumePtr* pick(const Pool& pool, std::uint32_t from) {
    return pool.claims() == 1 ? pick_once(pool, from) : pick_next(pool, from);
  }

 private:
  static constexpr std::uint32_t k_none = 0xffffffff;
  /// Through the volumes of a pool that suit the node: what was passed is too small or taken.
  struct Walk {
    bool begun = false;
    std::size_t next = 0;
    std::span<const std::uint32_t> suiting;
    std::vector<std::uint32_t> merged;
  };

  const VolumePtr* pick_once(const Pool& pool, std::uint32_t from) const {
    std::uint32_t best = k_none;
    for (const std::uint32_t affinity : matched_) {
      const auto list = pool.of(affinity);
      for (auto at = std::lower_bound(list.begin(), list.end(), from); at != list.end() && *at < best; ++at) {
        if (is_taken(pool.at(*at).get())) continue;
        best = *at;
        break;
      }
    }
    return best == k_none ? nullptr : &pool.at(best);
  }
  const VolumePtr* pick_next(const Pool& pool, std::uint32_t from) {
    if (walks_.size() <= pool.number()) walks_.resize(pool.number() + 1);
    Walk& walk = walks_[pool.number()];
    if (!walk.begun) begin(pool, walk);
    while (walk.next < walk.suiting.size()) {
      const std::uint32_t index = walk.suiting[walk.next];
      if (index >= from && !is_taken(pool.at(index).get())) return &pool.at(index);
      ++walk.next;
    }
    return nullptr;
  }
  void begin(const Pool& pool, Walk& walk) const {
    walk.begun = true;
    walk.next = 0;
    walk.merged.clear();
    walk.suiting = {};
    std::size_t lists = 0;
    for (const std::uint32_t affinity : matched_) {
      const auto list = pool.of(affinity);
      if (list.empty()) continue;
      if (++lists == 1) {
        walk.suiting = list;
        continue;
      }
      if (lists == 2) walk.merged.assign(walk.suiting.begin(), walk.suiting.end());
      walk.merged.insert(walk.merged.end(), list.begin(), list.end());
    }
    if (lists < 2) return;
    std::sort(walk.merged.begin(), walk.merged.end());
    walk.suiting = walk.merged;
  }

  std::size_t place_of(const storage::Volume* volume) const {
    return (reinterpret_cast<std::uintptr_t>(volume) * 0x9e3779b97f4a7c15ull >> 20) & (taken_.size() - 1);
  }
  void insert(const storage::Volume* volume) {
    std::size_t at = place_of(volume);
    while (taken_[at] != nullptr) at = (at + 1) & (taken_.size() - 1);
    taken_[at] = volume;
    places_.push_back(at);
  }
  void grow() {
    std::vector<const storage::Volume*> before;
    for (const std::size_t place : places_) before.push_back(taken_[place]);
    taken_.assign(std::max<std::size_t>(16, taken_.size() * 2), nullptr);
    places_.clear();
    for (const storage::Volume* volume : before) insert(volume);
  }

  std::vector<std::uint32_t> matched_;         // affinities that the node meets
  std::vector<const storage::Volume*> taken_;  // open hash table; a power of two
  std::vector<std::size_t> places_;            // in use of it
  std::vector<Walk> walks_;                    // by number of the pool
};

/// What one claim may take.
class Candidates {
 public:
  /// `pool`: collected, with this claim among those added.
  void collect(const berth::Cycle& cycle, const storage::Claim& claim, const Catalog& catalog, NodeValues& values,
               std::shared_ptr<const Pool> pool) {
    catalog.each_claimed(claim.key(), [&](const VolumePtr& volume) {
      if (reserved_ == nullptr && volume->class_name == claim.class_name && volume->is_for(claim) &&
          volume->capacity >= claim.request && detail::suits(*volume, claim)) {
        reserved_ = volume;
        reserved_bits_ = values.matching(cycle, volume->affinity);
      }
    });
    pool_ = std::move(pool);
    from_ = pool_->first_of(claim.request);
  }

  /// No node finds one.
  bool empty() const noexcept { return reserved_ == nullptr && (pool_ == nullptr || pool_->empty()); }

  /// nullptr: none. `search` knows what earlier claims of the pod chose.
  const VolumePtr* pick(berth::Slot slot, Search& search) const {
    // A volume that names the claim is the only one, even where it does not fit.
    if (reserved_ != nullptr && !search.is_taken(reserved_.get()))
      return storage::test(reserved_bits_, slot) ? &reserved_ : nullptr;
    return pool_ == nullptr ? nullptr : search.pick(*pool_, from_);
  }

 private:
  VolumePtr reserved_;
  storage::NodeBits reserved_bits_;
  std::shared_ptr<const Pool> pool_;
  std::uint32_t from_ = 0;  // the first volume of the pool that is large enough
};

}  // namespace volume_binding
