// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/snapshot.hpp"
#include "framework/plugin_instance.hpp"
#include "isolation/child_process.hpp"

namespace berth::isolation {

/// What so many rows of a column take, a multiple of 64 of them.
std::size_t bytes_of(cache::ColumnWidth width, std::size_t rows) noexcept;

/// The node columns of one instance in the shared memory, as far as the snapshot has changed copied again; and room for what a
/// call brings besides. Threads: one at a time.
class Mirror {
 public:
  /// Of a process that has just begun: nothing is there yet.
  void reset() noexcept {
    capacity_ = 0;
    has_columns_ = false;
  }
  /// Divides the memory for so many slots, if it is not yet. False: there is not enough of it.
  bool reserve(ChildProcess& child, const framework::PluginInstance& plugin, std::uint32_t slots);

  std::uint64_t* nodes() const noexcept { return nodes_; }            // by slot
  std::uint64_t* candidates() const noexcept { return candidates_; }  // by slot
  berth_slot* slots() const noexcept { return slots_; }
  std::int64_t* scores() const noexcept { return scores_; }

  /// Writes the addresses of the block's columns, as the process has them, to `columns`. `resources`: of the pod, whose columns
  /// are bound to it. False: it asks for more of them than there is room for. Requires: reserve() for all slots.
  bool show(ChildProcess& child, const framework::PluginInstance& plugin, const berth_node_block_v1& block,
            std::uint32_t resources, std::uint64_t* columns);

 private:
  struct Column {
    std::byte* mirrored = nullptr;  // by slot
    std::byte* shown = nullptr;     // rows of a block that does not lie in the snapshot as it is
  };
  void follow(const framework::PluginInstance& plugin);

  std::uint32_t capacity_ = 0;
  std::uint64_t* nodes_ = nullptr;
  std::uint64_t* candidates_ = nullptr;
  berth_slot* slots_ = nullptr;
  std::int64_t* scores_ = nullptr;
  std::vector<Column> columns_;
  std::uint64_t* pod_pointers_ = nullptr;
  std::int64_t* pod_rows_ = nullptr;
  bool has_columns_ = false;  // the mirrored columns are those of followed_
  std::uint64_t followed_ = 0;
};

}  // namespace berth::isolation
