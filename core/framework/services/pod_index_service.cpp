// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "framework/cycle_context.hpp"
#include "framework/plugin_call.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/thread_tags.hpp"

namespace berth::framework {
namespace {

static_assert(sizeof(berth_shape_node_v1) == sizeof(cache::ShapeNode));

/// Most shapes have no terms: one view serves them all.
constexpr berth_affinity_v1 k_no_affinity{sizeof(berth_affinity_v1), 0, nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0};

bool visit_shape(const berth_cycle_v1* cycle, const cache::SnapshotShape& shape, cache::ShapeId id, berth_id ns,
                 std::uint32_t (*visit)(void*, const berth_shape_v1*), void* arg) {
  const model::Pod& pod = *shape.exemplar;
  if (ns != 0 && pod.ns_symbol != ns) return true;
  std::uint32_t flags = 0;
  if (pod.deleting) flags |= BERTH_SHAPE_TERMINATING;
  if (shape.affinity) flags |= BERTH_SHAPE_HAS_AFFINITY;
  if (shape.required_anti) flags |= BERTH_SHAPE_HAS_REQUIRED_ANTI;
  const berth_shape_v1 abi{
      sizeof(berth_shape_v1),
      flags,
      id,
      pod.ns_symbol,
      reinterpret_cast<const berth_label_v1*>(pod.labels.data()),
      shape.affinity ? affinity_view(pod.spec->affinity, context_of(cycle).snapshot_arena()) : &k_no_affinity,
      reinterpret_cast<const berth_shape_node_v1*>(shape.nodes.data()),
      static_cast<std::uint32_t>(pod.labels.size()),
      static_cast<std::uint32_t>(shape.nodes.size()),
      shape.incarnation};
  return visit(arg, &abi) != 0;
}

void each(void* ctx, const berth_cycle_v1* cycle, std::uint32_t which, berth_id ns,
          std::uint32_t (*visit)(void*, const berth_shape_v1*), void* arg) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "each() of berth.pod_index/1", tags::cycle)) return;
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  if (which == BERTH_SHAPES_ALL) {
    for (cache::ShapeId id = 0; id < snapshot.shapes().size(); ++id)
      if (!snapshot.shapes()[id].nodes.empty() && !visit_shape(cycle, snapshot.shapes()[id], id, ns, visit, arg))
        return;
    return;
  }
  const auto ids =
      which == BERTH_SHAPES_WITH_AFFINITY ? snapshot.shapes_with_affinity() : snapshot.shapes_with_required_anti();
  for (const cache::ShapeId id : ids)
    if (!visit_shape(cycle, snapshot.shapes()[id], id, ns, visit, arg)) return;
}

std::uint32_t count(void* ctx, const berth_cycle_v1*, std::uint32_t which) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "count() of berth.pod_index/1", tags::cycle)) return 0;
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  switch (which) {
    case BERTH_SHAPES_ALL:
      return snapshot.live_shape_count();
    case BERTH_SHAPES_WITH_AFFINITY:
      return static_cast<std::uint32_t>(snapshot.shapes_with_affinity().size());
    default:
      return static_cast<std::uint32_t>(snapshot.shapes_with_required_anti().size());
  }
}

std::uint64_t position(void* ctx, const berth_cycle_v1*) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "position() of berth.pod_index/1", tags::cycle)) return 0;
  return plugin.host().snapshot.shape_changes_end();
}

std::uint32_t changes(void* ctx, const berth_cycle_v1*, std::uint64_t since,
                      std::uint32_t (*visit)(void*, const berth_shape_change_v1*), void* arg) {
  static_assert(sizeof(berth_shape_change_v1) == sizeof(cache::ShapeChange) &&
                offsetof(berth_shape_change_v1, by) == offsetof(cache::ShapeChange, by));
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "changes() of berth.pod_index/1", tags::cycle)) return 0;
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  const std::uint64_t end = snapshot.shape_changes_end();
  if (since > end || end - since > cache::Snapshot::k_shape_changes_kept) return 0;
  for (std::uint64_t p = since; p != end; ++p)
    if (visit(arg, reinterpret_cast<const berth_shape_change_v1*>(&snapshot.shape_change(p))) == 0) return 0;
  return 1;
}

std::uint32_t one(void* ctx, const berth_cycle_v1* cycle, std::uint32_t id,
                  std::uint32_t (*visit)(void*, const berth_shape_v1*), void* arg) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "shape() of berth.pod_index/1", tags::cycle)) return 0;
  const auto& shapes = plugin.host().snapshot.shapes();
  if (id >= shapes.size() || shapes[id].nodes.empty()) return 0;
  visit_shape(cycle, shapes[id], id, 0, visit, arg);
  return 1;
}

constexpr berth_pod_index_v1 k_pod_index{sizeof(berth_pod_index_v1), 0, &each, &count, &position, &changes, &one};

}  // namespace

const void* pod_index_service() noexcept { return &k_pod_index; }

}  // namespace berth::framework
