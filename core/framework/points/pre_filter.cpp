// SPDX-License-Identifier: Apache-2.0
#include "framework/points/pre_filter.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

std::string sorted_names(const PluginNames& names, const model::PluginSet& plugins) {
  std::vector<std::string_view> list;
  plugins.for_each([&](model::PluginIndex plugin) { list.push_back(names.name(plugin)); });
  std::sort(list.begin(), list.end());
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) text += ' ';
    text += list[i];
  }
  return text + "]";
}

namespace {

/// A profile may name upstream plugins that are not there; pods that need one are rejected, never misplaced.
bool needs_absent(const CycleContext& context, Verdict& verdict) {
  for (const model::PodSpec::Unsupported& need : context.pod()->spec->unsupported)
    for (const AbsentRuntime& absent : context.profile().absent)
      if (absent.name == need.plugin) {
        verdict = {Code::unresolvable, absent.index, {fmt::format("{} ({})", absent.reason, need.field)}};
        return true;
      }
  return false;
}

Verdict empty_intersection(const PluginNames& names, const model::PluginSet& by) {
  return {Code::unresolvable,
          model::k_no_plugin,
          {"node(s) didn't satisfy plugin(s) " + sorted_names(names, by) + " simultaneously"}};
}

PreFilterResult ask_plugins(CycleContext& context, std::uint64_t* candidates, std::size_t word_count,
                            std::vector<std::uint64_t>& scratch) {
  PreFilterResult result;
  if (!context.pod()->spec->unsupported.empty() && needs_absent(context, result.verdict)) return result;
  const ProfileRuntime& profile = context.profile();
  Verdict remembered;
  std::size_t narrowing_count = 0;
  bool scratch_ready = false;
  for (const PluginInstance* plugin : profile.pre_filter) {
    berth_cycle_v1* const cycle = context.abi(*plugin);
    if (!scratch_ready) {
      scratch.assign(cycle->nodes, cycle->nodes + word_count);
      scratch_ready = true;
    }
    berth_prepare_out_v1 out{sizeof(berth_prepare_out_v1), 0, scratch.data(), word_count};
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::pre_filter, note,
                                  [&] { return plugin->prepare->pre_filter(plugin->self(), cycle, &out, note.abi()); });
    switch (code) {
      case Code::skip:
        context.mark_skip_filter(*plugin);
        break;
      case Code::success:
        break;
      case Code::unresolvable:
        result.verdict = {code, plugin->index(), sentences(*plugin, note)};
        return result;
      case Code::unschedulable:
        remembered = {code, plugin->index(), sentences(*plugin, note)};
        break;
      default: {
        std::string text = code == Code::error ? note.text() : invalid_code(*plugin, observe::Point::pre_filter, code);
        result.verdict = {
            Code::error, plugin->index(), {fmt::format("running PreFilter plugin \"{}\": {}", plugin->name(), text)}};
        return result;
      }
    }
    if (out.narrowed == 0) continue;
    scratch_ready = false;  // the plugin wrote into it
    if (code != Code::success) continue;
    result.narrowed = true;
    result.narrowed_by.insert(plugin->index());
    ++narrowing_count;
    result.left = bitmap::keep_common(candidates, scratch.data(), word_count);
    // One plugin that names only nodes which are not there leaves no candidates; that is for the filters' message.
    if (narrowing_count > 1 && result.left == 0) {
      result.verdict = empty_intersection(plugin->host().names, result.narrowed_by);
      return result;
    }
  }
  result.verdict = std::move(remembered);
  return result;
}

}  // namespace

PreFilterResult run_pre_filter(CycleContext& context, std::uint64_t* candidates, std::size_t word_count,
                               std::vector<std::uint64_t>& scratch) {
  PointRun run(context.profile(), observe::Point::pre_filter);
  PreFilterResult result = ask_plugins(context, candidates, word_count, scratch);
  run.ended(result.verdict.code);
  return result;
}

}  // namespace berth::framework
