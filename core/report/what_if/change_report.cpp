// SPDX-License-Identifier: Apache-2.0
#include "report/what_if/change_report.hpp"

#include <spdlog/fmt/fmt.h>

#include "report/text_table.hpp"

namespace berth::report {
namespace {

void write_names(text::JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return;
  json.key(key).begin_list();
  for (const std::string& name : names) json.text(name);
  json.end_list();
}

}  // namespace

std::string changes_table(const std::vector<ChangeLine>& changes) {
  if (changes.empty()) return {};
  TextTable table({{"WHAT IF"}, {""}});
  for (const ChangeLine& change : changes) table.add({change.option, change.effect});
  return table.render();
}

std::string fill_table(const std::optional<FillReport>& fill, std::size_t node_rows) {
  if (!fill) return {};
  std::string out = fmt::format("\nUNTIL FULL\n  {} pod{} like {} fit{}{}\n", fill->fitting, plural(fill->fitting),
                                terminal_text(fill->pod), fill->fitting == 1 ? "s" : "",
                                fill->is_full ? "; the next one fits nowhere:" : ", and there is room for more");
  if (fill->is_full) out += "  " + terminal_text(fill->message) + '\n';
  if (!fill->rejections.empty()) {
    TextTable table({{"NODES", TextTable::Align::right}, {"PLUGIN"}, {"IN THE WAY"}});
    for (const RejectionCount& rejection : fill->rejections)
      table.add({std::to_string(rejection.nodes), rejection.plugin, rejection.reason});
    out += table.render(2);
  }
  if (fill->nodes.empty()) return out;
  TextTable table({{"PODS", TextTable::Align::right}, {"ON NODE"}});
  for (const auto& [node, pods] : fill->nodes)
    if (table.size() < node_rows) table.add({std::to_string(pods), node});
  out += table.render(2);
  if (table.size() < fill->nodes.size())
    out += fmt::format("  … {} more nodes; -o wide shows all\n", fill->nodes.size() - table.size());
  return out;
}

void write_changes(text::JsonWriter& json, const std::vector<ChangeLine>& changes) {
  if (changes.empty()) return;
  json.key("whatIf").begin_list();
  for (const ChangeLine& change : changes) {
    json.begin_object().key("option").text(change.option).key("effect").text(change.effect);
    write_names(json, "nodes", change.nodes);
    write_names(json, "addedPods", change.added_pods);
    write_names(json, "returnedPods", change.returned_pods);
    write_names(json, "removedPods", change.removed_pods);
    json.end_object();
  }
  json.end_list();
}

void write_fill(text::JsonWriter& json, const std::optional<FillReport>& fill) {
  if (!fill) return;
  json.key("untilFull").begin_object().key("pod").text(fill->pod);
  json.key("fitting").number(fill->fitting).key("full").boolean(fill->is_full);
  if (fill->is_full) json.key("message").text(fill->message);
  json.key("rejected").begin_list();
  for (const RejectionCount& rejection : fill->rejections) {
    json.begin_object().key("plugin").text(rejection.plugin).key("reason").text(rejection.reason);
    json.key("nodes").number(rejection.nodes).end_object();
  }
  json.end_list().key("nodes").begin_list();
  for (const auto& [node, pods] : fill->nodes)
    json.begin_object().key("name").text(node).key("pods").number(pods).end_object();
  json.end_list().end_object();
}

}  // namespace berth::report
