// SPDX-License-Identifier: Apache-2.0
#include "cache/snapshot.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "cache/shapes.hpp"
#include "model/object_bytes.hpp"

namespace berth::cache {

Snapshot::Snapshot() : journal_(k_journal_capacity), shape_changes_(k_shape_changes_kept) {}

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
  column_bytes_ += data->bytes();
  columns_.push_back({spec, std::move(data)});
  return static_cast<ColumnId>(columns_.size() - 1);
}

ColumnId Snapshot::resource_column(ColumnKind kind, ResourceIndex resource) {
  if (resource != k_no_resource) return ensure_column({kind, resource});
  if (!zeros_) zeros_ = ensure_column({ColumnKind::nothing});
  return *zeros_;
}

const Symbol* Snapshot::label_values(Symbol key) {
  if (!label_nodes_.contains(key))  // as many zeros of any width
    return static_cast<const Symbol*>(column(resource_column(ColumnKind::nothing, k_no_resource)).data());
  const auto [at, added] = label_index_.emplace(key, static_cast<std::uint32_t>(labels_.size()));
  if (added) {
    const ColumnSpec spec{ColumnKind::label, 0, key};
    auto data = std::make_unique<ColumnData>(spec.width());
    data->reserve_rows(rows_.size());
    for (Slot slot = 0; slot < rows_.size(); ++slot)
      if (rows_[slot].node) data->put(spec, rows_[slot], slot);
    label_bytes_ += data->bytes();
    labels_.push_back({key, refreshes_, std::move(data)});
  }
  LabelColumn& label = labels_[at->second];
  label.used = refreshes_;
  return static_cast<const Symbol*>(label.data->data());
}

/// Keys that no node has any more, and above the budget those that were used longest ago.
void Snapshot::drop_labels() {
  ++refreshes_;
  std::size_t kept_bytes = k_label_bytes_max;
  std::uint64_t used_since = 0;
  if (label_bytes_ > k_label_bytes_max) {
    std::vector<std::pair<std::uint64_t, std::size_t>> by_use;
    for (const LabelColumn& label : labels_) by_use.emplace_back(label.used, label.data->bytes());
    std::sort(by_use.rbegin(), by_use.rend());
    for (const auto& [used, bytes] : by_use) {
      if (bytes > kept_bytes) {
        used_since = used + 1;
        break;
      }
      kept_bytes -= bytes;
    }
  } else if (!labels_gone_) {
    return;
  }
  labels_gone_ = false;
  std::erase_if(labels_, [&](const LabelColumn& label) {
    if (label.used >= used_since && label_nodes_.contains(label.key)) return false;
    label_bytes_ -= label.data->bytes();
    return true;
  });
  label_index_.clear();
  for (std::uint32_t i = 0; i < labels_.size(); ++i) label_index_.emplace(labels_[i].key, i);
}

void Snapshot::count_labels(const model::Node& node, int by) {
  for (const model::Label& label : node.labels)
    if (by > 0) {
      ++label_nodes_[label.key];
    } else if (const auto at = label_nodes_.find(label.key); at != label_nodes_.end() && --at->second == 0) {
      label_nodes_.erase(at);
      labels_gone_ = true;
    }
}

Snapshot::ResourceColumns Snapshot::resource_columns(ResourceIndex resource) {
  if (resource == k_no_resource) {
    const ColumnId zeros = resource_column(ColumnKind::nothing, resource);
    return {zeros, zeros};
  }
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
  column_bytes_ = label_bytes_ = 0;
  for (Column& column : columns_) {
    column.data->reserve_rows(slots);
    column_bytes_ += column.data->bytes();
  }
  for (LabelColumn& label : labels_) {
    label.data->reserve_rows(slots);
    label_bytes_ += label.data->bytes();
  }
}

