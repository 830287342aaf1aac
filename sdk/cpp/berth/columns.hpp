// SPDX-License-Identifier: Apache-2.0
/// Nodes as a policy sees them: typed column handles, and three views of a block.
///
///   Block  all rows of a call, as arrays
///   Rows   64 rows at a time: rows[column] compares to a Mask
///   Row    one row: row[column] is a value. Simple, and about ten times slower than Rows
///
/// Handles come from Setup in the constructor. Views borrow from the host and live for the call.
///
/// Shapes:   a block has 1..4096 rows; a column as many values, 64-byte aligned and padded to a multiple of 64 with zeros.
/// Units:    cpu in milli-cores, memory and storage in bytes, pods in pods, as the kind of the column says (ext/nodes.h).
/// Threads:  any, as the call that was given the block: nothing here writes to it.
/// Errors:   none. A handle of another instance, or one that was default-constructed, reads beyond the columns.
#pragma once
#include <berth/mask.hpp>

namespace berth {
inline namespace sdk {

/// Handle of a column of int64 or Id values. Default-constructed handles must not be used.
/// Copied freely; means something to the instance whose constructor asked for it.
template <class T>
struct Column {
  std::uint32_t index = BERTH_NO_COLUMN;  ///< of berth_node_block_v1::columns
};
/// Amounts of a resource, and numbers of pods.
using IntColumn = Column<std::int64_t>;
/// Interned texts, 0 where absent, or numbers of sets, whose members the service Sets has.
using IdColumn = Column<Id>;

/// Handle of a bitmap column: bit i & 63 of word i >> 6 is row i.
struct BitColumn {
  std::uint32_t index = BERTH_NO_COLUMN;  ///< likewise
};

/// Handle of a column that follows the pod: one array per entry of Pod::resources(), in that order.
struct PodColumns {
  std::uint32_t index = BERTH_NO_COLUMN;  ///< likewise
};

/// 64 values of a column. Pad rows and rows that are no candidates may hold zero.
/// Borrows; two pointers are not compared by ==, their values are. Comparisons compile to vector code, so a rule by
/// Mask costs less than one look-up per row.
template <class T>
class Lane {
 public:
  /// Requires: 64 values that can be read.
  explicit constexpr Lane(const T* values) noexcept : values_(values) {}
  /// Requires: row < 64.
  T operator[](unsigned row) const noexcept { return values_[row]; }
  /// 64 values, 64-byte aligned: for loops that the compiler is to vectorise.
  const T* data() const noexcept { return values_; }

  // Bit i of the Mask is what the comparison says of value i, of all 64 rows, candidates or not.
  friend Mask operator==(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x == b; });
  }
  friend Mask operator!=(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x != b; });
  }
  // Of Ids only == and != mean something: their order is that of interning.
  friend Mask operator<(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x < b; });
  }
  friend Mask operator<=(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x <= b; });
  }
  friend Mask operator>(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x > b; });
  }
  friend Mask operator>=(Lane a, T b) noexcept {
    return compare(a, [b](T x) { return x >= b; });
  }
  // The same of two columns, row by row.
  friend Mask operator==(Lane a, Lane b) noexcept {
    return compare(a, b, [](T x, T y) { return x == y; });
  }
  friend Mask operator!=(Lane a, Lane b) noexcept {
    return compare(a, b, [](T x, T y) { return x != y; });
  }
  friend Mask operator<(Lane a, Lane b) noexcept {
    return compare(a, b, [](T x, T y) { return x < y; });
  }
  friend Mask operator<=(Lane a, Lane b) noexcept {
    return compare(a, b, [](T x, T y) { return x <= y; });
  }

 private:
  // Without branches, and for all 64 rows: reading pad rows is allowed, they hold 0.
  template <class Test>
  static Mask compare(Lane a, Test test) noexcept {
    const T* x = a.values_;
    return detail::mask_of([&](unsigned i) { return test(x[i]); });
  }
  template <class Test>
  static Mask compare(Lane a, Lane b, Test test) noexcept {
    const T* x = a.values_;
    const T* y = b.values_;
    return detail::mask_of([&](unsigned i) { return test(x[i], y[i]); });
  }

  const T* values_;
};

class Rows;
class Row;

/// A borrowed berth_node_block_v1.
/// A slice of the nodes for one pod, for one call. Filter and score may be called for several blocks of an attempt at
/// once.
class Block {
 public:
  /// `raw` is not null and outlives the block.
  explicit Block(const berth_node_block_v1* raw) noexcept : raw_(raw) {}

  /// 1..4096.
  std::uint32_t rows() const noexcept { return raw_->rows; }
  /// Of 64 rows each, the last one possibly with pad rows.
  std::uint32_t words() const noexcept { return (raw_->rows + 63u) / 64u; }
  /// Rows of a word that need an answer; bits of pad rows are 0.
  std::uint64_t candidates(std::uint32_t word) const noexcept { return raw_->candidates[word]; }
  /// By word, words() of them.
  std::span<const std::uint64_t> candidates() const noexcept { return {raw_->candidates, words()}; }
  /// BERTH_NO_SLOT for a row that is no node of the snapshot.
  Slot slot(std::uint32_t row) const noexcept {
    return raw_->slots == nullptr ? raw_->first_slot + row : raw_->slots[row];
  }
  /// True when row i is slot first_slot() + i.
  /// A slice of the snapshot, as opposed to a gathered block, whose rows are in any order.
  bool contiguous() const noexcept { return raw_->slots == nullptr; }
  /// Means something where contiguous() only.
  Slot first_slot() const noexcept { return raw_->first_slot; }

