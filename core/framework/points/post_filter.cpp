// SPDX-License-Identifier: Apache-2.0
#include "framework/points/post_filter.hpp"

#include "base/bitmap.hpp"
#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::framework {

namespace {

PostFilterResult ask_plugins(CycleContext& context, const std::uint64_t* unschedulable,
                             const std::uint64_t* unresolvable, std::size_t word_count) {
  PostFilterResult result;
  const berth_post_filter_in_v1 in{sizeof(berth_post_filter_in_v1), 0, unschedulable, unresolvable, word_count};
  std::vector<std::string> collected;
  for (const PluginInstance* plugin : context.profile().post_filter) {
    result.ran = true;
    std::vector<std::string> victims;
    berth_post_filter_out_v1 out{
        sizeof(berth_post_filter_out_v1),
        BERTH_NOMINATE_KEEP,
        BERTH_NO_SLOT,
        0,
        &victims,
        [](void* list, berth_str uid) { static_cast<std::vector<std::string>*>(list)->emplace_back(from_abi(uid)); }};
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::post_filter, note, [&] {
      return plugin->post_filter->post_filter(plugin->self(), context.abi(*plugin), &in, &out, note.abi());
    });
    const auto take_answer = [&] {
      result.nomination = {};
      if (out.nominate == BERTH_NOMINATE_CLEAR) result.nomination = model::Nomination::clear();
      if (out.nominate == BERTH_NOMINATE_SET)
        result.nomination = model::Nomination::to(plugin->host().snapshot.row(out.node).node->name_symbol);
      result.node = out.node;
      result.victims = std::move(victims);
      if (out.nominate == BERTH_NOMINATE_SET) result.nominator = plugin;
    };
    Verdict said{code, plugin->index(), sentences(*plugin, note)};
    if ((code == Code::success || rejects(code)) && out.nominate == BERTH_NOMINATE_SET &&
        (out.node >= word_count * 64 || !bitmap::test(context.abi(*plugin)->nodes, out.node))) {
      result.code = Code::error;
      result.message = fmt::format("plugin {} nominated slot {}, which is no node", plugin->name(), out.node);
      return result;
    }
    if (out.nominate > BERTH_NOMINATE_SET || out.reserved != 0) {
      result.code = Code::error;
      result.message = fmt::format("plugin {} answered with nominate {} and {} in the reserved field", plugin->name(),
                                   out.nominate, out.reserved);
      return result;
    }
    if (code == Code::success || code == Code::unresolvable) {
      result.code = code;
      result.message = said.message();
      take_answer();
      return result;
    }
    if (!rejects(code)) {
      result.code = Code::error;
      result.message = code == Code::error ? note.text() : invalid_code(*plugin, observe::Point::post_filter, code);
      return result;
    }
    if (out.nominate != BERTH_NOMINATE_KEEP) take_answer();
    for (std::string& reason : said.reasons) collected.push_back(std::move(reason));
  }
  if (result.ran) {
    result.code = Code::unschedulable;
    result.message = Verdict{Code::unschedulable, model::k_no_plugin, std::move(collected)}.message();
  }
  return result;
}

}  // namespace

PostFilterResult run_post_filter(CycleContext& context, const std::uint64_t* unschedulable,
                                 const std::uint64_t* unresolvable, std::size_t word_count) {
  PointRun run(context.profile(), observe::Point::post_filter);
  PostFilterResult result = ask_plugins(context, unschedulable, unresolvable, word_count);
  run.ended(result.code);
  return result;
}

}  // namespace berth::framework
