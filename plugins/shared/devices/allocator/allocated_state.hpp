// SPDX-License-Identifier: Apache-2.0
/// Which devices are in use, and how much of their capacity.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amount.hpp"
#include "device_ids.hpp"
#include "objects.hpp"

namespace berth::dra {

/// The devices of allocated claims, kept up to date one allocation at a time. A copy is a snapshot for one cycle.
///
/// As upstream: a device in use is a member of a set, not a count, so two claims that hold one device free it when either goes.
///
/// Threads: one that writes; a copy that no thread writes may be read by many.
class AllocatedState {
 public:
  struct Consumed {
    std::string name;
    Nano nano = 0;
  };

  explicit AllocatedState(std::shared_ptr<DeviceIds> ids) : ids_(std::move(ids)), made_(ids_->next_stamp()) {}

  /// Empty when the device is counted; else why not: an amount that cannot be read (the others of the device are counted all the
  /// same), or a full table of ids.
  std::string add(const TakenDevice& device);
  /// Takes back what `add` did with an equal device.
  void remove(const TakenDevice& device);

  /// Held as a whole by a claim without admin access.
  bool is_in_use(std::uint32_t id) const { return is_set(in_use_, id); }
  /// In use, shared, or with capacity consumed: its counters are consumed.
  bool is_allocated(std::uint32_t id) const {
    return is_in_use(id) || (!shares_.empty() && shares_.contains(id)) || consumed(id) != nullptr;
  }
  /// Null: none of its capacity is in use.
  const std::vector<Consumed>* consumed(std::uint32_t id) const {
    if (consumed_.empty()) return nullptr;
    const auto found = consumed_.find(id);
    return found == consumed_.end() ? nullptr : &found->second;
  }
  const std::shared_ptr<DeviceIds>& ids() const { return ids_; }

  /// When the use of some device of the pool (a number of DeviceIds) changed last; a copy has the stamps of what it is a copy of.
  /// Equal stamps are equal uses, as long as one state is derived from the other.
  std::uint64_t changed(std::uint32_t pool) const { return pool < changed_.size() ? changed_[pool] : made_; }
  /// Nothing but whole or not in use: no share, and no capacity consumed.
  bool is_plain(std::uint32_t id) const { return !shares_.contains(id) && !consumed_.contains(id); }
  /// Of a plain device.
  void set_in_use(std::uint32_t id, bool in_use);
  /// The device is used as in `from` then.
  void copy_device(std::uint32_t id, const AllocatedState& from);

 private:
  static bool is_set(const std::vector<std::uint64_t>& bits, std::uint32_t id) {
    return id / 64 < bits.size() && (bits[id / 64] >> (id % 64) & 1) != 0;
  }
  std::string consume(std::uint32_t id, const std::vector<NamedAmount>& amounts, int sign);

  void touch(std::uint32_t id);

  std::shared_ptr<DeviceIds> ids_;
  std::uint64_t made_;
  std::vector<std::uint64_t> changed_;  // by pool
  std::vector<std::uint64_t> in_use_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> shares_;
  std::unordered_map<std::uint32_t, std::vector<Consumed>> consumed_;
};

}  // namespace berth::dra
