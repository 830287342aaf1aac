// SPDX-License-Identifier: Apache-2.0
#include "report/html_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/product.hpp"
#include "report/page/page.hpp"
#include "report/what_if/change_report.hpp"
#include "text/json_writer.hpp"

namespace berth::report {
namespace {

/// A label with more values than this share of the nodes tells nodes apart and is no group.
constexpr std::size_t k_nodes_per_value_min = 2;
constexpr std::size_t k_label_keys_max = 40;
constexpr std::string_view k_topology_prefix = "topology.kubernetes.io/";

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

/// Texts by number, in the order of their first use.
class Texts {
 public:
  std::int64_t of(const std::string& text) {
    const auto [known, is_new] = places_.try_emplace(text, number(order_.size()));
    if (is_new) order_.push_back(text);
    return known->second;
  }
  void write(text::JsonWriter& json) const {
    json.begin_list();
    for (const std::string& text : order_) json.text(text);
    json.end_list();
  }

 private:
  std::unordered_map<std::string, std::int64_t> places_;
  std::vector<std::string> order_;
};

/// Growing numbers as [first, count, first, count, …].
void write_ranges(text::JsonWriter& json, const std::vector<std::size_t>& numbers) {
  json.begin_list();
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    json.number(numbers[i]).number(end - i);
    i = end;
  }
  json.end_list();
}

void write_reasons(text::JsonWriter& json, const std::string& plugin, const std::vector<std::string>& reasons) {
  json.key("plugin").text(plugin).key("reasons").begin_list();
  for (const std::string& reason : reasons) json.text(reason);
  json.end_list();
}

void write_labels(text::JsonWriter& json, const PageParts& parts) {
  struct Column {
    Texts values;
    std::vector<std::pair<std::size_t, std::int64_t>> of;  // node, place in values
    std::size_t distinct = 0;
  };
  std::map<std::string, Column> columns;
  for (std::size_t node = 0; node < parts.labels.size(); ++node)
    for (const auto& [key, value] : parts.labels[node]) {
      Column& column = columns[key];
      const std::int64_t place = column.values.of(value);
      column.of.emplace_back(node, place);
      column.distinct = std::max(column.distinct, static_cast<std::size_t>(place) + 1);
    }
  // What tells groups of nodes apart first: where labels are too many, those that all nodes share are left out.
  std::vector<std::pair<const std::string, Column>*> groups;
  for (auto& column : columns) {
    const auto& [values, of, distinct] = column.second;
    if (distinct == 1 || distinct * k_nodes_per_value_min <= of.size()) groups.push_back(&column);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const auto* column) { return column->second.distinct > 1; });
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto* column) { return column->first.starts_with(k_topology_prefix); });
  if (groups.size() > k_label_keys_max) groups.resize(k_label_keys_max);
  json.key("labels").begin_object();
  for (auto* group : groups) {
    std::vector<std::int64_t> places(parts.labels.size(), -1);  // -1: the node has none
    for (const auto& [node, place] : group->second.of) places[node] = place;
    json.key(group->first).begin_object();
    group->second.values.write(json.key("values"));
    json.key("of").begin_list();
    for (const std::int64_t place : places) json.number(place);
    json.end_list().end_object();
  }
  json.end_object();
}

void write_nodes(text::JsonWriter& json, const SimulationReport& report, const PageParts& parts) {
  json.key("nodes").begin_object().key("names").begin_list();
  for (const NodeLine& node : report.nodes) json.text(node.name);
  json.end_list().key("cordoned").begin_list();
  for (std::size_t i = 0; i < report.nodes.size(); ++i)
    if (report.nodes[i].unschedulable) json.number(i);
  json.end_list();
  write_labels(json, parts);
  json.key("resources").begin_list();
  for (std::size_t i = 0; i < report.resources.size(); ++i) {
    const Usage all = report.total(i);
    if (all.allocatable == 0 && all.requested == 0) continue;
    json.begin_object()
        .key("name")
        .text(report.resources[i].name)
        .key("unit")
        .text(unit_name(report.resources[i].unit));
    json.key("requested").begin_list();
    for (const NodeLine& node : report.nodes) json.number(node.usage[i].requested);
    json.end_list().key("allocatable").begin_list();
    for (const NodeLine& node : report.nodes) json.number(node.usage[i].allocatable);
    json.end_list().end_object();
  }
  json.end_list().end_object();
}

using Places = std::unordered_map<std::string, std::size_t>;

/// What the scheduler says of a pod that waits, or null.
std::string queue_word(const PodLine& pod) {
  if (!pod.word) return "null";
  const QueueWord& word = *pod.word;
  text::JsonWriter json;
  json.begin_object().key("place").text(word.place);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const std::string&>>{
           {"nextTry", word.next_try}, {"triedAgainBy", word.tried_again_by}})
    if (!value.empty()) json.key(key).text(value);
  return json.key("wokenBy").texts(word.woken_by).end_object().take();
}

