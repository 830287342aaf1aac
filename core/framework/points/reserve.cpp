// SPDX-License-Identifier: Apache-2.0
#include "framework/points/reserve.hpp"

#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

void run_unreserve(CycleContext& context, cache::Slot node) {
  const PointRun run(context.profile(), observe::Point::unreserve);
  const auto& plugins = context.profile().reserve;
  for (auto it = plugins.rbegin(); it != plugins.rend(); ++it) {
    const PluginInstance& plugin = **it;
    if (plugin.reserve->unreserve == nullptr) continue;
    Note note;
    call_plugin(plugin, observe::Point::unreserve, note, [&] {
      plugin.reserve->unreserve(plugin.self(), context.abi(plugin), node);
      return berth_code{BERTH_OK};
    });
  }
}

namespace {

Verdict reserve_by_plugins(CycleContext& context, cache::Slot node) {
  for (const PluginInstance* plugin : context.profile().reserve) {
    if (plugin->reserve->reserve == nullptr) continue;
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::reserve, note, [&] {
      return plugin->reserve->reserve(plugin->self(), context.abi(*plugin), node, note.abi());
    });
    if (code == Code::success) continue;
    run_unreserve(context, node);
    if (rejects(code)) return {code, plugin->index(), sentences(*plugin, note)};
    return {Code::error,
            plugin->index(),
            {fmt::format("running Reserve plugin \"{}\": {}", plugin->name(),
                         code == Code::error ? note.text() : invalid_code(*plugin, observe::Point::reserve, code))}};
  }
  return {};
}

}  // namespace

Verdict run_reserve(CycleContext& context, cache::Slot node) {
  PointRun run(context.profile(), observe::Point::reserve);
  Verdict verdict = reserve_by_plugins(context, node);
  run.ended(verdict.code);
  return verdict;
}

}  // namespace berth::framework
