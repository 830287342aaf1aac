// SPDX-License-Identifier: Apache-2.0
#include "config/absent_plugins.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "config/embedded.hpp"
#include "config/raw_configuration.hpp"
#include "config/read/fields.hpp"
#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

model::FieldCondition read_condition(Fields& fields, const Source& source) {
  model::FieldCondition condition;
  if (!fields.read("field", condition.path)) source.report(fields.place_of("field"), "Required value");
  std::string equals;
  if (fields.read("equals", equals)) condition.equals = std::move(equals);
  return condition;
}

model::FieldNeed read_need(const text::Value& value, const std::string& path, const std::string& plugin,
                           const Source& source) {
  Fields fields(source, value, path);
  model::FieldNeed need{plugin, {}};
  const text::Value* all = fields.sequence("allOf");
  if (all == nullptr) {
    need.all_of.push_back(read_condition(fields, source));
    return need;
  }
  for (std::size_t i = 0; i < all->elements().size(); ++i) {
    Fields part(source, all->elements()[i], fmt::format("{}[{}]", fields.path_of("allOf"), i));
    need.all_of.push_back(read_condition(part, source));
  }
  return need;
}

PointSet read_points(Fields& fields, const Source& source) {
  PointSet points = 0;
  std::vector<std::string> names;
  fields.read_strings("points", names);
  for (const std::string& name : names) {
    std::size_t set = 0;
    while (set < k_plugin_set_count && (set == k_multi_point || plugin_set_name(set) != name)) ++set;
    if (set == k_plugin_set_count)
      source.report(fields.place_of("points"), fmt::format("{} is no extension point", quoted(name)));
    else
      points |= PointSet{1} << set;
  }
  return points;
}

AbsentPlugin read_plugin(const text::Value& value, std::string path, const Source& source) {
  Fields fields(source, value, std::move(path));
  AbsentPlugin plugin;
  if (!fields.read("name", plugin.name)) source.report(fields.place_of("name"), "Required value");
  plugin.points = read_points(fields, source);
  fields.read("reason", plugin.reason);
  fields.read("filterWithoutPreFilter", plugin.filter_error_without_pre_filter);
  fields.read("scoreWithoutPreFilter", plugin.score_error_without_pre_filter);
  fields.read("gate", plugin.gate);
  fields.read("weight", plugin.weight);
  if (const text::Value* schema = fields.mapping("argsSchema")) plugin.args_schema = text::to_json(*schema);
  if (const text::Value* needs = fields.sequence("needs"))
    for (std::size_t i = 0; i < needs->elements().size(); ++i)
      plugin.needs.push_back(
          read_need(needs->elements()[i], fmt::format("{}[{}]", fields.path_of("needs"), i), plugin.name, source));
  if (!plugin.needs.empty() && plugin.reason.empty()) source.report(fields.place_of("reason"), "Required value");
  return plugin;
}

}  // namespace

AbsentPlugins AbsentPlugins::parse(std::string_view yaml, const std::string& file, text::Diagnostics& diagnostics) {
  const Source source{file, diagnostics};
  const std::vector<text::Document> documents = text::parse_yaml(yaml, file, diagnostics);
  std::vector<AbsentPlugin> plugins;
  std::vector<RemovedPlugin> removed;
  for (const text::Document& document : documents) {
    text::report_duplicates(document, document.root(), diagnostics);
    Fields root(source, document.root(), "");
    if (const text::Value* list = root.sequence("plugins"))
      for (std::size_t i = 0; i < list->elements().size(); ++i)
        plugins.push_back(read_plugin(list->elements()[i], fmt::format("plugins[{}]", i), source));
    if (const text::Value* list = root.sequence("removed"))
      for (std::size_t i = 0; i < list->elements().size(); ++i) {
        Fields fields(source, list->elements()[i], fmt::format("removed[{}]", i));
        RemovedPlugin& plugin = removed.emplace_back();
        fields.read("name", plugin.name);
        fields.read("instead", plugin.instead);
      }
  }
  return {std::move(plugins), std::move(removed)};
}

const AbsentPlugins& AbsentPlugins::embedded() {
  static const AbsentPlugins plugins = [] {
    text::Diagnostics diagnostics;
    AbsentPlugins parsed = parse(embedded::absent_plugins(), "conf/absent-plugins.yaml", diagnostics);
    AbsentPlugins gated = parse(embedded::gated_plugins(), "conf/gated-plugins.yaml", diagnostics);
    BERTH_CHECK(diagnostics.empty(), "embedded lists of absent plugins: {}", diagnostics.render());
    std::move(gated.plugins_.begin(), gated.plugins_.end(), std::back_inserter(parsed.plugins_));
    return parsed;
  }();
  return plugins;
}

const AbsentPlugin* AbsentPlugins::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(plugins_.begin(), plugins_.end(), [&](const AbsentPlugin& p) { return p.name == name; });
  return found == plugins_.end() ? nullptr : &*found;
}

const RemovedPlugin* AbsentPlugins::find_removed(std::string_view name) const noexcept {
  const auto found =
      std::find_if(removed_.begin(), removed_.end(), [&](const RemovedPlugin& p) { return p.name == name; });
  return found == removed_.end() ? nullptr : &*found;
}

}  // namespace berth::config
