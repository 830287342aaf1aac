// SPDX-License-Identifier: Apache-2.0
#include "preemption/dry_run_service.hpp"

#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/profile_runtime.hpp"
#include "preemption/what_if.hpp"

namespace berth::preemption {
namespace {

framework::Host& host(void* ctx) noexcept { return framework::plugin_of(ctx).host(); }

void pods_on(void* ctx, const berth_cycle_v1* cycle, berth_slot node,
             std::uint32_t (*visit)(void*, const berth_pod_v1*), void* arg) {
  const framework::Host& h = host(ctx);
  if (node >= h.snapshot.slot_count()) return;
  framework::PodFields fields = framework::plugin_of(ctx).hint_fields();
  fields.groups |= BERTH_POD_PRIORITY;
  for (const cache::PodHandle handle : h.snapshot.row(node).pods) {
    const model::PodPtr pod = h.pod_of(handle);
    if (!pod) continue;
    framework::PodView view;
    view.reset(*pod, framework::context_of(cycle).snapshot_arena());
    if (visit(arg, view.view(fields)) == 0) return;
  }
}

berth_code fits_without(void* ctx, const berth_cycle_v1* cycle, berth_slot node, const berth_str* removed,
                        std::uint32_t count, berth_note_v1* note) {
  const framework::Host& h = host(ctx);
  if (node >= h.snapshot.slot_count() || !h.snapshot.row(node).node)
    return framework::answer(note, "no such node", BERTH_NOT_FOUND);
  framework::CycleContext& context = framework::context_of(cycle);
  const observe::BreadcrumbNesting nesting;
  framework::NodeBlocks blocks(h.snapshot);
  const std::vector<const framework::PluginInstance*> filters(context.profile().filter.begin(),
                                                              context.profile().filter.end());
  WhatIf what_if(context, blocks, node, filters);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& pods = h.snapshot.row(node).pods;
    const auto handle = std::find_if(pods.begin(), pods.end(), [&](cache::PodHandle candidate) {
      const model::PodPtr pod = h.pod_of(candidate);
      return pod && pod->uid == framework::from_abi(removed[i]);
    });
    if (handle == pods.end()) return framework::answer(note, "no such pod on the node", BERTH_NOT_FOUND);
    if (const Status gone = what_if.remove(*h.pod_of(*handle), *handle); !gone.ok())
      return framework::answer(note, gone.error().message, BERTH_ERROR);
  }
  const framework::NodeVerdict verdict = what_if.judge();
  if (verdict.code == framework::Code::success) return BERTH_OK;
  if (verdict.plugin != nullptr)
    framework::answer(
        note,
        framework::Verdict{verdict.code, verdict.plugin->index(), framework::sentences(*verdict.plugin, verdict.reason)}
            .message(),
        0);
  return static_cast<berth_code>(verdict.code);
}

constexpr berth_dry_run_v1 k_dry_run{sizeof(berth_dry_run_v1), 0, &pods_on, &fits_without};

}  // namespace

const void* dry_run_service() noexcept { return &k_dry_run; }

}  // namespace berth::preemption
