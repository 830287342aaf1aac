// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cache/columns.hpp"
#include "cache/node_row.hpp"

namespace berth::cache {

struct ShapeNode {
  Slot slot = 0;
  std::uint32_t count = 0;
};
/// A shape as the snapshot sees it: where its pods are. Without nodes: unused id.
struct SnapshotShape {
  model::PodPtr exemplar;
  std::uint64_t incarnation = 0;  // ids come back, these never
  std::vector<ShapeNode> nodes;
  bool affinity = false;
  bool required_anti = false;
};

/// So many pods of a shape more, or fewer, on a node.
struct ShapeChange {
  std::uint64_t incarnation = 0;
  ShapeId shape = 0;
  Slot slot = 0;
  std::int32_t by = 0;
  std::uint32_t reserved = 0;
};

/// A pod that came to a node, or went. One that changed went as it was and came as it is.
struct PodChange {
  model::PodPtr pod;
  Slot slot = 0;
  std::int32_t by = 0;    // 1 or -1
  std::size_t bytes = 0;  // of the pod, when it was noted
};

/// The cluster as one scheduling cycle sees it: rows, columns over slots, list order, shapes, and a journal of what
/// changed.
///
/// Its place: written by ClusterCache::refresh() at the start of a cycle, read by everything in it.
///            Columns exist from ensure_column() on and follow the rows by themselves.
/// Shapes:    rows and columns are indexed by slot, [0, slot_count());
///            order() holds each snapshot node once.
/// Threads:   owned by the scheduling thread; workers may read during a cycle.
/// Source:    kubernetes v1.36 pkg/scheduler/backend/cache/snapshot.go.
///            The list order is sticky as there: it changes only when a node name enters or leaves.
/// Bound:     columns that are bound in create(), two for each resource that nodes offer, and labels as label_values()
///            says; of changes of pods k_pod_changes_kept and k_pod_change_bytes_max.
class Snapshot {
 public:
  static constexpr std::uint64_t k_journal_capacity = 1 << 16;    // changes remembered; older readers start over
  static constexpr std::uint64_t k_shape_changes_kept = 1 << 14;  // likewise
  static constexpr std::size_t k_pod_changes_kept = 1 << 14;      // likewise
  static constexpr std::size_t k_pod_change_bytes_max = std::size_t{8} << 20;

  Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  std::uint32_t node_count() const noexcept { return node_count_; }
  std::uint32_t slot_count() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }
  std::size_t word_count() const noexcept { return nodes_.size(); }
  /// By slot: the nodes of the snapshot.
  const std::uint64_t* nodes() const noexcept { return nodes_.data(); }
  const NodeRow& row(Slot slot) const { return rows_[slot]; }
  std::span<const Slot> order() const noexcept { return order_; }
  /// By slot: index in order(), or k_no_slot.
  std::span<const std::uint32_t> order_index() const noexcept { return order_index_; }
  Slot find(Symbol node_name) const noexcept;
  /// Changes when order() does.
  std::uint64_t membership_generation() const noexcept { return membership_generation_; }

  /// Finds or makes a column. [scheduling thread, outside worker calls]
  ColumnId ensure_column(const ColumnSpec& spec);
  /// The FREE and CAPACITY columns of a resource; found by number after the first time.
  struct ResourceColumns {
    ColumnId free, capacity;
  };
  /// k_no_resource: columns of zeros.
  ResourceColumns resource_columns(ResourceIndex resource);
  /// One column of a resource, or zeros for k_no_resource.
  ColumnId resource_column(ColumnKind kind, ResourceIndex resource);
  /// The values of a node label by slot, for a key that no plugin bound in create(): kept until there are too many bytes of
  /// such columns, and then as long as it is used. Zeros for a key that no node has. Good until the next refresh.
  const Symbol* label_values(Symbol key);
  std::size_t column_bytes() const noexcept { return column_bytes_ + label_bytes_; }
  const ColumnData& column(ColumnId id) const { return *columns_[id].data; }
  const ColumnSpec& spec(ColumnId id) const { return columns_[id].spec; }
  std::size_t column_count() const noexcept { return columns_.size(); }

  /// Position after the last change. Slots that changed since an earlier position are journal(p) for p in [then, now),
  /// possibly repeated; valid while now - then <= k_journal_capacity.
  std::uint64_t journal_end() const noexcept { return journal_end_; }
  Slot journal(std::uint64_t position) const noexcept { return journal_[position & (k_journal_capacity - 1)]; }

  /// Changes when a node comes or goes, or changes in anything but the pods on it. Never 0.
  std::uint64_t facts_generation() const noexcept { return facts_generation_; }

