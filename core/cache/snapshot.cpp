// SPDX-License-Identifier: Apache-2.0
#include "cache/snapshot.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cache/shapes.hpp"

namespace berth::cache {

Snapshot::Snapshot() : journal_(k_journal_capacity) {}

Slot Snapshot::find(Symbol node_name) const noexcept {
  const auto it = by_name_.find(node_name);
  return it == by_name_.end() ? k_no_slot : it->second;
}

ColumnId Snapshot::ensure_column(const ColumnSpec& spec) {
  for (ColumnId id = 0; id < columns_.size(); ++id)
    if (columns_[id].spec == spec) return id;
  auto data = std::make_unique<ColumnData>(spec.width());
  data->reserve_rows(rows_.size());
  for (Slot slot = 0; slot < rows_.size(); ++slot)
    if (rows_[slot].node) data->put(spec, rows_[slot], slot);
  columns_.push_back({spec, std::move(data)});
  return static_cast<ColumnId>(columns_.size() - 1);
}

Snapshot::ResourceColumns Snapshot::resource_columns(ResourceIndex resource) {
  if (resource >= by_resource_.size()) by_resource_.resize(resource + 1);
  auto& known = by_resource_[resource];
  if (!known)
    known =
        ResourceColumns{ensure_column({ColumnKind::free, resource}), ensure_column({ColumnKind::capacity, resource})};
  return *known;
}

void Snapshot::resize(std::size_t slots) {
  if (slots <= rows_.size()) return;
  rows_.resize(slots);
  nodes_.resize(bitmap::words_for(slots), 0);
  order_index_.resize(slots, k_no_slot);
  shape_refs_.resize(slots);
  for (Column& column : columns_) column.data->reserve_rows(slots);
}

void Snapshot::take(Slot slot, const NodeRow& row, const ShapeTable& shape_source) {
  NodeRow& mine = rows_[slot];
  const bool was = mine.node != nullptr, is = row.node != nullptr;
  const bool static_changed = was != is || mine.static_generation != row.static_generation;
  if (was && static_changed) by_name_.erase(mine.node->name_symbol);
  update_shapes(slot, row, shape_source);
  mine = row;  // vectors keep their capacity
  if (is && static_changed) by_name_[row.node->name_symbol] = slot;
  if (was != is) {
    bitmap::assign(nodes_.data(), slot, is);
    node_count_ += is ? 1 : -1;
  }
  for (Column& column : columns_) {
    if (!is)
      column.data->zero(slot);
    else if (static_changed || column.spec.usage())
      column.data->put(column.spec, row, slot);
  }
  journal_[journal_end_++ & (k_journal_capacity - 1)] = slot;
}

void Snapshot::drop_shape_node(ShapeId shape, std::uint32_t position) {
  auto& nodes = shapes_[shape].nodes;
  nodes[position] = nodes.back();
  nodes.pop_back();
  if (position < nodes.size())  // somebody moved: tell its slot
    for (ShapeRef& ref : shape_refs_[nodes[position].slot])
      if (ref.shape == shape) ref.position = position;
  if (!nodes.empty()) return;
  --live_shapes_;
  SnapshotShape& s = shapes_[shape];
  if (s.affinity) std::erase(with_affinity_, shape);
  if (s.required_anti) std::erase(with_required_anti_, shape);
  s.exemplar.reset();
}

void Snapshot::update_shapes(Slot slot, const NodeRow& row, const ShapeTable& shape_source) {
  auto& refs = shape_refs_[slot];
  const auto wanted = row.node ? std::span<const ShapeCount>(row.shapes) : std::span<const ShapeCount>();
  // Shape ids may have been given to another shape since: then this slot had to be refreshed, and its old entry goes
  // first.
  for (std::size_t i = 0; i < refs.size();) {
    const ShapeRef ref = refs[i];
    const auto now =
        std::find_if(wanted.begin(), wanted.end(), [&](const ShapeCount& c) { return c.shape == ref.shape; });
    if (now != wanted.end()) {
      shapes_[ref.shape].nodes[ref.position].count = now->count;
      shapes_[ref.shape].exemplar = shape_source.at(ref.shape).exemplar;
      ++i;
      continue;
    }
    refs[i] = refs.back();
    refs.pop_back();
    drop_shape_node(ref.shape, ref.position);
  }
  for (const ShapeCount& want : wanted) {
    if (std::any_of(refs.begin(), refs.end(), [&](const ShapeRef& r) { return r.shape == want.shape; })) continue;
    if (want.shape >= shapes_.size()) shapes_.resize(want.shape + 1);
    SnapshotShape& s = shapes_[want.shape];
    const model::PodPtr& exemplar = shape_source.at(want.shape).exemplar;
    if (s.nodes.empty()) {
      ++live_shapes_;
      s.affinity = exemplar->spec->affinity.present;
      s.required_anti = !exemplar->spec->affinity.anti_required.empty();
      if (s.affinity) with_affinity_.push_back(want.shape);
      if (s.required_anti) with_required_anti_.push_back(want.shape);
    }
    s.exemplar = exemplar;
    refs.push_back({want.shape, static_cast<std::uint32_t>(s.nodes.size())});
    s.nodes.push_back({slot, want.count});
  }
}

void Snapshot::reorder(std::vector<Slot> order) {
  order_ = std::move(order);
  std::fill(order_index_.begin(), order_index_.end(), k_no_slot);
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_index_[order_[i]] = i;
  ++membership_generation_;
}

}  // namespace berth::cache