  /// By row, padded. Rows that are no candidates may hold 0: never divide by a column without a guard.
  template <class T>
  const T* operator[](Column<T> column) const noexcept {
    return static_cast<const T*>(raw_->columns[column.index]);
  }
  /// By word, words() of them.
  const std::uint64_t* operator[](BitColumn column) const noexcept {
    return static_cast<const std::uint64_t*>(raw_->columns[column.index]);
  }
  /// [r][row]: the pod's r-th resource. nullptr when no pod is at hand.
  const std::int64_t* const* operator[](PodColumns columns) const noexcept {
    return static_cast<const std::int64_t* const*>(raw_->columns[columns.index]);
  }

  /// Requires: index < words().
  inline Rows word(std::uint32_t index) const noexcept;
  /// Requires: index < rows().
  inline Row row(std::uint32_t index) const noexcept;
  /// visit(row) for each candidate.
  /// In ascending order. What visit throws goes through, to the exception barrier of the call.
  template <class Visit>
  void each_candidate(Visit&& visit) const {
    for (std::uint32_t w = 0; w < words(); ++w)
      each_bit(candidates(w), [&](std::uint32_t bit) { visit(w * 64 + bit); });
  }
  /// For what the wrapper does not show. Lives as long as the call.
  const berth_node_block_v1* raw() const noexcept { return raw_; }

 private:
  const berth_node_block_v1* raw_;
};

/// 64 rows of a block, the last ones possibly padding.
/// What the usual filter is given. Cheap to copy: a pointer and a number.
class Rows {
 public:
  /// Requires: word < block.words().
  Rows(Block block, std::uint32_t word) noexcept : block_(block), word_(word) {}
  /// The 64 values of the column; lives for the call.
  template <class T>
  Lane<T> operator[](Column<T> column) const noexcept {
    return Lane<T>(block_[column] + std::size_t{64} * word_);
  }
  /// Rows whose bit is set.
  Mask operator[](BitColumn column) const noexcept { return Mask(block_[column][word_]); }
  /// Rows that need an answer; the others may be computed and are left alone.
  Mask candidates() const noexcept { return Mask(block_.candidates(word_)); }
  /// Requires: row < 64, and no pad row.
  Slot slot(unsigned row) const noexcept { return block_.slot(word_ * 64 + row); }
  /// Place in the block: row i here is row 64 * word() + i there.
  std::uint32_t word() const noexcept { return word_; }
  /// For what is said of the block as a whole; lives as long as this object.
  const Block& block() const noexcept { return block_; }

 private:
  Block block_;
  std::uint32_t word_;
};

/// One row of a block.
/// What filter_each and score_each are given, and use() of BindCall::node(): a pointer and a number.
class Row {
 public:
  /// Requires: row < block.rows().
  Row(Block block, std::uint32_t row) noexcept : block_(block), row_(row) {}
  /// The value of the node. 0 for an absent label, and for a resource that the node does not name.
  template <class T>
  T operator[](Column<T> column) const noexcept {
    return block_[column][row_];
  }
  /// The node's bit.
  bool operator[](BitColumn column) const noexcept { return (block_[column][row_ >> 6] >> (row_ & 63) & 1u) != 0; }
  /// BERTH_NO_SLOT in a hint about a node that is not in the snapshot.
  Slot slot() const noexcept { return block_.slot(row_); }
  /// Place in the block.
  std::uint32_t index() const noexcept { return row_; }

 private:
  Block block_;
  std::uint32_t row_;
};

inline Rows Block::word(std::uint32_t index) const noexcept { return Rows(*this, index); }
inline Row Block::row(std::uint32_t index) const noexcept { return Row(*this, index); }

/// Calls visit(value, rows) once per distinct value among the rows of `mask`: clusters have few distinct sets, so a
/// verdict per set and one comparison of 64 ids is cheaper than a look-up per row. The rows of all visits together
/// are `mask`.
template <class T, class Visit>
void each_distinct(Lane<T> lane, Mask mask, Visit&& visit) {
  while (mask.any()) {
    const T value = lane[static_cast<unsigned>(std::countr_zero(mask.bits()))];
    const Mask same = lane == value && mask;
    visit(value, same);
    mask &= !same;
  }
}

/// Remembers answers about set ids for the length of a call: a direct-mapped table, so a miss costs one
/// recomputation. Answer is default-constructed k_size times. Not beyond the call: numbers of sets come back for
/// other lists (Sets::recycled).
template <class Answer, std::size_t k_size = 64>
class SetMemo {
 public:
  /// compute(set) must be a pure function. The answer lives until the next get().
  template <class Compute>
  const Answer& get(std::uint32_t set, Compute&& compute) {
    Line& line = lines_[set % k_size];
    if (!line.known || line.set != set) line = Line{compute(set), set, true};
    return line.answer;
  }

 private:
  // known: the line is in use; set: of which set the answer is.
  struct Line {
    Answer answer{};
    std::uint32_t set = 0;
    bool known = false;
  };
  Line lines_[k_size] = {};
};

}  // namespace sdk
}  // namespace berth
