// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <boost/heap/d_ary_heap.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>

#include "queue/record.hpp"

/// Private to core/queue.
namespace berth::queue {

/// Pods as before() saw them when they were queued. A heap whose order needs the callback compares these, never live
/// records: what a stale entry compares to must not change.
class OrderedByCallback {
 public:
  explicit OrderedByCallback(QueuePolicy* policy) : policy_(policy) {}
  bool used() const noexcept { return policy_ != nullptr; }
  void keep(std::uint64_t id, const Record& record) {
    seen_.insert_or_assign(id, Seen{record.pod, record.enqueued_ns, record.attempts, record.first_attempt_ns});
  }
  void drop(std::uint64_t id) { seen_.erase(id); }
  bool before(std::uint64_t a, std::uint64_t b) const {
    const Seen &sa = seen_.at(a), &sb = seen_.at(b);
    return policy_->before({sa.pod, sa.enqueued_ns, sa.attempts, sa.first_attempt_ns},
                           {sb.pod, sb.enqueued_ns, sb.attempts, sb.first_attempt_ns});
  }

 private:
  struct Seen {
    model::PodPtr pod;
    std::int64_t enqueued_ns;
    std::uint32_t attempts;
    std::int64_t first_attempt_ns;
  };
  QueuePolicy* policy_;
  boost::unordered_flat_map<std::uint64_t, Seen> seen_;
};

/// Records ordered by `Lead` (an expiry, where there is one), then by the policy's key, its before() and arrival.
///
/// Those that come in order, as pods of one priority do, stand in a line: to add one or to take the first costs the same
/// however many there are, and which come next is known, so that their memory is asked for ahead. The others are in a heap.
/// Entries carry their key, so that sifting touches no record. Removing a record only makes its entry stale (the
/// record's stamp moves on); stale entries are dropped when they surface, or all at once when they outnumber the
/// living.
template <bool HasLead>
class ReadyHeap {
 public:
  ReadyHeap(RecordTable& records, Place place, QueuePolicy* callback)
      : records_(records), place_(place), callback_(callback), heap_(Later{&callback_}) {}
  ReadyHeap(const ReadyHeap&) = delete;
  ReadyHeap& operator=(const ReadyHeap&) = delete;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  void push(Record& record, const OrderKey& key, std::int64_t lead = 0) {
    Entry entry;
    if constexpr (HasLead) entry.lead.value = lead;
    entry.key = key;
    entry.arrival = record.arrival;
    entry.slot = record.slot;
    entry.stamp = ++record.stamp;
    if (callback_.used()) callback_.keep(entry.id(), record);
    if (line_.empty() || !Later{&callback_}(line_.back(), entry))
      line_.push_back(entry);
    else
      heap_.push(entry);
    most_ = std::max(most_, heap_.size());
    record.place = place_;
    ++size_;
  }

  /// Requires: the record is in this heap.
  void remove(Record& record) {
    ++record.stamp;
    record.place = Place::nowhere;
    --size_;
    const std::size_t entries = heap_.size() + line_.size();
    if (entries > k_compact_above && entries > 2 * size_) compact();
  }

  /// The first record, or null.
  Record* top() {
    while (!heap_.empty() || !line_.empty()) {
      const Entry& entry = first();
      Record* const record = records_.find(entry.slot);
      if (record != nullptr && record->stamp == entry.stamp) return record;
      pop_entry();
    }
    return nullptr;
  }
  Record* pop() {
    Record* record = top();
    if (record == nullptr) return nullptr;
    pop_entry();
    fetch_ahead();
    ++record->stamp;
    record->place = Place::nowhere;
    --size_;
    return record;
  }

 private:
  static constexpr std::size_t k_compact_above = 64;
  // Places in the line whose record, and whose pod, are asked for; a decision takes longer than memory does.
  static constexpr std::size_t k_record_ahead = 6, k_pod_ahead = 3;
  struct Lead {
    std::int64_t value = 0;
  };
  struct NoLead {};
  struct Entry {
    [[no_unique_address]] std::conditional_t<HasLead, Lead, NoLead> lead;
    OrderKey key;
    std::uint64_t arrival;
    std::uint32_t slot, stamp;
    std::uint64_t id() const noexcept { return (std::uint64_t{slot} << 32) | stamp; }
  };
  struct Later {  // the heap keeps its greatest on top
    const OrderedByCallback* callback;
    bool operator()(const Entry& a, const Entry& b) const {
      if constexpr (HasLead)
        if (a.lead.value != b.lead.value) return a.lead.value > b.lead.value;
      for (std::size_t w = 0; w < a.key.words.size(); ++w)
        if (a.key.words[w] != b.key.words[w]) return a.key.words[w] > b.key.words[w];
      if (callback->used()) [[unlikely]] {
        if (callback->before(b.id(), a.id())) return true;
        if (callback->before(a.id(), b.id())) return false;
      }
      return a.arrival > b.arrival;
    }
  };
  using Heap = boost::heap::d_ary_heap<Entry, boost::heap::arity<4>, boost::heap::compare<Later>>;

  bool line_is_first() const {
    return heap_.empty() || (!line_.empty() && !Later{&callback_}(line_.front(), heap_.top()));
  }
  /// Requires: there is an entry.
  const Entry& first() const { return line_is_first() ? line_.front() : heap_.top(); }

  void fetch_ahead() {
    if (line_.size() <= k_record_ahead) return;
    if (const Record* later = records_.find(line_[k_record_ahead].slot)) fetch_bytes(*later);
    const Entry& sooner = line_[k_pod_ahead];
    const Record* const record = records_.find(sooner.slot);
    if (record != nullptr && record->stamp == sooner.stamp) fetch_bytes(*record->pod);
  }
  template <typename T>
  static void fetch_bytes(const T& object) noexcept {
    const auto* const begin = reinterpret_cast<const char*>(&object);
    for (std::size_t at = 0; at < sizeof(T); at += 64) __builtin_prefetch(begin + at, 1);
  }

  void pop_entry() {
    const bool of_line = line_is_first();
    const std::uint64_t id = of_line ? line_.front().id() : heap_.top().id();
    if (of_line)
      line_.pop_front();
    else
      heap_.pop();
    if (callback_.used()) callback_.drop(id);
    if (most_ > k_compact_above && heap_.size() < most_ / 2) compact();  // a heap never gives memory back by itself
  }
  void compact() {
    const auto lives = [&](const Entry& entry) {
      const Record* const record = records_.find(entry.slot);
      if (record != nullptr && record->stamp == entry.stamp) return true;
      if (callback_.used()) callback_.drop(entry.id());
      return false;
    };
    Heap living(Later{&callback_});
    for (const Entry& entry : heap_)
      if (lives(entry)) living.push(entry);
    heap_.swap(living);
    most_ = heap_.size();
    std::erase_if(line_, [&](const Entry& entry) { return !lives(entry); });
  }

  RecordTable& records_;
  const Place place_;
  OrderedByCallback callback_;
  Heap heap_;
  std::deque<Entry> line_;
  std::size_t size_ = 0;
  std::size_t most_ = 0;  // entries of the heap since the last compact()
};

}  // namespace berth::queue
