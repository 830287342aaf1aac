// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "queue/record.hpp"

/// Private to core/queue.
namespace berth::queue {

/// Pods that wait for an event, and how many of them each plugin rejected: most events need not look at a single pod.
class WaitingPool {
 public:
  /// Requires: the record is nowhere.
  void insert(Record& record) {
    record.place = Place::unschedulable;
    record.pool_index = static_cast<std::uint32_t>(records_.size());
    records_.push_back(&record);
    count(record, +1);
  }
  /// Requires: the record is here.
  void remove(Record& record) {
    count(record, -1);
    records_.back()->pool_index = record.pool_index;
    records_[record.pool_index] = records_.back();
    records_.pop_back();
    record.place = Place::nowhere;
  }
  /// One more rejector of a pod, which may be here.
  void reject(Record& record, model::PluginIndex plugin) {
    const bool here = record.place == Place::unschedulable;
    if (here) count(record, -1);
    record.unschedulable.insert(plugin);
    if (here) count(record, +1);
  }

  bool empty() const noexcept { return records_.empty(); }
  const std::vector<Record*>& records() const noexcept { return records_; }

  /// True when the event that these plugins asked for can move some pod.
  bool concerns_any(const model::PluginSet& askers) const noexcept {
    bool any = without_rejectors_ != 0;
    askers.for_each([&](model::PluginIndex plugin) { any |= by_plugin_[plugin] != 0; });
    return any;
  }
  static bool concerns(const Record& record, const model::PluginSet& askers) noexcept {
    return moves_on_anything(record) || askers.intersects(record.unschedulable) || askers.intersects(record.pending);
  }

 private:
  static bool moves_on_anything(const Record& record) noexcept {
    return record.rejectors().empty() || record.profile == HintTable::k_no_profile;
  }
  void count(const Record& record, std::int64_t change) {
    if (moves_on_anything(record)) without_rejectors_ += static_cast<std::size_t>(change);
    record.rejectors().for_each(
        [&](model::PluginIndex plugin) { by_plugin_[plugin] += static_cast<std::size_t>(change); });
  }

  std::vector<Record*> records_;
  std::array<std::size_t, model::k_max_plugins> by_plugin_{};
  std::size_t without_rejectors_ = 0;
};

}  // namespace berth::queue
