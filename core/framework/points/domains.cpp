// SPDX-License-Identifier: Apache-2.0
#include "framework/points/domains.hpp"

#include <algorithm>
#include <cstring>

#include "framework/plugin_call.hpp"
#include "framework/point_run.hpp"
#include "framework/points/score.hpp"
#include "framework/services/service_tables.hpp"

namespace berth::framework {
namespace {

berth_code add_column(void* ctx, const berth_domain_column_v1* column) {
  auto& out = *static_cast<DomainColumns*>(ctx);
  if (!has_first_fields(column) || (column->flags & ~BERTH_DOMAIN_TELL_APART) != 0 || column->reserved != 0 ||
      column->reserved_2 != 0 || column->domain_of == nullptr || column->values == nullptr ||
      column->domain_count == 0 || column->version == 0 || (column->changed_count != 0 && column->changed == nullptr) ||
      column->changed_count > column->changed_end || out.columns.size() == BERTH_DOMAIN_COLUMNS_MAX)
    return BERTH_BAD_ARGS;
  berth_domain_column_v1& copy = out.columns.emplace_back();  // what a later minor appends is 0 where it was not given
  std::memcpy(&copy, column, std::min<std::size_t>(column->struct_size, sizeof copy));
  return BERTH_OK;
}

/// Calls answer(columns) and adds what was named as a range of the plugin.
template <typename Answer>
Code named(const PluginInstance& plugin, observe::Point point, DomainColumns& out,
           std::vector<DomainColumns::Range>& ranges, Answer&& answer) {
  const berth_domain_columns_v1 into{sizeof(berth_domain_columns_v1), 0, &out, &add_column};
  const std::size_t before = out.columns.size();
  Note note;
  const Code code = call_plugin(plugin, point, note, [&] { return answer(&into, note.abi()); });
  if (code == Code::success)
    ranges.push_back(
        {&plugin, static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(out.columns.size() - before)});
  else
    out.columns.resize(before);
  return code;
}

bool filters_by_domain(const PluginInstance& plugin) noexcept {
  return plugin.domains != nullptr && plugin.domains->filter_columns != nullptr;
}
bool scores_by_domain(const PluginInstance& plugin) noexcept {
  return plugin.domains != nullptr && plugin.domains->score_columns != nullptr && plugin.score != nullptr;
}

bool scores_by_row(const PluginInstance& plugin) noexcept {
  return plugin.score_is_reusable() && plugin.score->normalize_kind != BERTH_NORM_CUSTOM;
}

berth_domain_groups_v1 view_of(GroupColumns& groups, const DomainColumns::Range& range) {
  auto& values = groups.value_pointers;
  auto& domains = groups.domain_pointers;
  values.clear();
  domains.clear();
  for (std::uint32_t c = range.first; c < range.first + range.count; ++c) {
    values.push_back(groups.values[c].data());
    domains.push_back(groups.domains[c].data());
  }
  return {
      sizeof(berth_domain_groups_v1), groups.count, range.count, 0, values.data(), domains.data(), groups.nodes.data()};
}

}  // namespace

bool ask_filter_columns(CycleContext& context, DomainColumns& out) {
  for (const PluginInstance* plugin : context.profile().filter) {
    if (plugin->filter_is_reusable() || context.skips_filter(*plugin)) continue;
    if (!filters_by_domain(*plugin)) return false;
    const Code code = named(*plugin, observe::Point::pre_filter, out, out.filters, [&](const auto* into, auto* note) {
      return plugin->domains->filter_columns(plugin->self(), context.abi(*plugin), into, note);
    });
    if (code != Code::success) return false;
  }
  return true;
}

bool ask_score_columns(CycleContext& context, std::uint32_t feasible_at_most, DomainColumns& out) {
  const ProfileRuntime& profile = context.profile();
  for (const PluginInstance* plugin : profile.pre_score)
    if (!scores_by_domain(*plugin) && (plugin->prepare->flags & BERTH_PREPARE_SCORE_WITHOUT_NODES) == 0) return false;
  for (const Scorer& scorer : profile.score)
    if (scorer.plugin->score->normalize_kind == BERTH_NORM_CUSTOM && !scores_by_domain(*scorer.plugin)) return false;
  PointRun run(profile, observe::Point::pre_score);
  for (const PluginInstance* plugin : profile.pre_score) {
    Code code;
    if (scores_by_domain(*plugin)) {
      std::uint32_t scores = 1;
      code = named(*plugin, observe::Point::pre_score, out, out.scorers, [&](const auto* into, auto* note) {
        return plugin->domains->score_columns(plugin->self(), context.abi(*plugin), into, &scores, note);
      });
      if (code == Code::skip) return false;
      if (code == Code::success && scores == 0) {
        out.columns.resize(out.scorers.back().first);
        out.scorers.pop_back();
        code = Code::skip;
      }
    } else {
      Note note;
      code = call_plugin(*plugin, observe::Point::pre_score, note, [&] {
        return plugin->prepare->pre_score(plugin->self(), context.abi(*plugin), nullptr, feasible_at_most, note.abi());
      });
    }
    if (code == Code::skip) context.mark_skip_score(*plugin);
    if (code != Code::success && code != Code::skip) return false;  // a search says what is wrong
  }
  return std::all_of(profile.score.begin(), profile.score.end(), [&](const Scorer& scorer) {
    return !scores(context, scorer) || scores_by_row(*scorer.plugin) || scores_all_zero(context, scorer) ||
           std::any_of(out.scorers.begin(), out.scorers.end(),
                       [&](const DomainColumns::Range& range) { return range.plugin == scorer.plugin; });
  });
}

bool run_filter_groups(CycleContext& context, const DomainColumns::Range& range, GroupColumns& groups,
                       std::vector<std::uint64_t>& pass) {
  const berth_domain_groups_v1 view = view_of(groups, range);
  pass.assign((groups.count + 63) / 64, ~std::uint64_t{0});
  const PluginInstance& plugin = *range.plugin;
  Note note;
  return call_plugin(plugin, observe::Point::filter, note, [&] {
           return plugin.domains->filter_groups(plugin.self(), context.abi(plugin), &view, pass.data(), note.abi());
         }) == Code::success;
}

bool run_score_groups(CycleContext& context, const DomainColumns::Range& range, GroupColumns& groups,
                      std::vector<std::int64_t>& scores) {
  const berth_domain_groups_v1 view = view_of(groups, range);
  scores.assign(groups.count, 0);
  const PluginInstance& plugin = *range.plugin;
  Note note;
  return call_plugin(plugin, observe::Point::score, note, [&] {
           return plugin.domains->score_groups(plugin.self(), context.abi(plugin), &view, scores.data(), note.abi());
         }) == Code::success;
}

}  // namespace berth::framework