  /// Number of changes of shapes so far. Change p of [then, now) is shape_change(p), while now - then <= k_shape_changes_kept.
  std::uint64_t shape_changes_end() const noexcept { return shape_changes_end_; }
  const ShapeChange& shape_change(std::uint64_t position) const noexcept {
    return shape_changes_[position & (k_shape_changes_kept - 1)];
  }

  /// From here on changes of pods are remembered. [scheduling thread]
  void keep_pod_changes() noexcept { keeps_pod_changes_ = true; }
  /// Number of changes of pods so far, and one: never 0. Change p is pod_change(p), for p in [pod_changes_begin(), that).
  std::uint64_t pod_changes_end() const noexcept { return pod_changes_end_; }
  std::uint64_t pod_changes_begin() const noexcept { return pod_changes_end_ - pod_changes_.size(); }
  const PodChange& pod_change(std::uint64_t position) const { return pod_changes_[position - pod_changes_begin()]; }
  std::size_t pod_change_bytes() const noexcept { return pod_change_bytes_; }

  const std::vector<SnapshotShape>& shapes() const noexcept { return shapes_; }
  std::span<const ShapeId> shapes_with_affinity() const noexcept { return with_affinity_; }
  std::span<const ShapeId> shapes_with_required_anti() const noexcept { return with_required_anti_; }
  std::uint32_t live_shape_count() const noexcept { return live_shapes_; }

 private:
  friend class ClusterCache;
  struct Column {
    ColumnSpec spec;
    std::unique_ptr<ColumnData> data;  // stable address
  };
  struct ShapeRef {
    ShapeId shape = 0;
    std::uint32_t position = 0;  // in shapes_[shape].nodes
  };

  /// What label_values() keeps beyond a refresh.
  static constexpr std::size_t k_label_bytes_max = std::size_t{32} << 20;
  struct LabelColumn {
    Symbol key = k_no_symbol;
    std::uint64_t used = 0;  // refreshes_ when it was asked for last
    std::unique_ptr<ColumnData> data;
  };

  void drop_labels();
  void count_labels(const model::Node& node, int by);
  void resize(std::size_t slots);
  using PodOf = std::function<const model::PodPtr&(PodHandle)>;
  /// Takes over a changed row; `shape_source` gives the exemplars, `pod_of` the pods that either row names.
  void take(Slot slot, const NodeRow& row, const class ShapeTable& shape_source, const PodOf& pod_of);
  void note_pods(Slot slot, const NodeRow& row, const PodOf& pod_of);
  void note_pod(const model::PodPtr& pod, Slot slot, std::int32_t by);
  void update_shapes(Slot slot, const NodeRow& row, const class ShapeTable& shape_source);
  void drop_shape_node(ShapeId shape, std::uint32_t position);
  void note_change(ShapeId shape, Slot slot, std::int64_t by);
  void reorder(std::vector<Slot> order);

  std::vector<NodeRow> rows_;
  std::vector<std::uint64_t> nodes_;
  std::uint32_t node_count_ = 0;
  std::vector<Slot> order_;
  std::vector<std::uint32_t> order_index_;
  std::uint64_t membership_generation_ = 0;
  boost::unordered_flat_map<Symbol, Slot> by_name_;
  std::vector<Column> columns_;
  std::vector<std::optional<ResourceColumns>> by_resource_;
  std::optional<ColumnId> zeros_;
  std::vector<LabelColumn> labels_;  // few, or found by label_index_
  boost::unordered_flat_map<Symbol, std::uint32_t> label_index_;
  boost::unordered_flat_map<Symbol, std::uint32_t> label_nodes_;  // by key: nodes that have it
  bool labels_gone_ = false;                                      // some key of labels_ may have left label_nodes_
  std::uint64_t refreshes_ = 0;
  std::size_t column_bytes_ = 0, label_bytes_ = 0;
  std::vector<Slot> journal_;
  std::uint64_t journal_end_ = 0;
  std::uint64_t facts_generation_ = 1;
  std::vector<ShapeChange> shape_changes_;
  std::uint64_t shape_changes_end_ = 0;
  std::uint64_t incarnations_ = 0;
  bool keeps_pod_changes_ = false;
  std::deque<PodChange> pod_changes_;
  std::uint64_t pod_changes_end_ = 1;
  std::size_t pod_change_bytes_ = 0;
  std::vector<std::uint64_t> handle_marks_;  // by handle, of note_pods()
  std::uint64_t last_mark_ = 0;
  std::vector<SnapshotShape> shapes_;
  std::vector<std::vector<ShapeRef>> shape_refs_;  // by slot
  std::vector<ShapeId> with_affinity_, with_required_anti_;
  std::uint32_t live_shapes_ = 0;
};

}  // namespace berth::cache
