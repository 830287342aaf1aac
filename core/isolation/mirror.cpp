// SPDX-License-Identifier: Apache-2.0
#include "isolation/mirror.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace berth::isolation {

using cache::ColumnWidth;
using framework::BoundColumn;

namespace {

constexpr std::uint32_t k_slots_least = 1024;
constexpr std::size_t k_pod_columns = 128;  // two for each resource of the pod
constexpr std::size_t k_align = 64;

constexpr std::size_t padded(std::size_t rows) noexcept { return (rows + 63) / 64 * 64; }

/// Hands out what is behind the Region, from its beginning.
class Divider {
 public:
  explicit Divider(ChildProcess& child) noexcept : at_(child.divided()), left_(child.divided_bytes()) {}
  std::byte* take(std::size_t bytes) noexcept {
    bytes = (bytes + k_align - 1) / k_align * k_align;
    if (bytes > left_) {
      is_short_ = true;
      return nullptr;
    }
    std::byte* const out = at_;
    at_ += bytes;
    left_ -= bytes;
    return out;
  }
  bool is_short() const noexcept { return is_short_; }

 private:
  std::byte* at_;
  std::size_t left_;
  bool is_short_ = false;
};

}  // namespace

std::size_t bytes_of(ColumnWidth width, std::size_t rows) noexcept {
  switch (width) {
    case ColumnWidth::bit:
      return rows / 8;
    case ColumnWidth::u32:
      return rows * sizeof(std::uint32_t);
    case ColumnWidth::i64:
      return rows * sizeof(std::int64_t);
  }
  return 0;
}

bool Mirror::reserve(ChildProcess& child, const framework::PluginInstance& plugin, std::uint32_t slots) {
  if (capacity_ >= slots && capacity_ != 0) return true;
  if (slots > std::uint32_t{1} << 30) return false;
  const std::uint32_t capacity = std::bit_ceil(std::max(slots, k_slots_least));
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  Divider memory(child);
  nodes_ = reinterpret_cast<std::uint64_t*>(memory.take(capacity / 8));
  candidates_ = reinterpret_cast<std::uint64_t*>(memory.take(capacity / 8));
  slots_ = reinterpret_cast<berth_slot*>(memory.take(std::size_t{capacity} * sizeof(berth_slot)));
  scores_ = reinterpret_cast<std::int64_t*>(memory.take(std::size_t{capacity} * sizeof(std::int64_t)));
  pod_pointers_ = nullptr;
  if (plugin.pod_bound()) {
    pod_pointers_ = reinterpret_cast<std::uint64_t*>(memory.take(k_pod_columns * sizeof(std::uint64_t)));
    pod_rows_ = reinterpret_cast<std::int64_t*>(memory.take(k_pod_columns * k_rows_max * sizeof(std::int64_t)));
  }
  columns_.clear();
  for (const BoundColumn& bound : plugin.columns()) {
    Column& column = columns_.emplace_back();
    if (bound.kind != BoundColumn::Kind::plain) continue;
    const ColumnWidth width = snapshot.spec(bound.id).width();
    column.shown = memory.take(bytes_of(width, k_rows_max));
    column.mirrored = memory.take(bytes_of(width, capacity));
  }
  has_columns_ = false;
  capacity_ = memory.is_short() ? 0 : capacity;
  return capacity_ != 0;
}

void Mirror::follow(const framework::PluginInstance& plugin) {
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  const std::uint64_t end = snapshot.journal_end();
  const bool is_whole =
      !has_columns_ || end - followed_ > cache::Snapshot::k_journal_capacity || end - followed_ > snapshot.slot_count();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].mirrored == nullptr) continue;
    const cache::ColumnData& from = snapshot.column(plugin.columns()[i].id);
    const auto* const source = static_cast<const std::byte*>(from.data());
    std::byte* const to = columns_[i].mirrored;
    const std::size_t rows = std::min<std::size_t>(from.rows(), capacity_);
    if (is_whole) {
      std::memcpy(to, source, bytes_of(from.width(), rows));
      continue;
    }
    for (std::uint64_t position = followed_; position < end; ++position) {
      const cache::Slot slot = snapshot.journal(position);
      if (slot >= rows) continue;
      const std::size_t size = from.width() == ColumnWidth::u32 ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
      const std::size_t place = from.width() == ColumnWidth::bit ? slot / 64 : slot;
      std::memcpy(to + place * size, source + place * size, size);
    }
  }
  has_columns_ = true;
  followed_ = end;
}

bool Mirror::show(ChildProcess& child, const framework::PluginInstance& plugin, const berth_node_block_v1& block,
                  std::uint32_t resources, std::uint64_t* columns) {
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  const bool lies_in_snapshot = block.slots == nullptr;
  if (lies_in_snapshot && (!has_columns_ || followed_ != snapshot.journal_end())) follow(plugin);
  std::size_t pod_columns = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const void* const given = block.columns[i];
    const BoundColumn& bound = plugin.columns()[i];
    if (given == nullptr) {
      columns[i] = 0;
      continue;
    }
    if (bound.kind != BoundColumn::Kind::plain) {
      if (pod_columns + resources > k_pod_columns) return false;
      const auto* const lists = static_cast<const std::int64_t* const*>(given);
      std::uint64_t* const pointers = pod_pointers_ + pod_columns;
      for (std::uint32_t r = 0; r < resources; ++r, ++pod_columns) {
        std::int64_t* const rows = pod_rows_ + pod_columns * k_rows_max;
        std::memcpy(rows, lists[r], padded(block.rows) * sizeof(std::int64_t));
        pod_pointers_[pod_columns] = child.there(rows);
      }
      columns[i] = child.there(pointers);
      continue;
    }
    const ColumnWidth width = snapshot.spec(bound.id).width();
    if (lies_in_snapshot && given == snapshot.column(bound.id).at(block.first_slot)) {
      columns[i] = child.there(columns_[i].mirrored + bytes_of(width, block.first_slot));
      continue;
    }
    std::memcpy(columns_[i].shown, given, bytes_of(width, padded(block.rows)));
    columns[i] = child.there(columns_[i].shown);
  }
  return true;
}

}  // namespace berth::isolation
