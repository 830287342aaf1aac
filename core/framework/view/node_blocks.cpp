// SPDX-License-Identifier: Apache-2.0
#include "framework/view/node_blocks.hpp"

#include "framework/plugin_instance.hpp"

namespace berth::framework {

Block NodeBlocks::gathered(std::span<const cache::Slot> slots) {
  BERTH_CHECK(slots.size() <= k_max_block_rows, "{} rows in one block", slots.size());
  ++gather_serial_;
  return {Block::Kind::gathered, 0, static_cast<std::uint32_t>(slots.size()), slots.data()};
}

Block NodeBlocks::what_if(cache::Slot slot, const cache::NodeRow& row) {
  ++imagine_serial_;
  imagined_row_ = &row;
  imagined_slot_ = slot;
  return {Block::Kind::what_if, slot, 1, &imagined_slot_};
}

Block NodeBlocks::what_if_rows(std::span<const cache::Slot> slots) {
  BERTH_CHECK(slots.size() <= k_max_block_rows, "{} rows in one block", slots.size());
  ++rows_serial_;
  row_slots_ = slots;
  return {Block::Kind::what_if_rows, 0, static_cast<std::uint32_t>(slots.size()), slots.data()};
}

std::int64_t* NodeBlocks::changing(cache::ColumnId id) {
  BERTH_CHECK(snapshot_.spec(id).width() == cache::ColumnWidth::i64, "column {} holds no amounts", id);
  return static_cast<std::int64_t*>(const_cast<void*>(rows_of(id).data.data()));
}

Block NodeBlocks::what_if_row(std::uint32_t row) {
  ++single_serial_;
  single_row_ = row;
  return {Block::Kind::what_if_row, row_slots_[row], 1, &row_slots_[row]};
}

NodeBlocks::Scratch& NodeBlocks::rows_of(cache::ColumnId id) {
  Scratch& scratch = scratch_for(rows_, id);
  if (scratch.serial == rows_serial_) return scratch;
  scratch.serial = rows_serial_;
  const auto rows = static_cast<std::uint32_t>(row_slots_.size());
  scratch.data.reserve_rows(rows);
  scratch.data.gather(snapshot_.column(id), row_slots_);
  scratch.data.zero_rows(rows, scratch.dirty_rows);
  scratch.dirty_rows = rows;
  return scratch;
}

const void* NodeBlocks::single(cache::ColumnId id) {
  Scratch& scratch = scratch_for(single_, id);
  if (scratch.serial == single_serial_) return scratch.data.data();
  scratch.serial = single_serial_;
  scratch.data.reserve_rows(1);
  const cache::Slot row = single_row_;
  scratch.data.gather(rows_of(id).data, {&row, 1});
  return scratch.data.data();
}

NodeBlocks::Scratch& NodeBlocks::scratch_for(std::vector<Scratch>& all, cache::ColumnId id) {
  while (all.size() <= id)
    all.push_back({cache::ColumnData(snapshot_.spec(static_cast<cache::ColumnId>(all.size())).width())});
  return all[id];
}

const void* NodeBlocks::gather(const Block& block, cache::ColumnId id) {
  // Most blocks are the one node on which a pod was placed.
  if (block.rows == 1 && id < gathered_.size() && gathered_[id].dirty_rows == 1) {
    Scratch& known = gathered_[id];
    if (known.serial == gather_serial_) return known.data.data();
    known.serial = gather_serial_;
    known.data.take_row(snapshot_.column(id), block.slots[0]);
    return known.data.data();
  }
  Scratch& scratch = scratch_for(gathered_, id);
  if (scratch.serial == gather_serial_) return scratch.data.data();
  scratch.serial = gather_serial_;
  scratch.data.reserve_rows(block.rows);
  scratch.data.gather(snapshot_.column(id), {block.slots, block.rows});
  // A large block leaves rows behind; they are cleared once, so that small blocks after it clear next to nothing.
  scratch.data.zero_rows(block.rows, scratch.dirty_rows);
  scratch.dirty_rows = block.rows;
  return scratch.data.data();
}

const void* NodeBlocks::imagine(cache::ColumnId id) {
  Scratch& scratch = scratch_for(imagined_, id);
  if (scratch.serial == imagine_serial_) return scratch.data.data();
  scratch.serial = imagine_serial_;
  scratch.data.reserve_rows(1);
  scratch.data.put(snapshot_.spec(id), *imagined_row_, 0);
  return scratch.data.data();
}

const void* NodeBlocks::column(const Block& block, cache::ColumnId id) {
  switch (block.kind) {
    case Block::Kind::contiguous:
      return snapshot_.column(id).at(block.first_slot);
    case Block::Kind::gathered:
      return gather(block, id);
    case Block::Kind::what_if:
      return imagine(id);
    case Block::Kind::what_if_rows:
      return rows_of(id).data.data();
    case Block::Kind::what_if_row:
      return single(id);
  }
  return nullptr;
}

const berth_node_block_v1* NodeBlocks::bind(const Block& block, const PluginInstance& plugin, CycleContext* context,
                                            const std::uint64_t* candidates) {
  const auto& columns = plugin.columns();
  pointers_.resize(columns.size());
  if (plugin.pod_bound() && context != nullptr) {
    const auto resources = context->resource_columns();
    pod_columns_.resize(resources.size() * 2);
    for (std::size_t i = 0; i < resources.size(); ++i) {
      pod_columns_[i] = static_cast<const std::int64_t*>(column(block, resources[i].free));
      pod_columns_[resources.size() + i] = static_cast<const std::int64_t*>(column(block, resources[i].capacity));
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    switch (columns[i].kind) {
      case BoundColumn::Kind::plain:
        pointers_[i] = column(block, columns[i].id);
        break;
      case BoundColumn::Kind::pod_free:
        pointers_[i] = context != nullptr ? pod_columns_.data() : nullptr;
        break;
      case BoundColumn::Kind::pod_allocatable:
        pointers_[i] = context != nullptr ? pod_columns_.data() + pod_columns_.size() / 2 : nullptr;
        break;
    }
  }
  abi_ = {sizeof(berth_node_block_v1),
          block.rows,
          block.first_slot,
          static_cast<std::uint32_t>(columns.size()),
          block.slots,
          candidates,
          pointers_.data()};
  return &abi_;
}

}  // namespace berth::framework
