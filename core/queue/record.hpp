// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/plugin_set.hpp"
#include "queue/hint_table.hpp"
#include "queue/queue_policy.hpp"
#include "queue/queue_view.hpp"

/// Private to core/queue.
namespace berth::queue {

/// What the queue knows of one pod, whichever sub-queue it is in. Lives from its first entry until it is done or
/// removed.
struct Record {
  // Identity.
  model::PodPtr pod;
  model::PodPtr newest;  // an update that came while the pod was in flight
  std::uint64_t name_hash = 0, uid_hash = 0;
  std::uint64_t arrival = 0;  // breaks full ties
  std::uint64_t pod_class = 0;
  std::string group;                 // empty: none
  std::unique_ptr<Gate> group_gate;  // while the group cannot be told
  std::uint32_t slot = 0;
  std::uint16_t profile = HintTable::k_no_profile;

  // Attempts.
  std::int64_t enqueued_ns = 0, first_attempt_ns = 0, backoff_until_ns = 0;
  std::uint32_t attempts = 0, unschedulable_count = 0, error_count = 0;
  model::PluginSet unschedulable, pending;
  model::PluginIndex gate = model::k_no_plugin;
  std::string gate_message;
  bool after_flush = false;  // waited so long that it is tried without an event

  // Place.
  Place place = Place::nowhere;
  bool gives_way = false;   // active, and among those that let others go first
  bool logged = false;      // has a marker in the in-flight log
  bool removed = false;     // went away while in flight
  std::uint32_t stamp = 0;  // a heap entry with another stamp is stale
  std::uint32_t pool_index = 0;
  std::uint32_t flight_before = 0, flight_after = 0;
  std::uint64_t first_event = 0;  // number of the first logged event after the pop

  bool gated() const noexcept { return gate != model::k_no_plugin; }
  model::PluginSet rejectors() const noexcept { return unschedulable | pending; }
};

inline model::QueuedPod seen_by_policy(const Record& record) noexcept {
  return {record.pod, record.enqueued_ns, record.attempts, record.first_attempt_ns};
}

inline std::uint64_t hash_of_name(const model::Pod& pod) noexcept {
  const std::uint64_t a = std::hash<std::string_view>{}(pod.ns), b = std::hash<std::string_view>{}(pod.name);
  return b ^ (a + 0x9e3779b97f4a7c15ULL + (b << 6) + (b >> 2));
}
inline std::uint64_t hash_of_uid(const model::Pod& pod) noexcept { return pod.uid.hash(); }

/// Owns the records; their addresses and slots stay until given back.
class RecordTable {
 public:
  static constexpr std::uint32_t k_no_slot = 0xffffffff;

  Record& make() {
    if (free_.empty()) {
      Record& record = records_.emplace_back();
      record.slot = static_cast<std::uint32_t>(records_.size() - 1);
      return record;
    }
    Record& record = records_[free_.back()];
    free_.pop_back();
    return record;
  }
  void give_back(Record& record) {
    const std::uint32_t slot = record.slot, stamp = record.stamp + 1;  // entries of the former tenant stay stale
    record = Record{};
    record.slot = slot;
    record.stamp = stamp;
    free_.push_back(slot);
  }
  Record& operator[](std::uint32_t slot) { return records_[slot]; }
  const Record& operator[](std::uint32_t slot) const { return records_[slot]; }
  template <typename Body>
  void for_each(Body&& body) const {
    for (const Record& record : records_)
      if (record.place != Place::nowhere) body(record);
  }

 private:
  std::deque<Record> records_;
  std::vector<std::uint32_t> free_;
};

}  // namespace berth::queue
