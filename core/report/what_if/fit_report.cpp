// SPDX-License-Identifier: Apache-2.0
#include "report/what_if/fit_report.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/utf8.hpp"
#include "report/text_table.hpp"

namespace berth::report {
namespace {

std::string reasons_text(const NodeFit& fit) {
  std::string out = fit.plugin;
  for (std::size_t i = 0; i < fit.reasons.size(); ++i) out += (i == 0 ? ": " : ", ") + fit.reasons[i];
  return terminal_text(out);
}

std::string node_text(const NodeFit& fit) {
  std::string out;
  for (const FitOption& change : fit.changes)
    out += (out.empty() ? "" : change.text.empty() ? "" : "\n    and ") + terminal_text(change.text);
  if (!fit.left.empty()) out += (out.empty() ? "" : "\n    ") + ("still in the way: " + terminal_text(fit.left));
  return out;
}

/// As an option is called where pods of that namespace may be named.
std::string line_text(const FitOption& option, std::string_view ns) {
  if (option.kind != "removePod" || option.change.starts_with(fmt::format("{{\"pod\":\"{}/", ns)))
    return terminal_text(option.text);
  return "without a pod of lower priority" +
         (option.on_nodes.empty() ? "" : " on " + terminal_text(option.on_nodes.front()));
}

/// What a fit without single options says.
std::string line_without_options(const FitReport& fit, std::string_view ns) {
  if (fit.fits_now != 0) return fmt::format("It fits on {} node{} as it is.", fit.fits_now, plural(fit.fits_now));
  if (fit.together) {
    std::string changes;
    for (const FitOption& change : fit.together->changes)
      if (!change.text.empty()) changes += (changes.empty() ? " " : " and ") + line_text(change, ns);
    return "It would fit on " + terminal_text(fit.together->node) + changes + '.';
  }
  return "No change of the pod would make it fit" +
         (fit.left.empty() ? std::string(".") : ": with every one, " + terminal_text(fit.left) + '.');
}

void write_option(text::JsonWriter& json, const FitOption& option) {
  json.begin_object().key("kind").text(option.kind).key("text").text(option.text).key("change").raw(option.change);
  json.key("nodes").number(option.nodes).key("onNodes").begin_list();
  for (const std::string& node : option.on_nodes) json.text(node);
  json.end_list().end_object();
}

void write_node(text::JsonWriter& json, const NodeFit& fit) {
  json.begin_object().key("node").text(fit.node).key("feasible").boolean(fit.is_feasible);
  if (!fit.is_feasible) {
    json.key("plugin").text(fit.plugin).key("reasons").begin_list();
    for (const std::string& reason : fit.reasons) json.text(reason);
    json.end_list();
  }
  json.key("changes").begin_list();
  for (const FitOption& change : fit.changes) write_option(json, change);
  json.end_list();
  if (!fit.left.empty()) json.key("left").text(fit.left);
  json.end_object();
}

}  // namespace

std::string fit_text(const FitReport& fit) {
  std::string out;
  if (fit.why_not) {
    const NodeFit& node = *fit.why_not;
    out += fmt::format("\nWHY NOT {}\n", terminal_text(node.node));
    if (node.is_feasible)
      out += "  The pod fits there.\n";
    else if (node.plugin.empty())
      out += "  A policy left the node out before nodes were looked at one by one.\n";
    else
      out += "  " + reasons_text(node) + '\n';
    if (!node.changes.empty() || !node.left.empty())
      out += (node.left.empty() ? "  It would fit there\n    " : "  It would not fit there\n    ") + node_text(node) +
             '\n';
  }
  if (fit.fits_now != 0)
    return out + fmt::format(
                     "\nWHAT WOULD MAKE IT FIT\n  It fits on {} node{} as it is: what keeps it waiting is its group, a "
                     "step after "
                     "the choice of a node, or that it was not tried since\n",
                     fit.fits_now, plural(fit.fits_now));
  const std::string limit =
      fit.is_complete ? "" : fmt::format("  … not all was tried: {} questions are the limit\n", fit.asked);
  if (fit.options.empty() && !fit.together) {
    if (!fit.why_not)
      out += "\nWHAT WOULD MAKE IT FIT\n  No change of the pod" +
             (fit.left.empty() ? std::string(".\n") : ": with every one, " + terminal_text(fit.left) + '\n') + limit;
    return out;
  }
  out += "\nWHAT WOULD MAKE IT FIT\n";
  if (fit.options.empty()) {
    out +=
        fmt::format("  No single change; on {}\n    {}\n", terminal_text(fit.together->node), node_text(*fit.together));
    return out;
  }
  TextTable table({{"NODES", TextTable::Align::right}, {"CHANGE"}, {"ON"}});
  for (const FitOption& option : fit.options) {
    std::string on;
    for (std::size_t i = 0; i < option.on_nodes.size() && i < 3; ++i) on += (i == 0 ? "" : ", ") + option.on_nodes[i];
    if (option.nodes > 3) on += ", …";
    table.add({std::to_string(option.nodes), option.text, on});
  }
  out += table.render(2);
  return out + limit;
}

std::string fit_line(const FitReport& fit, std::string_view ns, std::size_t bytes_max) {
  if (fit.fits_now != 0 || fit.options.empty()) {
    if (!fit.is_complete && !fit.together && fit.fits_now == 0) return {};  // that much is not known
    return excerpt(line_without_options(fit, ns), bytes_max);
  }
  std::string out = "It would fit";
  for (std::size_t i = 0; i < fit.options.size(); ++i) {
    const FitOption& option = fit.options[i];
    const std::string next =
        fmt::format("{}{} ({} node{})", i == 0 ? " " : "; ", line_text(option, ns), option.nodes, plural(option.nodes));
    const std::string rest = fmt::format("; {} more", fit.options.size() - i);
    const bool is_last = i + 1 == fit.options.size();
    if (i != 0 && out.size() + next.size() + (is_last ? 1 : rest.size() + 1) > bytes_max)
      return excerpt(out + rest + '.', bytes_max);
    out += next;
  }
  return excerpt(out + '.', bytes_max);
}

void write_fit(text::JsonWriter& json, const FitReport& fit) {
  json.key("fit").begin_object().key("fitsNow").number(fit.fits_now);
  json.key("options").begin_list();
  for (const FitOption& option : fit.options) write_option(json, option);
  json.end_list();
  if (fit.together) write_node(json.key("together"), *fit.together);
  if (!fit.left.empty()) json.key("left").text(fit.left);
  if (fit.why_not) write_node(json.key("whyNot"), *fit.why_not);
  json.key("asked").number(fit.asked).key("complete").boolean(fit.is_complete).end_object();
}

}  // namespace berth::report
