// SPDX-License-Identifier: Apache-2.0
#include "framework/points/group.hpp"

#include "framework/plugin_call.hpp"

namespace berth::framework {

namespace {

/// The pod as hints see it, valid until the thread's next call.
const berth_pod_v1* shown(const PluginInstance& plugin, const model::Pod& pod) {
  static thread_local Arena arena;
  arena.reset();
  PodView view;
  view.reset(pod, arena);
  return view.view(plugin.hint_fields());
}

}  // namespace

Result<std::string> group_of(const PluginInstance& plugin, const model::Pod& pod) {
  const berth_pod_v1* const seen = shown(plugin, pod);
  std::string name;
  Note note;
  const Code code = call_plugin(plugin, observe::Point::group_of, note, [&] {
    berth_str answer{};
    const berth_code told = plugin.group->group_of(plugin.self(), seen, &answer, note.abi());
    if (told == BERTH_OK) name = from_abi(answer);
    return told;
  });
  if (code == Code::success) return name;
  return Error{fmt::format("running group_of of plugin \"{}\": {}", plugin.name(),
                           code == Code::error ? note.text() : invalid_code(plugin, observe::Point::group_of, code))};
}

Quorum ask_quorum(const PluginInstance& plugin, const model::Pod& pod) {
  const berth_pod_v1* const seen = shown(plugin, pod);
  berth_quorum_v1 out{sizeof(berth_quorum_v1), 0, 0, 0};
  Note note;
  const Code code = call_plugin(plugin, observe::Point::quorum, note,
                                [&] { return plugin.group->quorum(plugin.self(), seen, &out, note.abi()); });
  Quorum quorum;
  quorum.needed = out.needed;
  quorum.hold = permit_wait(plugin, out.hold_ms);
  if (rejects(code))
    quorum.verdict = {code, plugin.index(), sentences(plugin, note)};
  else if (code == Code::success && out.reserved != 0)
    quorum.verdict = {
        Code::error,
        plugin.index(),
        {fmt::format("quorum of plugin \"{}\" set the reserved field to {}", plugin.name(), out.reserved)}};
  else if (code != Code::success)
    quorum.verdict = {
        Code::error,
        plugin.index(),
        {fmt::format("running quorum of plugin \"{}\": {}", plugin.name(),
                     code == Code::error ? note.text() : invalid_code(plugin, observe::Point::quorum, code))}};
  return quorum;
}

}  // namespace berth::framework
