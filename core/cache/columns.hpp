// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "cache/node_row.hpp"

/// Columns over slots, computed from rows. Kinds have the numbers of the plugin ABI (ext/nodes.h).
namespace berth::cache {

enum class ColumnKind : std::uint32_t {
  free = 1,
  capacity = 2,
  requested = 3,
  nonzero = 4,
  pods = 5,
  label = 6,
  taint_set = 7,
  name = 8,
  unschedulable = 9,
  image_set = 10,
  port_set = 11,
  feature_set = 12,
  annotation = 13,
  label_set = 14,
  allowed_pods = 15,  // host's own: CAPACITY of "pods"
  volume_set = 17,
  condition = 18,
  nothing = 19,  // host's own: 0 everywhere, for what no node has
  listed = 20,
  status_capacity = 21,
  has_allocatable = 22,
  has_status_capacity = 23,
  lists_pods = 24,  // host's own: HAS_ALLOCATABLE of "pods"
};

enum class ColumnWidth : std::uint8_t { bit, u32, i64 };

/// Which column: kind and, where the kind has one, the resource or label it is about.
struct ColumnSpec {
  ColumnKind kind = ColumnKind::free;
  ResourceIndex resource = 0;  // free, capacity, requested, nonzero
  Symbol key = 0;              // label, annotation, condition; listed and what follows: the resource's name
  friend bool operator==(const ColumnSpec&, const ColumnSpec&) = default;
  ColumnWidth width() const noexcept;
  /// True when the value changes with the pods on the node.
  bool usage() const noexcept;
};

using ColumnId = std::uint32_t;

/// One column's memory: 64-byte aligned, a multiple of 64 rows, unused rows zero.
class ColumnData {
 public:
  explicit ColumnData(ColumnWidth width) : width_(width) {}
  /// Grows to at least `rows` rows rounded up to 64; new rows are zero. Existing addresses may change.
  void reserve_rows(std::size_t rows);
  /// Writes the value that `row` has under `spec` at `index`.
  void put(const ColumnSpec& spec, const NodeRow& row, std::size_t index);
  void zero(std::size_t index) noexcept;
  /// Zeroes rows [first, end).
  void zero_rows(std::size_t first, std::size_t end) noexcept;
  /// Row i becomes row slots[i] of another column of the same width. Requires: room for slots.size() rows.
  void gather(const ColumnData& from, std::span<const Slot> slots) noexcept;
  /// gather() of one row. Requires: room for it.
  void take_row(const ColumnData& from, Slot slot) noexcept {
    if (width_ == ColumnWidth::i64)
      words_[0] = from.words_[slot];
    else
      gather(from, {&slot, 1});
  }
  const void* data() const noexcept { return words_.data(); }
  /// Address of a row that is a multiple of 64.
  const void* at(std::size_t row) const noexcept;
  ColumnWidth width() const noexcept { return width_; }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t bytes() const noexcept { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  ColumnWidth width_;
  std::size_t rows_ = 0;
  AlignedVector<std::uint64_t> words_;
};

}  // namespace berth::cache
