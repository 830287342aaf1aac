// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
  model::SharedText group;           // empty: none
  std::unique_ptr<Gate> group_gate;  // while the group cannot be told
  std::uint32_t slot = 0;
  std::uint16_t profile = HintTable::k_no_profile;

  // Attempts.
  std::int64_t enqueued_ns = 0, first_attempt_ns = 0, backoff_until_ns = 0;
  std::uint32_t attempts = 0, unschedulable_count = 0, error_count = 0;
  model::PluginSet unschedulable, pending;
  model::PluginIndex gate = model::k_no_plugin;
  model::SharedText gate_message;
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

/// Owns the records; their addresses and slots stay until given back. They lie in blocks, and one of which no record is left
/// gives its memory back, so that a queue that was long once does not stay so. One such block is kept for the next pods.
class RecordTable {
 public:
  static constexpr std::uint32_t k_no_slot = 0xffffffff;
  static constexpr std::uint32_t k_block_records = 32;

  RecordTable() = default;
  RecordTable(const RecordTable&) = delete;
  RecordTable& operator=(const RecordTable&) = delete;

  Record& make() {
    while (!with_room_.empty() && blocks_[with_room_.back()].records == nullptr) unlist();
    if (with_room_.empty()) list(filled());
    const std::uint32_t number = with_room_.back();
    Block& block = blocks_[number];
    if (number == kept_block_) kept_block_ = k_no_slot;
    const auto place = static_cast<std::uint32_t>(std::countr_zero(block.free));
    block.free &= block.free - 1;
    if (block.free == 0) unlist();
    return block.records[place];
  }
  void give_back(Record& record) {
    const std::uint32_t slot = record.slot, stamp = record.stamp + 1;  // entries of the former tenant stay stale
    record = Record{};
    record.slot = slot;
    record.stamp = stamp;
    const std::uint32_t number = slot / k_block_records;
    Block& block = blocks_[number];
    if (block.free == 0) list(number);
    block.free |= std::uint32_t{1} << slot % k_block_records;
    if (block.free != k_all_free) return;
    if (kept_block_ == k_no_slot)
      kept_block_ = number;
    else
      empty(number);
  }
  /// Requires: the slot is that of a record which was not given back.
  Record& operator[](std::uint32_t slot) { return *find(slot); }
  /// The record of that slot, whosever it is now; null: its block is empty, so whatever knows the slot is stale.
  Record* find(std::uint32_t slot) {
    const Block& block = blocks_[slot / k_block_records];
    return block.records == nullptr ? nullptr : &block.records[slot % k_block_records];
  }
  template <typename Body>
  void for_each(Body&& body) const {
    for (const Block& block : blocks_) {
      if (block.records == nullptr) continue;
      for (std::uint32_t i = 0; i < k_block_records; ++i)
        if (block.records[i].place != Place::nowhere) body(std::as_const(block.records[i]));
    }
  }
  /// Records that there is memory for.
  std::size_t room() const noexcept {
    std::size_t records = 0;
    for (const Block& block : blocks_)
      if (block.records != nullptr) records += k_block_records;
    return records;
  }

 private:
  static constexpr std::uint32_t k_all_free = 0xffffffff;  // a bit for each record of a block
  struct Block {
    std::unique_ptr<Record[]> records;  // null: it is empty
    std::uint32_t free = k_all_free;
    std::uint32_t stamp = 0;  // while it is empty: no entry of a former tenant has it
    bool listed = false;      // its number is in with_room_
  };

  void list(std::uint32_t number) {
    if (!std::exchange(blocks_[number].listed, true)) with_room_.push_back(number);
  }
  void unlist() {
    blocks_[with_room_.back()].listed = false;
    with_room_.pop_back();
  }
  /// The number of a block that was empty, or is new, and has memory now.
  std::uint32_t filled() {
    if (empty_.empty()) {
      empty_.push_back(static_cast<std::uint32_t>(blocks_.size()));
      blocks_.emplace_back();
    }
    const std::uint32_t number = empty_.back();
    empty_.pop_back();
    Block& block = blocks_[number];
    block.records = std::make_unique<Record[]>(k_block_records);
    for (std::uint32_t i = 0; i < k_block_records; ++i) {
      block.records[i].slot = number * k_block_records + i;
      block.records[i].stamp = block.stamp;
    }
    return number;
  }
  void empty(std::uint32_t number) {
    Block& block = blocks_[number];
    for (std::uint32_t i = 0; i < k_block_records; ++i) block.stamp = std::max(block.stamp, block.records[i].stamp);
    block.records.reset();
    empty_.push_back(number);
  }

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> with_room_;  // numbers of the blocks with free records; some may be empty since
  std::vector<std::uint32_t> empty_;      // numbers of the blocks without memory
  std::uint32_t kept_block_ = k_no_slot;  // has no record, and its memory
};

}  // namespace berth::queue
