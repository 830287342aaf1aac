// SPDX-License-Identifier: Apache-2.0
#include "framework/points/score.hpp"

#include <algorithm>

#include "framework/guarded_answer.hpp"
#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"

namespace berth::framework {

Status run_pre_score(CycleContext& context, std::span<const cache::Slot> feasible) {
  PointRun run(context.profile(), observe::Point::pre_score);
  for (const PluginInstance* plugin : context.profile().pre_score) {
    Note note;
    const Code code = call_plugin(*plugin, observe::Point::pre_score, note, [&] {
      return plugin->prepare->pre_score(plugin->self(), context.abi(*plugin), feasible.data(),
                                        static_cast<std::uint32_t>(feasible.size()), note.abi());
    });
    if (code == Code::success) continue;
    if (code == Code::skip) {
      context.mark_skip_score(*plugin);
      continue;
    }
    std::string text = note.text();
    if (text.empty() && note.reason() != 0) text = fmt::format("{}", fmt::join(sentences(*plugin, note), ", "));
    if (code != Code::error && text.empty()) text = invalid_code(*plugin, observe::Point::pre_score, code);
    run.ended(Code::error);
    return Error{fmt::format("running PreScore plugin \"{}\": {}", plugin->name(), text)};
  }
  return Unit{};
}

Status run_score(CycleContext& context, NodeBlocks& blocks, const Block& block, const PluginInstance& plugin,
                 const std::uint64_t* candidates, std::int64_t* raw) {
  Note note;
  const auto ask = [&] {
    observe::enter_block(block.slot(0), block.slot(0) + block.rows);
    const Code answer = call_plugin(plugin, observe::Point::score, note, [&] {
      return plugin.score->score(plugin.self(), context.abi(plugin), blocks.bind(block, plugin, &context, candidates),
                                 raw, note.abi());
    });
    observe::leave_block();
    return answer;
  };
  const auto ask_guarded = [&] {
    GuardedAnswer guarded(raw, block.rows, (block.rows + 63) / 64 * 64);
    const Code answer = ask();
    if (guarded.give_back()) return answer;
    note.write(fmt::format("it wrote past the end of its scores, which have {} rows", block.rows));
    return Code::error;
  };
  const Code code = plugin.host().traps_unasked_fields ? ask_guarded() : ask();
  if (code == Code::success) return Unit{};
  return Error{fmt::format("running Score plugins: plugin \"{}\" failed with: {}", plugin.name(),
                           code == Code::error ? note.text() : invalid_code(plugin, observe::Point::score, code))};
}

std::int64_t normalized(std::uint32_t kind, std::int64_t raw, const NormRange& range, std::int64_t score_max) noexcept {
  switch (kind) {
    case BERTH_NORM_MAX:
      return range.max == 0 ? raw : score_max * raw / range.max;
    case BERTH_NORM_MAX_REVERSED:
      return range.max == 0 ? score_max : score_max - score_max * raw / range.max;
    case BERTH_NORM_MINMAX: {
      const std::int64_t spread = range.max - range.min;
      if (spread <= 0) return 0;
      return static_cast<std::int64_t>(static_cast<double>(score_max) *
                                       (static_cast<double>(raw - range.min) / static_cast<double>(spread)));
    }
    case BERTH_NORM_MINMAX_INTEGER: {
      const cache::WideAmount spread = cache::WideAmount{range.max} - range.min;
      return spread <= 0 ? 0 : static_cast<std::int64_t>((cache::WideAmount{raw} - range.min) * score_max / spread);
    }
    default:
      return raw;
  }
}

Status check_range(const PluginInstance& plugin, std::int64_t score, std::int64_t score_max) {
  if (score >= 0 && score <= score_max) return Unit{};
  return Error{fmt::format(
      "applying score defaultWeights on Score plugins: plugin \"{}\" returns an invalid score {}, it should in the "
      "range of [0, {}] after normalizing",
      plugin.name(), score, score_max)};
}

Status normalize(CycleContext& context, const PluginInstance& plugin, std::span<const cache::Slot> nodes,
                 std::span<std::int64_t> scores, std::int64_t score_max) {
  const std::uint32_t kind = plugin.score->normalize_kind;
  if (kind == BERTH_NORM_CUSTOM) {
    Note note;
    const Code code = call_plugin(plugin, observe::Point::normalize_score, note, [&] {
      return plugin.score->normalize(plugin.self(), context.abi(plugin), nodes.data(), scores.data(),
                                     static_cast<std::uint32_t>(nodes.size()), note.abi());
    });
    if (code != Code::success)
      return Error{
          fmt::format("running Normalize on Score plugins: plugin \"{}\" failed with: {}", plugin.name(),
                      code == Code::error ? note.text() : invalid_code(plugin, observe::Point::normalize_score, code))};
  } else if (kind != BERTH_NORM_NONE && !scores.empty()) {
    NormRange range{scores.front(), scores.front()};
    for (const std::int64_t score : scores) {
      range.max = std::max(range.max, score);
      range.min = std::min(range.min, score);
    }
    if (!by_minimum(kind)) range.max = std::max<std::int64_t>(range.max, 0);
    for (std::int64_t& score : scores) score = normalized(kind, score, range, score_max);
  }
  for (const std::int64_t score : scores)
    if (score < 0 || score > score_max) return check_range(plugin, score, score_max);
  return Unit{};
}

}  // namespace berth::framework