/// What a row's pods are now, and were when it was taken last.
void Snapshot::note_pods(Slot slot, const NodeRow& row, const PodOf& pod_of) {
  const auto pods_of = [](const NodeRow& of) {
    return of.node ? std::span<const PodHandle>(of.pods) : std::span<const PodHandle>();
  };
  const auto before = pods_of(rows_[slot]), after = pods_of(row);
  PodHandle highest = 0;
  for (const auto list : {before, after})
    for (const PodHandle handle : list) highest = std::max(highest, handle);
  if (handle_marks_.size() <= highest) handle_marks_.resize(std::size_t{highest} + 1, 0);
  const std::uint64_t was = ++last_mark_, stays = ++last_mark_;
  for (const PodHandle handle : before) handle_marks_[handle] = was;
  for (const PodHandle handle : after)
    if (handle_marks_[handle] == was) handle_marks_[handle] = stays;
  for (const PodHandle handle : before)
    if (handle_marks_[handle] == was) note_pod(pod_of(handle), slot, -1);
  for (const PodHandle handle : after)
    if (handle_marks_[handle] != stays) note_pod(pod_of(handle), slot, 1);
}

void Snapshot::note_pod(const model::PodPtr& pod, Slot slot, std::int32_t by) {
  pod_changes_.push_back({pod, slot, by, model::bytes_of(*pod)});
  ++pod_changes_end_;
  pod_change_bytes_ += pod_changes_.back().bytes;
  while (pod_changes_.size() > k_pod_changes_kept || pod_change_bytes_ > k_pod_change_bytes_max) {
    pod_change_bytes_ -= pod_changes_.front().bytes;
    pod_changes_.pop_front();
  }
}

void Snapshot::take(Slot slot, const NodeRow& row, const ShapeTable& shape_source, const PodOf& pod_of) {
  NodeRow& mine = rows_[slot];
  const bool was = mine.node != nullptr, is = row.node != nullptr;
  const bool static_changed = was != is || mine.static_generation != row.static_generation;
  if (static_changed) ++facts_generation_;
  if (was && static_changed) by_name_.erase(mine.node->name_symbol);
  update_shapes(slot, row, shape_source);
  if (keeps_pod_changes_) note_pods(slot, row, pod_of);
  if (static_changed) {  // first the new ones: a key that stays is not thought to be gone
    if (is) count_labels(*row.node, +1);
    if (was) count_labels(*mine.node, -1);
  }
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
  if (static_changed)
    for (LabelColumn& label : labels_) {
      if (is)
        label.data->put({ColumnKind::label, 0, label.key}, row, slot);
      else
        label.data->zero(slot);
    }
  journal_[journal_end_++ & (k_journal_capacity - 1)] = slot;
}

void Snapshot::note_change(ShapeId shape, Slot slot, std::int64_t by) {
  shape_changes_[shape_changes_end_++ & (k_shape_changes_kept - 1)] = {shapes_[shape].incarnation, shape, slot,
                                                                       static_cast<std::int32_t>(by)};
}

void Snapshot::drop_shape_node(ShapeId shape, std::uint32_t position) {
  auto& nodes = shapes_[shape].nodes;
  note_change(shape, nodes[position].slot, -static_cast<std::int64_t>(nodes[position].count));
  nodes[position] = nodes.back();
  nodes.pop_back();
  if (position < nodes.size())  // the last node moved: tell its slot
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
      std::uint32_t& count = shapes_[ref.shape].nodes[ref.position].count;
      if (count != now->count) note_change(ref.shape, slot, std::int64_t{now->count} - count);
      count = now->count;
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
      s.incarnation = ++incarnations_;
      s.affinity = exemplar->spec->affinity.present;
      s.required_anti = !exemplar->spec->affinity.anti_required.empty();
      if (s.affinity) with_affinity_.push_back(want.shape);
      if (s.required_anti) with_required_anti_.push_back(want.shape);
    }
    s.exemplar = exemplar;
    refs.push_back({want.shape, static_cast<std::uint32_t>(s.nodes.size())});
    s.nodes.push_back({slot, want.count});
    note_change(want.shape, slot, want.count);
  }
}

void Snapshot::reorder(std::vector<Slot> order) {
  order_ = std::move(order);
  std::fill(order_index_.begin(), order_index_.end(), k_no_slot);
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_index_[order_[i]] = i;
  ++membership_generation_;
}

}  // namespace berth::cache