void write_pods(text::JsonWriter& json, const SimulationReport& report, const PageParts& parts,
                const Places& node_places) {
  std::unordered_map<std::size_t, std::size_t> detail_of;
  for (std::size_t i = 0; i < parts.details.size(); ++i) {
    detail_of.emplace(parts.details[i].pod, i);
    for (const std::size_t other : parts.details[i].others) detail_of.emplace(other, i);
  }
  Texts namespaces, states, messages;
  json.key("pods").begin_object().key("list").begin_list();
  for (std::size_t i = 0; i < report.pods.size(); ++i) {
    const PodLine& pod = report.pods[i];
    const auto node = node_places.find(pod.node);
    const auto detail = detail_of.find(i);
    json.begin_list()
        .number(namespaces.of(pod.ns))
        .text(pod.name)
        .number(states.of(std::string(state_name(pod.state))));
    json.number(node == node_places.end() ? -1 : number(node->second));
    json.number(pod.message.empty() ? -1 : messages.of(pod.message)).number(pod.priority).number(pod.attempts);
    json.number(detail == detail_of.end() ? -1 : number(detail->second));
    if (report.looked_at_ns != 0) json.number(pod.created_ns / 1'000'000'000).raw(queue_word(pod));
    json.end_list();
  }
  json.end_list();
  namespaces.write(json.key("namespaces"));
  states.write(json.key("states"));
  messages.write(json.key("messages"));
  json.end_object();
}

void write_detail(text::JsonWriter& json, const PodDetail& detail, const Places& node_places) {
  json.begin_object().key("pod").number(detail.pod);
  const cycle::Explanation& explanation = detail.explanation;
  if (explanation.pod_rejection) {
    json.key("preFilter").begin_object();
    write_reasons(json, explanation.pod_rejection->plugin, explanation.pod_rejection->reasons);
    json.end_object();
  }
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::size_t>> causes;
  std::vector<std::size_t> feasible;
  for (const cycle::NodeExplanation& node : explanation.nodes) {
    const auto place = node_places.find(node.node);
    if (place == node_places.end()) continue;
    (node.code == framework::Code::success ? feasible : causes[{node.plugin, node.reasons}]).push_back(place->second);
  }
  std::vector<decltype(causes)::value_type*> order;
  for (auto& cause : causes) order.push_back(&cause);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.size() > b->second.size(); });
  json.key("rejected").begin_list();
  for (auto* cause : order) {
    std::sort(cause->second.begin(), cause->second.end());
    json.begin_object();
    write_reasons(json, cause->first.first, cause->first.second);
    write_ranges(json.key("nodes"), cause->second);
    json.end_object();
  }
  json.end_list();
  std::sort(feasible.begin(), feasible.end());
  write_ranges(json.key("feasible"), feasible);
  write_fit(json, detail.fit);
  json.end_object();
}

void write_plugins(text::JsonWriter& json, const std::vector<PluginLine>& plugins) {
  json.key("plugins").begin_list();
  for (const PluginLine& plugin : plugins) {
    json.begin_object().key("name").text(plugin.name).key("version").text(plugin.version);
    if (plugin.calls) json.key("calls").number(plugin.calls->calls).key("tookNs").number(plugin.calls->took_ns);
    json.key("file").text(plugin.file).key("sha256").text(plugin.sha256).key("points").begin_list();
    for (const std::string& point : plugin.points) json.text(point);
    json.end_list().end_object();
  }
  json.end_list();
}

/// JSON that can stand in a script element: no "<" is left, so neither an end tag nor a comment.
std::string page_json(std::string json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

/// What a policy of content wants of a digest in hex.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view k_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto half = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 6) {
    unsigned bits = 0, bytes = 0;
    for (std::size_t k = 0; k < 6; k += 2) {
      bits <<= 8;
      if (i + k + 1 >= hex.size()) continue;
      bits |= half(hex[i + k]) << 4 | half(hex[i + k + 1]);
      ++bytes;
    }
    for (unsigned k = 0; k < 4; ++k) out += k <= bytes ? k_digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string content_policy(bool is_served) {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'{}",
      base64_of_hex(page::script_sha256()), base64_of_hex(page::style_sha256()),
      is_served ? "; connect-src 'self'" : "");
}

std::string page_data(const SimulationReport& report, const PageParts& parts) {
  Places node_places;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) node_places.emplace(report.nodes[i].name, i);
  text::JsonWriter json;
  json.begin_object().key("scheduler").text(product());
  json.key("untried").text(k_not_tried);
  if (parts.is_served) json.key("served").boolean(true);
  if (report.looked_at_ns != 0) {
    json.key("live").begin_object().key("server").text(parts.server);
    json.key("at").number(report.looked_at_ns / 1'000'000'000).end_object();
  }
  if (!parts.times.empty()) json.key("times").raw(parts.times);
  if (parts.takes_changes) json.key("takesChanges").boolean(true);
  if (!parts.before.empty()) json.key("before").raw(parts.before);
  write_changes(json, report.changes);
  write_fill(json, report.fill);
  write_nodes(json, report, parts);
  write_pods(json, report, parts, node_places);
  json.key("details").begin_list();
  for (const PodDetail& detail : parts.details) write_detail(json, detail, node_places);
  json.end_list();
  write_plugins(json, parts.plugins);
  return json.end_object().take();
}

std::string render_html(const SimulationReport& report, const PageParts& parts) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>berth</title>\n<style>",
      content_policy(parts.is_served));
  html += page::style();
  html += "</style></head>\n<body>\n";
  html += page::body();
  html += "<script type=\"application/json\" id=\"data\">";
  html += page_json(page_data(report, parts));
  html += "</script>\n<script type=\"module\">";
  html += page::script();
  html += "</script>\n</body></html>\n";
  return html;
}

}  // namespace berth::report
