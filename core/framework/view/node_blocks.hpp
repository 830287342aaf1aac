// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "berth/ext/nodes.h"
#include "cache/snapshot.hpp"
#include "framework/cycle_context.hpp"

namespace berth::framework {

inline constexpr std::uint32_t k_block_rows = 1024;      // contiguous blocks: 8 KiB per int64 column
inline constexpr std::uint32_t k_max_block_rows = 4096;  // the ABI's limit, used by gathered blocks

/// Which nodes a block is about.
struct Block {
  enum class Kind : std::uint8_t { contiguous, gathered, what_if, what_if_rows, what_if_row };
  Kind kind = Kind::contiguous;
  cache::Slot first_slot = 0;
  std::uint32_t rows = 0;
  const cache::Slot* slots = nullptr;  // all but contiguous

  cache::Slot slot(std::uint32_t row) const noexcept { return slots != nullptr ? slots[row] : first_slot + row; }
  std::size_t words() const noexcept { return (rows + 63) / 64; }
};

/// Shows nodes to plugins: runs of slots as they lie in the snapshot, a few slots copied together, or one node as it
/// would be.
///
/// Ownership: buffers belong to the assembler.
///            A gathered (what-if) block is valid until the next call that makes one of its kind;
///            what bind() returns until the next bind().
/// Threads:   one per thread.
class NodeBlocks {
 public:
  NodeBlocks(cache::Snapshot& snapshot) : snapshot_(snapshot) {}  // NOLINT: a reference is the whole wiring

  Block contiguous(cache::Slot first, std::uint32_t rows) const noexcept {
    return {Block::Kind::contiguous, first, rows, nullptr};
  }
  /// Requires: at most k_max_block_rows slots, which stay where they are while the block is used.
  Block gathered(std::span<const cache::Slot> slots);
  /// One row: `row` in place of what the snapshot says. slot may be k_no_slot for a node that is not in the snapshot.
  Block what_if(cache::Slot slot, const cache::NodeRow& row);
  /// Many nodes as they would be: rows begin as the snapshot has them, and changing() columns may be written until the
  /// next what_if_rows(). Requires: as for gathered().
  Block what_if_rows(std::span<const cache::Slot> slots);
  /// A 64-bit column of the rows of the last what_if_rows().
  std::int64_t* changing(cache::ColumnId id);
  /// One of those rows alone, as it stands now.
  Block what_if_row(std::uint32_t row);

  /// The block with the columns of one instance. `context` gives the pod's resources for pod-bound columns; null when
  /// there is no pod: those columns are NULL then.
  const berth_node_block_v1* bind(const Block& block, const PluginInstance& plugin, CycleContext* context,
                                  const std::uint64_t* candidates);
  const cache::Snapshot& snapshot() const noexcept { return snapshot_; }

 private:
  struct Scratch {
    cache::ColumnData data;
    std::uint64_t serial = 0;
    std::uint32_t dirty_rows = 0;
  };
  const void* column(const Block& block, cache::ColumnId id);
  Scratch& scratch_for(std::vector<Scratch>& all, cache::ColumnId id);
  const void* gather(const Block& block, cache::ColumnId id);
  const void* imagine(cache::ColumnId id);
  Scratch& rows_of(cache::ColumnId id);
  const void* single(cache::ColumnId id);

  cache::Snapshot& snapshot_;
  std::vector<Scratch> gathered_, imagined_, rows_, single_;  // by column
  std::uint64_t gather_serial_ = 1, imagine_serial_ = 1, rows_serial_ = 1, single_serial_ = 1;
  std::span<const cache::Slot> row_slots_;  // of the last what_if_rows()
  std::uint32_t single_row_ = 0;
  const cache::NodeRow* imagined_row_ = nullptr;
  cache::Slot imagined_slot_ = 0;
  std::vector<const void*> pointers_;
  std::vector<const std::int64_t*> pod_columns_;
  berth_node_block_v1 abi_{};
};

}  // namespace berth::framework
