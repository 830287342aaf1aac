// SPDX-License-Identifier: Apache-2.0
#include "report/report_json.hpp"

#include "base/product.hpp"
#include "config/read/yaml_writer.hpp"
#include "report/json_writer.hpp"
#include "text/parse.hpp"

namespace berth::report {
namespace {

constexpr PodState k_states[] = {PodState::placed,   PodState::pending,  PodState::gated,  PodState::foreign,
                                 PodState::deleting, PodState::finished, PodState::running};

void write_resource(JsonWriter& json, const ReportResource& resource, const Usage& usage) {
  json.begin_object();
  json.key("name").text(resource.name);
  json.key("unit").text(unit_name(resource.unit));
  json.key("requested").number(usage.requested);
  json.key("allocatable").number(usage.allocatable);
  json.end_object();
}

void write_pod(JsonWriter& json, const PodLine& pod) {
  json.begin_object();
  json.key("namespace").text(pod.ns);
  json.key("name").text(pod.name);
  json.key("state").text(state_name(pod.state));
  json.key("node");
  pod.node.empty() ? json.null() : json.text(pod.node);
  json.key("schedulerName").text(pod.scheduler_name);
  json.key("priority").number(pod.priority);
  json.key("attempts").number(pod.attempts);
  json.key("evaluatedNodes").number(pod.evaluated_nodes);
  json.key("feasibleNodes").number(pod.feasible_nodes);
  if (!pod.message.empty()) json.key("message").text(pod.message);
  if (!pod.nominated_node.empty()) json.key("nominatedNode").text(pod.nominated_node);
  if (!pod.top_scores.empty()) {
    json.key("bestNodes").begin_list();
    for (const auto& [node, total] : pod.top_scores)
      json.begin_object().key("node").text(node).key("total").number(total).end_object();
    json.end_list();
  }
  json.end_object();
}

void write_node(JsonWriter& json, const NodeLine& node, const std::vector<ReportResource>& resources) {
  json.begin_object();
  json.key("name").text(node.name);
  if (!node.zone.empty()) json.key("zone").text(node.zone);
  json.key("unschedulable").boolean(node.unschedulable);
  json.key("resources").begin_list();
  for (std::size_t i = 0; i < resources.size(); ++i) write_resource(json, resources[i], node.usage[i]);
  json.end_list();
  json.end_object();
}

}  // namespace

std::string render_json(const SimulationReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("scheduler").text(product());
  json.key("totals").begin_object();
  json.key("nodes").number(static_cast<std::int64_t>(report.nodes.size()));
  json.key("pods").number(static_cast<std::int64_t>(report.pods.size()));
  for (const PodState state : k_states)
    json.key(state_name(state)).number(static_cast<std::int64_t>(report.count(state)));
  json.end_object();
  json.key("pods").begin_list();
  for (const PodLine& pod : report.pods) write_pod(json, pod);
  json.end_list();
  json.key("nodes").begin_list();
  for (const NodeLine& node : report.nodes) write_node(json, node, report.resources);
  json.end_list();
  if (!report.evictions.empty()) {
    json.key("evictions").begin_list();
    for (const EvictionLine& line : report.evictions) {
      json.begin_object().key("pod").text(line.pod).key("priority").number(line.priority);
      json.key("node").text(line.node).key("for").text(line.preemptor).end_object();
    }
    json.end_list();
  }
  json.key("resources").begin_list();
  for (std::size_t i = 0; i < report.resources.size(); ++i) write_resource(json, report.resources[i], report.total(i));
  json.end_list();
  json.end_object();
  return json.take() + "\n";
}

std::string yaml_of_json(const std::string& json) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "report", diagnostics);
  BERTH_CHECK(diagnostics.empty() && documents.size() == 1, "a report is not JSON: {}", diagnostics.render());
  std::string yaml;
  config::append_yaml(yaml, documents.front().root(), 0);
  return yaml;
}

std::string render_yaml(const SimulationReport& report) { return yaml_of_json(render_json(report)); }

}  // namespace berth::report
