// SPDX-License-Identifier: Apache-2.0
#include "framework/points/pre_filter.hpp"

#include <algorithm>
#include <optional>
#include <utility>

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

/// The plugin is asked again, as if it had not been asked yet.
void drop_state(const PluginInstance& plugin, berth_cycle_v1& cycle) {
  void* const state = std::exchange(cycle.state, nullptr);
  if (state == nullptr || plugin.prepare->state_free == nullptr) return;
  Note note;
  call_plugin(plugin, observe::Point::state_free, note, [&] {
    plugin.prepare->state_free(plugin.self(), state);
    return berth_code{BERTH_OK};
  });
}

PreFilterResult ask_plugins(CycleContext& context, CandidateNodes& candidates, CandidateMemory& memory) {
  PreFilterResult result;
  if (!context.pod()->spec->unsupported.empty() && needs_absent(context, result.verdict)) return result;
  const ProfileRuntime& profile = context.profile();
  Verdict remembered;
  std::size_t narrowing_count = 0;
  for (const PluginInstance* plugin : profile.pre_filter) {
    berth_cycle_v1* const cycle = context.abi(*plugin);
    std::uint64_t* given = memory.lend(*plugin);
    berth_prepare_out_v1 out{sizeof(berth_prepare_out_v1), 0, given, candidates.word_count()};
    std::optional<Note> note(std::in_place);
    const auto ask = [&] {
      return call_plugin(*plugin, observe::Point::pre_filter, *note,
                         [&] { return plugin->prepare->pre_filter(plugin->self(), cycle, &out, note->abi()); });
    };
    Code code = ask();
    if (out.narrowed != 0 && !memory.narrowed(*plugin) && code == Code::success) {
      drop_state(*plugin, *cycle);
      note.emplace();
      given = memory.lend_fresh(*plugin);
      out = {sizeof(berth_prepare_out_v1), 0, given, candidates.word_count()};
      code = ask();
    }
    switch (code) {
      case Code::skip:
        context.mark_skip_filter(*plugin);
        break;
      case Code::success:
        break;
      case Code::unresolvable:
        result.verdict = {code, plugin->index(), sentences(*plugin, *note)};
        return result;
      case Code::unschedulable:
        remembered = {code, plugin->index(), sentences(*plugin, *note)};
        break;
      default: {
        std::string text = code == Code::error ? note->text() : invalid_code(*plugin, observe::Point::pre_filter, code);
        result.verdict = {
            Code::error, plugin->index(), {fmt::format("running PreFilter plugin \"{}\": {}", plugin->name(), text)}};
        return result;
      }
    }
    if (out.narrowed == 0 || code != Code::success) continue;
    result.narrowed = true;
    result.narrowed_by.insert(plugin->index());
    ++narrowing_count;
    const std::size_t left = candidates.keep(given);
    // One plugin that names only nodes which are not there leaves no candidates; that is for the filters' message.
    if (narrowing_count > 1 && left == 0) {
      result.verdict = empty_intersection(plugin->host().names, result.narrowed_by);
      return result;
    }
  }
  result.verdict = std::move(remembered);
  return result;
}

}  // namespace

std::uint64_t* CandidateMemory::lend(const PluginInstance& plugin) {
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  Lent& lent = lent_[&plugin];
  const bool narrows = lent.fresh_calls != 0;
  if (narrows) --lent.fresh_calls;
  if (narrows || lent.facts_generation != snapshot.facts_generation() || lent.nodes.size() != snapshot.word_count())
    return lend_fresh(plugin);
  lent.fresh = false;
  return lent.nodes.data();
}

std::uint64_t* CandidateMemory::lend_fresh(const PluginInstance& plugin) {
  const cache::Snapshot& snapshot = plugin.host().snapshot;
  Lent& lent = lent_[&plugin];
  lent.nodes.assign(snapshot.nodes(), snapshot.nodes() + snapshot.word_count());
  lent.facts_generation = snapshot.facts_generation();
  lent.fresh = true;
  return lent.nodes.data();
}

bool CandidateMemory::narrowed(const PluginInstance& plugin) {
  Lent& lent = lent_[&plugin];
  lent.fresh_calls = k_fresh_calls;
  return lent.fresh;
}

PreFilterResult run_pre_filter(CycleContext& context, CandidateNodes& candidates, CandidateMemory& memory) {
  PointRun run(context.profile(), observe::Point::pre_filter);
  PreFilterResult result = ask_plugins(context, candidates, memory);
  run.ended(result.verdict.code);
  return result;
}

}  // namespace berth::framework
