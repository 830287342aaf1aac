// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>

#include "model/event.hpp"
#include "queue/record_index.hpp"

/// Private to core/queue.
namespace berth::queue {

/// What happened while pods were in flight, so that a failed attempt can be judged by the events it missed.
///
/// A pod is known from its pop until leave(); its marker may end before. Markers (a pod was popped here) and events
/// share one time line; events before the oldest marker are dropped. The log holds at most k_events_max events, whose
/// objects take at most k_bytes_max: a pod whose events were dropped for room counts as having missed something that
/// helps.
class InFlightLog {
 public:
  static constexpr std::size_t k_events_max = 1 << 18;
  static constexpr std::size_t k_bytes_max = std::size_t{64} << 20;

  struct Entry {
    model::ClusterEvent event;
    model::EventObjects objects;
    std::uint32_t label = 0;  // index into the queue's label counts
    std::uint32_t bytes = 0;  // set by append(): what it keeps
  };

  explicit InFlightLog(RecordTable& records) : records_(records) {}

  /// Number of markers.
  bool empty() const noexcept { return markers_ == 0; }
  std::size_t pods() const noexcept { return markers_; }
  std::size_t events() const noexcept { return events_.size(); }
  /// What the events and their objects take; an object of several events counts for each.
  std::size_t bytes() const noexcept { return bytes_; }
  /// The popped pod of this uid, with or without its marker.
  Record* holder(const model::Pod& pod) const { return by_uid_.find(pod); }
  /// The same, only while it has its marker.
  Record* find(const model::Pod& pod) const {
    Record* record = by_uid_.find(pod);
    return record != nullptr && record->logged ? record : nullptr;
  }

  /// Sets the record's marker. Requires: find() knows no such uid.
  void start(Record& record);
  /// Removes the marker, if there is one, and the events that only it kept, reporting each as dropped(label).
  template <typename Dropped>
  void end(Record& record, Dropped&& dropped) {
    if (!record.logged) return;
    unlink(record);
    trim(dropped);
  }
  /// The pod is in flight no more. Requires: its marker has ended.
  void leave(Record& record) { by_uid_.erase(record); }
  template <typename Dropped>
  void append(Entry entry, Dropped&& dropped) {
    entry.bytes = bytes_of(entry);
    bytes_ += entry.bytes;
    events_.push_back(std::move(entry));
    while (events_.size() > k_events_max || bytes_ > k_bytes_max) drop_first(dropped);
  }

  /// False when events after the record's marker were dropped for room. Requires: the record is logged.
  bool complete(const Record& record) const noexcept { return record.first_event >= first_number_; }
  /// Calls body(entry) for each event after the record's marker, in order, until it returns false.
  template <typename Body>
  void for_each_since(const Record& record, Body&& body) const {
    for (std::size_t i = record.first_event - first_number_; i < events_.size(); ++i)
      if (!body(events_[i])) return;
  }

 private:
  static std::uint32_t bytes_of(const Entry& entry) noexcept;
  void unlink(Record& record);
  template <typename Dropped>
  void trim(Dropped&& dropped) {
    const std::uint64_t keep_from =
        first_ == RecordTable::k_no_slot ? first_number_ + events_.size() : records_[first_].first_event;
    while (!events_.empty() && first_number_ < keep_from) drop_first(dropped);
  }
  template <typename Dropped>
  void drop_first(Dropped&& dropped) {
    dropped(events_.front().label);
    bytes_ -= events_.front().bytes;
    events_.pop_front();
    ++first_number_;
  }

  RecordTable& records_;
  RecordIndex<ByUid> by_uid_;
  std::deque<Entry> events_;
  std::size_t bytes_ = 0;                         // of events_
  std::uint64_t first_number_ = 0;                // number of events_.front()
  std::uint32_t first_ = RecordTable::k_no_slot;  // markers in order of pop
  std::uint32_t last_ = RecordTable::k_no_slot;
  std::size_t markers_ = 0;
};

}  // namespace berth::queue
