// SPDX-License-Identifier: Apache-2.0
#include "framework/points/permit.hpp"

#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

PermitWait permit_wait(const PluginInstance& plugin, std::int64_t timeout_ms) {
  constexpr std::int64_t k_ns_per_ms = 1'000'000;
  return {plugin.index(), plugin.name(),
          std::clamp<std::int64_t>(timeout_ms, 0, k_permit_wait_max_ns / k_ns_per_ms) * k_ns_per_ms};
}

namespace {

PermitResult ask_plugins(CycleContext& context, cache::Slot node) {
  PermitResult result;
  for (const PluginInstance* plugin : context.profile().permit) {
    berth_permit_out_v1 out{sizeof(berth_permit_out_v1), 0};
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::permit, note, [&] {
      return plugin->permit->permit(plugin->self(), context.abi(*plugin), node, &out, note.abi());
    });
    if (code == Code::success) continue;
    if (code == Code::wait) {
      result.waits.push_back(permit_wait(*plugin, out.timeout_ms));
      result.verdict = {Code::wait, plugin->index(), sentences(*plugin, note)};
      continue;
    }
    result.waits.clear();
    if (rejects(code))
      result.verdict = {code, plugin->index(), sentences(*plugin, note)};
    else
      result.verdict = {
          Code::error,
          plugin->index(),
          {fmt::format("running Permit plugin \"{}\": {}", plugin->name(),
                       code == Code::error ? note.text() : invalid_code(*plugin, observe::Point::permit, code))}};
    return result;
  }
  if (!result.waits.empty())
    result.verdict.reasons.emplace_back("one or more plugins asked to wait and no plugin rejected pod");
  return result;
}

}  // namespace

PermitResult run_permit(CycleContext& context, cache::Slot node) {
  PointRun run(context.profile(), observe::Point::permit);
  PermitResult result = ask_plugins(context, node);
  run.ended(result.verdict.code);
  return result;
}

}  // namespace berth::framework
