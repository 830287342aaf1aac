// SPDX-License-Identifier: Apache-2.0
#include "report/report_json.hpp"

#include <sstream>
#include <utility>

#include "base/product.hpp"
#include "config/read/yaml_writer.hpp"
#include "text/json_writer.hpp"
#include "text/parse.hpp"

namespace berth::report {
namespace {

constexpr std::size_t k_piece_bytes = std::size_t{1} << 16;  // of the text that is in memory

constexpr PodState k_states[] = {PodState::placed,   PodState::pending,  PodState::gated,  PodState::foreign,
                                 PodState::deleting, PodState::finished, PodState::running};

void write_resource(text::JsonWriter& json, const ReportResource& resource, const Usage& usage) {
  json.begin_object();
  json.key("name").text(resource.name);
  json.key("unit").text(unit_name(resource.unit));
  json.key("requested").number(usage.requested);
  json.key("allocatable").number(usage.allocatable);
  json.end_object();
}

void write_pod(text::JsonWriter& json, const PodLine& pod) {
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
  if (!pod.claims.empty()) json.key("claims").texts(pod.claims);
  json.end_object();
}

void write_node(text::JsonWriter& json, const NodeLine& node, const std::vector<ReportResource>& resources) {
  json.begin_object();
  json.key("name").text(node.name);
  if (!node.zone.empty()) json.key("zone").text(node.zone);
  json.key("unschedulable").boolean(node.unschedulable);
  json.key("resources").begin_list();
  for (std::size_t i = 0; i < resources.size(); ++i) write_resource(json, resources[i], node.usage[i]);
  json.end_list();
  json.end_object();
}

void write_claim(text::JsonWriter& json, const ClaimLine& claim) {
  json.begin_object().key("namespace").text(claim.ns).key("name").text(claim.name);
  json.key("state").text(claim_state_name(claim.state)).key("devices").begin_list();
  for (const ClaimDevice& device : claim.devices) {
    json.begin_object().key("request").text(device.request).key("driver").text(device.driver);
    json.key("pool").text(device.pool).key("device").text(device.device);
    if (device.is_admin_access) json.key("adminAccess").boolean(true);
    json.end_object();
  }
  json.end_list();
  json.key("reservedFor").texts(claim.reserved_for);
  json.end_object();
}

std::string_view state_of(const DeviceLine& device) {
  return device.is_allocated() ? "allocated" : device.is_tainted ? "tainted" : device.is_blocked ? "blocked" : "free";
}

void write_counts(text::JsonWriter& json, const DevicePoolLine::Counts& counts) {
  json.key("total").number(counts.devices);
  json.key("free").number(counts.free);
  json.key("allocated").number(counts.allocated);
  json.key("tainted").number(counts.tainted);
  json.key("taintedAndAllocated").number(counts.tainted_and_allocated);
  json.key("blocked").number(counts.blocked);
  json.key("shares").number(counts.shares);
}

void write_pool(text::JsonWriter& json, const DevicePoolLine& pool) {
  json.begin_object().key("node");
  pool.node.empty() ? json.null() : json.text(pool.node);
  if (pool.node.empty()) json.key("nodes").text(pool.nodes);
  if (!pool.is_node_known) json.key("nodeIsMissing").boolean(true);
  json.key("driver").text(pool.driver).key("pool").text(pool.pool);
  if (!pool.problem.empty()) json.key("problem").text(pool.problem);
  write_counts(json, pool.counts());
  json.key("devices").begin_list();
  for (const DeviceLine& device : pool.devices) {
    json.begin_object().key("name").text(device.name).key("state").text(state_of(device));
    if (device.is_tainted) json.key("tainted").boolean(true);
    if (!device.claims.empty()) json.key("claims").texts(device.claims);
    json.end_object();
  }
  json.end_list().end_object();
}

void write_devices(text::JsonWriter& json, const DeviceReport& devices) {
  if (!devices.claims.empty()) {
    json.key("claims").begin_list();
    for (const ClaimLine& claim : devices.claims) write_claim(json, claim);
    json.end_list();
  }
  if (devices.pools.empty()) return;
  DevicePoolLine::Counts all;
  json.key("devicePools").begin_list();
  for (const DevicePoolLine& pool : devices.pools) {
    write_pool(json, pool);
    all += pool.counts();
  }
  json.end_list().key("devices").begin_object();
  write_counts(json, all);
  json.end_object();
}

}  // namespace

void print_json(const SimulationReport& report, std::ostream& out) {
  text::JsonWriter json;
  const auto give = [&] {
    if (json.size() >= k_piece_bytes) json.give_to(out);
  };
  json.begin_object();
  json.key("scheduler").text(product());
  json.key("totals").begin_object();
  json.key("nodes").number(report.nodes.size());
  json.key("pods").number(report.pods.size());
  for (const PodState state : k_states) json.key(state_name(state)).number(report.count(state));
  json.end_object();
  write_changes(json, report.changes);
  write_fill(json, report.fill);
  json.key("pods").begin_list();
  for (const PodLine& pod : report.pods) {
    write_pod(json, pod);
    give();
  }
  json.end_list();
  json.key("nodes").begin_list();
  for (const NodeLine& node : report.nodes) {
    write_node(json, node, report.resources);
    give();
  }
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
  write_devices(json, report.devices);
  json.end_object();
  out << json.take() << '\n';
}

std::string render_json(const SimulationReport& report) {
  std::ostringstream out;
  print_json(report, out);
  return std::move(out).str();
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
