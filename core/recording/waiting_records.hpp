// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "recording/record.hpp"

namespace berth::recording {

/// Records on their way to the thread that writes them, in their order. What comes with every change of a pod takes a small
/// entry; all else is kept whole. Attempts that placed a pod come another way: AttemptRing.
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
    Entry entry{record.kind, false, record.at_ns, {}};
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
  /// A look after so many of these records. Requires: there are records, or one follows; looks come in their order.
  void add_look(std::size_t records_before) { looks_.push_back(records_before); }

  /// For each in order `before(number)`, then `look()` for those that come next, then `put(Record&, number)`; `before(size())` and
  /// looks at the end. Records give up what they hold.
  template <typename Before, typename Look, typename Put>
  void for_each(Before&& before, Look&& look, Put&& put) {
    std::size_t looks = 0, whole = 0;
    const auto come_to = [&](std::size_t number) {
      before(number);
      for (; looks < looks_.size() && looks_[looks] <= number; ++looks) look();
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      come_to(i);
      Entry& entry = entries_[i];
      if (entry.is_whole) {
        put(whole_[whole++], i);
        continue;
      }
      Record record;
      record.kind = entry.kind;
      record.at_ns = entry.at_ns;
      record.pod = std::move(entry.pod);
      put(record, i);
    }
    come_to(entries_.size());
  }
  void clear() noexcept {
    entries_.clear();
    whole_.clear();
    looks_.clear();
  }

 private:
  struct Entry {
    Kind kind;
    bool is_whole;  // it is the next of whole_
    std::int64_t at_ns;
    model::PodPtr pod;
  };

  std::vector<Entry> entries_;
  std::vector<Record> whole_;
  std::vector<std::size_t> looks_;  // how many records are before each
};

}  // namespace berth::recording
