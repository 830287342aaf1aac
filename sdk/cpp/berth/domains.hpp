// SPDX-License-Identifier: Apache-2.0
/// Domains: how the nodes of a snapshot fall into groups by the value of one label ("zone", "hostname"), for policies
/// that count things per group.
///
/// A table numbers the values densely, so counters are plain arrays and a look-up by slot is one load. DomainCache
/// keeps the tables between cycles and compares the label column with what it saw last: an unchanged column costs one
/// memcmp.
///
/// Threads: DomainCache [cycle]. A table is immutable; a holder of the pointer may read it from any thread.
/// Errors:  std::bad_alloc only. Units: a table takes about 4 bytes per slot, and a copy of the column as much again.
/// Source:  kubernetes v1.36 counts by value in maps; the numbers here stand for the same values.
#pragma once
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

namespace berth {
inline namespace sdk {
namespace detail {

/// 1, 2, …; none twice in a process, per plugin file: the counter is a static of the header.
inline std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace detail

/// The table of one label key for one state of the nodes. Numbers of domains are of this table alone.
struct Domains {
  std::vector<std::uint32_t> of;     ///< by slot, padded to 64: domain 1.., or 0 for "no such label" and "no such node"
  std::vector<Id> values;            ///< by domain: the label's value; [0] is 0
  std::vector<std::uint64_t> nodes;  ///< bitmap by slot: nodes of the snapshot that carry the label
  std::uint64_t number = 0;          ///< of the table; no other has it

  /// Size of an array with one element per domain; element 0 stands for "no domain".
  std::size_t size() const noexcept { return values.size(); }
  /// 0 for slots beyond the table.
  std::uint32_t at(Slot slot) const noexcept { return slot < of.size() ? of[slot] : 0; }
  /// Domains of the 64 rows of a word: the table itself where rows are slots in order, else copied into `gathered`. 0
  /// for rows that are no nodes. Lives as long as both the table and `gathered`.
  const std::uint32_t* rows(const Block& block, std::uint32_t word, std::uint32_t (&gathered)[64]) const noexcept {
    // Whole words of slots in order are read where they lie; a gathered block, or one at the end of the table, is
    // not.
    const std::size_t first = std::size_t{block.first_slot()} + std::size_t{64} * word;
    if (block.contiguous() && first + 64 <= of.size()) return of.data() + first;
    for (std::uint32_t i = 0; i < 64; ++i)
      gathered[i] = word * 64 + i < block.rows() ? at(block.slot(word * 64 + i)) : 0;
    return gathered;
  }
};

/// Up to 32 tables by label key; the one that was used longest ago goes first. A policy keeps one of these.
class DomainCache {
 public:
  using Table = std::shared_ptr<const Domains>;  ///< outlives the cache

  /// The table of the key for the snapshot of the attempt. Equal tables are one object: its `number` tells whether
  /// anything has changed. Requires: column is labels.column(cycle, key). facts: NodeColumns::facts(), with which an
  /// unchanged column costs nothing; 0: not known.
  Table get(const Cycle& cycle, Id key, const Id* column, std::uint64_t facts = 0) {
    const auto nodes = cycle.nodes();
    // Tables are padded, so that 64 rows can be read at once.
    const std::size_t slots = nodes.size() * 64;
    ++clock_;
    Entry* entry = nullptr;
    for (Entry& e : entries_)
      if (e.key == key) entry = &e;
    if (entry == nullptr) entry = &make_room(key);
    entry->used = clock_;
    // Nothing has changed that a column of labels could show.
    if (facts != 0 && entry->facts == facts && entry->table) return entry->table;
    entry->facts = facts;
    // Another number of facts may still leave this label as it was: the table, and what was counted with it, stays.
    const bool same = entry->table && entry->slots == cycle.slot_count() && entry->nodes.size() == nodes.size() &&
                      std::equal(nodes.begin(), nodes.end(), entry->nodes.begin()) &&
                      std::memcmp(entry->column.data(), column, cycle.slot_count() * sizeof(Id)) == 0;
    if (!same) {
      entry->slots = cycle.slot_count();
      entry->nodes.assign(nodes.begin(), nodes.end());
      entry->column.assign(column, column + cycle.slot_count());
      entry->table = number_values(entry->column, entry->nodes, slots);
    }
    return entry->table;
  }

 private:
  static constexpr std::size_t k_tables_max = 32;

  // What a table was made of, to compare with.
  struct Entry {
    Id key = 0;
    std::uint64_t used = 0;
    std::uint64_t facts = 0;
    std::uint32_t slots = 0;
    std::vector<std::uint64_t> nodes;
    std::vector<Id> column;
    Table table;
  };

  /// An empty entry for the key.
  Entry& make_room(Id key) {
    if (entries_.size() < k_tables_max) {
      entries_.emplace_back();
      entries_.back().key = key;
      return entries_.back();
    }
    // A policy that meets more keys than that makes tables again and again, and holds no more memory.
    Entry& oldest = *std::min_element(entries_.begin(), entries_.end(),
                                      [](const Entry& a, const Entry& b) { return a.used < b.used; });
    oldest = Entry{};
    oldest.key = key;
    return oldest;
  }

  /// Domains in the order of the slots in which they first occur.
  Table number_values(const std::vector<Id>& column, const std::vector<std::uint64_t>& nodes, std::size_t slots) {
    auto table = std::make_shared<Domains>();
    table->of.assign(slots, 0);
    table->nodes.assign(nodes.size(), 0);
    table->values.assign(1, 0);
    table->number = detail::next_number();
    // Ids are dense enough for an array; the array grows with the highest id that was met.
    Id highest = 0;
    for (const Id value : column) highest = std::max(highest, value);
    // By value id. A stamp in the upper half saves clearing it for every table.
    if (number_of_.size() <= highest) number_of_.resize(std::size_t{highest} + 1, 0);
    if (++stamp_ >> 32 != 0) {
      std::fill(number_of_.begin(), number_of_.end(), 0);
      stamp_ = 1;
    }
    for (std::size_t w = 0; w < nodes.size(); ++w) {
      each_bit(nodes[w], [&](std::uint32_t bit) {
        const std::size_t slot = w * 64 + bit;
        const Id value = slot < column.size() ? column[slot] : 0;
        if (value == 0) return;
        std::uint64_t& known = number_of_[value];
        if (known >> 32 != stamp_) {
          known = stamp_ << 32 | table->values.size();
          table->values.push_back(value);
        }
        table->of[slot] = static_cast<std::uint32_t>(known);
        table->nodes[w] |= std::uint64_t{1} << bit;
      });
    }
    return table;
  }

  std::vector<Entry> entries_;            ///< at most k_tables_max
  std::vector<std::uint64_t> number_of_;  ///< by value id: stamp and domain
  std::uint64_t stamp_ = 0;               // one per rebuilt table
  std::uint64_t clock_ = 0;               ///< counts calls of get()
};

}  // namespace sdk
}  // namespace berth
