// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/symbols.hpp"
#include "recording/record.hpp"

namespace berth::recording {

/// Records on their way to the thread that writes them, in their order. What comes with every decision and every change
/// of a pod takes a small entry; all else is kept whole.
///
/// Threads: one at a time. Memory: kept by clear(), to be used again.
class WaitingRecords {
 public:
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  /// Without the texts.
  std::size_t bytes() const noexcept {
    return entries_.capacity() * sizeof(Entry) + whole_.capacity() * sizeof(Record) +
           looks_.capacity() * sizeof(std::size_t);
  }

  void add(Record&& record) {
    Entry entry{record.kind, false, k_no_symbol, record.at_ns, {}, {}};
    switch (record.kind) {
      case Kind::placed_pod:
        entry.is_whole = !record.text.empty();
        if (!entry.is_whole) entry.pod = std::move(record.pod);
        break;
      case Kind::waiting_pod:
        entry.pod = std::move(record.pod);
        break;
      case Kind::state_begins:
      case Kind::state_ends:
        break;
      default:
        entry.is_whole = true;
    }
    entries_.push_back(std::move(entry));
    if (!entries_.back().is_whole) return;
    try {
      whole_.push_back(std::move(record));
    } catch (...) {
      entries_.pop_back();  // entries and whole records go together
      throw;
    }
  }
  /// The attempt of a pod that got a node.
  void add_placement(std::int64_t at_ns, const model::PodPtr& pod, Symbol node, const Attempt& attempt) {
    entries_.push_back({Kind::attempt, false, node, at_ns, pod, attempt});
    prefetch(entries_.size() + k_prefetched);
  }
  /// A look after so many of these records. Requires: there are records, or one follows; looks come in their order.
  void add_look(std::size_t records_before) { looks_.push_back(records_before); }

  /// `put(Record&, std::size_t number)` for each, in order; of a look, the number of the record that follows it. Records
  /// give up what they hold.
  template <typename Put>
  void for_each(const SymbolTable& symbols, Put&& put) {
    std::size_t looks = 0, whole = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      for (; looks < looks_.size() && looks_[looks] <= i; ++looks) put_look(entries_[i].at_ns, i, put);
      Entry& entry = entries_[i];
      if (entry.is_whole) {
        put(whole_[whole++], i);
        continue;
      }
      Record record;
      record.kind = entry.kind;
      record.at_ns = entry.at_ns;
      if (entry.node != k_no_symbol) record.text = symbols.text(entry.node);
      record.attempt = entry.attempt;
      record.pod = std::move(entry.pod);
      put(record, i);
    }
    if (entries_.empty()) return;  // a look alone has no moment
    for (; looks < looks_.size(); ++looks) put_look(entries_.back().at_ns, entries_.size(), put);
  }
  void clear() noexcept {
    entries_.clear();
    whole_.clear();
    looks_.clear();
  }

 private:
  /// The entry of that number is about to be written. The writer's processor has it, which emptied it the last time.
  void prefetch(std::size_t number) const noexcept {
    if (number >= entries_.capacity()) return;
    __builtin_prefetch(entries_.data() + number, 1);
    __builtin_prefetch(entries_.data() + number + 1, 1);
  }

  static constexpr std::size_t k_prefetched = 3;
  struct Entry {
    Kind kind;
    bool is_whole;  // it is the next of whole_
    Symbol node;  // not the node itself: its count of owners would move from processor to processor with each decision
    std::int64_t at_ns;
    model::PodPtr pod;
    Attempt attempt;
  };

  template <typename Put>
  static void put_look(std::int64_t at_ns, std::size_t number, Put&& put) {
    Record look;
    look.kind = Kind::look;
    look.at_ns = at_ns;
    put(look, number);
  }

  std::vector<Entry> entries_;
  std::vector<Record> whole_;
  std::vector<std::size_t> looks_;  // how many records are before each
};

}  // namespace berth::recording
