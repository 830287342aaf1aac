// SPDX-License-Identifier: Apache-2.0
// "berth.pods/1".
#include <algorithm>

#include "framework/cycle_context.hpp"
#include "framework/plugin_call.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/thread_tags.hpp"

namespace berth::framework {
namespace {

using Visit = std::uint32_t (*)(void*, const berth_placed_pod_v1*);

/// Shows pods to one instance, one after the other, in memory of its own: a policy may look at as many as the cluster has.
class Shower {
 public:
  Shower(const PluginInstance& plugin, Visit visit, void* arg)
      : plugin_(plugin), fields_(plugin.hint_fields()), visit_(visit), arg_(arg) {
    fields_.groups |= BERTH_POD_PRIORITY | BERTH_POD_NAMESPACE;
  }
  /// False: the visitor has seen enough.
  bool show(const model::Pod& pod, cache::Slot node, std::int32_t by, bool is_placed) {
    arena_.reset();
    view_.reset(pod, arena_);
    const berth_placed_pod_v1 shown{sizeof(berth_placed_pod_v1), flags_of(pod, is_placed), node, by,
                                    view_.view(fields_)};
    return visit_(arg_, &shown) != 0;
  }
  bool show_row(cache::Slot node) {
    const Host& host = plugin_.host();
    const cache::NodeRow& row = host.snapshot.row(node);
    if (!row.node) return true;
    return std::all_of(row.pods.begin(), row.pods.end(), [&](cache::PodHandle handle) {
      const model::PodPtr pod = host.pod_of(handle);
      return !pod || show(*pod, node, 1, true);
    });
  }

 private:
  std::uint32_t flags_of(const model::Pod& pod, bool is_placed) const {
    std::uint32_t flags = 0;
    if (pod.deleting) flags |= BERTH_PLACED_TERMINATING;
    if (is_placed && pod.node_name == k_no_symbol) flags |= BERTH_PLACED_ASSUMED;
    const auto& own = plugin_.host().scheduler_names;
    const std::string_view name = pod.scheduler_name;
    if (std::find(own.begin(), own.end(), name) == own.end()) flags |= BERTH_PLACED_OTHER_SCHEDULER;
    return flags;
  }

  const PluginInstance& plugin_;
  PodFields fields_;
  const Visit visit_;
  void* const arg_;
  Arena arena_;
  PodView view_;
};

void on_node(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg) {
  if (!is_allowed(plugin_of(ctx), "on_node() of berth.pods/1", tags::cycle | tags::worker)) return;
  if (node < plugin_of(ctx).host().snapshot.slot_count()) Shower(plugin_of(ctx), visit, arg).show_row(node);
}

void each(void* ctx, const berth_cycle_v1*, Visit visit, void* arg) {
  if (!is_allowed(plugin_of(ctx), "each() of berth.pods/1", tags::cycle)) return;
  Shower shower(plugin_of(ctx), visit, arg);
  for (const cache::Slot node : plugin_of(ctx).host().snapshot.order())
    if (!shower.show_row(node)) return;
}

void nominated(void* ctx, const berth_cycle_v1*, berth_slot node, Visit visit, void* arg) {
  if (!is_allowed(plugin_of(ctx), "nominated() of berth.pods/1", tags::cycle)) return;
  const Host& host = plugin_of(ctx).host();
  if (host.ports.nominations == nullptr) return;
  Shower shower(plugin_of(ctx), visit, arg);
  for (const model::NominatedPod& each : host.ports.nominations->nominated()) {
    const cache::Slot slot = host.snapshot.find(each.node);
    if (slot == cache::k_no_slot || (node != BERTH_NO_SLOT && slot != node)) continue;
    if (!shower.show(*each.pod, slot, 1, false)) return;
  }
}

std::uint64_t position(void* ctx, const berth_cycle_v1*) {
  if (!is_allowed(plugin_of(ctx), "position() of berth.pods/1", tags::cycle)) return 0;
  cache::Snapshot& snapshot = plugin_of(ctx).host().snapshot;
  snapshot.keep_pod_changes();
  return snapshot.pod_changes_end();
}

std::uint32_t changes(void* ctx, const berth_cycle_v1*, std::uint64_t since, Visit visit, void* arg) {
  if (!is_allowed(plugin_of(ctx), "changes() of berth.pods/1", tags::cycle)) return 0;
  const cache::Snapshot& snapshot = plugin_of(ctx).host().snapshot;
  if (since < snapshot.pod_changes_begin() || since > snapshot.pod_changes_end()) return 0;
  Shower shower(plugin_of(ctx), visit, arg);
  for (std::uint64_t p = since; p != snapshot.pod_changes_end(); ++p) {
    const cache::PodChange& change = snapshot.pod_change(p);
    if (!shower.show(*change.pod, change.slot, change.by, true)) return 0;
  }
  return 1;
}

constexpr berth_pods_v1 k_pods{sizeof(berth_pods_v1), 0, &on_node, &each, &nominated, &position, &changes};

}  // namespace

const void* placed_pods_service() noexcept { return &k_pods; }

}  // namespace berth::framework
