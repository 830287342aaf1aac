// SPDX-License-Identifier: Apache-2.0
#include "report/compare_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <unordered_map>

#include "base/product.hpp"
#include "report/text_table.hpp"
#include "report/what_if/change_report.hpp"
#include "text/json_writer.hpp"

namespace berth::report {
namespace {

constexpr auto k_right_column = TextTable::Align::right;

struct ResourceSummary {
  const ReportResource* resource = nullptr;
  Usage total;
  std::int64_t fullest_percent = 0, largest_free = 0;
};

struct PolicySummary {
  std::size_t nodes_in_use = 0;
  std::vector<ResourceSummary> resources;
};

PolicySummary summarize(const SimulationReport& report) {
  PolicySummary summary;
  constexpr std::size_t k_pods = 2;  // the place of "pods" in SimulationReport::resources
  for (const NodeLine& node : report.nodes)
    if (node.usage[k_pods].requested != 0) ++summary.nodes_in_use;
  for (std::size_t i = 0; i < report.resources.size(); ++i) {
    ResourceSummary of{&report.resources[i], report.total(i)};
    for (const NodeLine& node : report.nodes) {
      of.fullest_percent = std::max(of.fullest_percent, percent(node.usage[i]));
      of.largest_free = std::max(of.largest_free, node.usage[i].allocatable - node.usage[i].requested);
    }
    summary.resources.push_back(of);
  }
  return summary;
}

/// A pod that came to different ends.
struct Difference {
  std::string pod;
  const PodLine* a = nullptr;  // null: it is not there
  const PodLine* b = nullptr;
};

std::vector<Difference> differences(const SimulationReport& a, const SimulationReport& b) {
  std::unordered_map<std::string, const PodLine*> of_b;
  for (const PodLine& pod : b.pods) of_b.emplace(pod.key(), &pod);
  std::vector<Difference> out;
  for (const PodLine& pod : a.pods) {
    std::string key = pod.key();
    const auto other = of_b.find(key);
    const PodLine* const line = other == of_b.end() ? nullptr : other->second;
    if (line == nullptr || line->node != pod.node || line->state != pod.state)
      out.push_back({std::move(key), &pod, line});
    if (line != nullptr) of_b.erase(other);
  }
  for (const PodLine& pod : b.pods)
    if (const auto left = of_b.find(pod.key()); left != of_b.end() && left->second == &pod)
      out.push_back({left->first, nullptr, &pod});
  return out;
}

std::string outcome_text(const PodLine* pod) {
  if (pod == nullptr) return "gone";
  if (!pod->node.empty()) return pod->node;
  return std::string(state_name(pod->state)) + (pod->message.empty() ? "" : ": " + pod->message.get());
}

void write_outcome(text::JsonWriter& json, const PodLine* pod) {
  if (pod == nullptr) {
    json.null();
    return;
  }
  json.begin_object().key("state").text(state_name(pod->state)).key("node");
  pod->node.empty() ? json.null() : json.text(pod->node);
  if (!pod->message.empty()) json.key("message").text(pod->message);
  json.end_object();
}

void write_policy(text::JsonWriter& json, const Policy& policy) {
  const SimulationReport& report = policy.report;
  const PolicySummary summary = summarize(report);
  json.begin_object().key("name").text(policy.name);
  json.key("placed").number(report.count(PodState::placed));
  json.key("pending").number(report.count(PodState::pending));
  json.key("gated").number(report.count(PodState::gated));
  json.key("evictions").number(report.evictions.size());
  json.key("nodesInUse").number(summary.nodes_in_use);
  json.key("nodesEmpty").number(report.nodes.size() - summary.nodes_in_use);
  if (report.fill) {
    json.key("fitting").number(report.fill->fitting);
    json.key("message").text(report.fill->message);
  }
  json.key("resources").begin_list();
  for (const ResourceSummary& of : summary.resources) {
    json.begin_object().key("name").text(of.resource->name).key("unit").text(unit_name(of.resource->unit));
    json.key("requested").number(of.total.requested).key("allocatable").number(of.total.allocatable);
    json.key("usedPercent").number(percent(of.total)).key("fullestNodePercent").number(of.fullest_percent);
    json.key("largestFree").number(of.largest_free).end_object();
  }
  json.end_list().end_object();
}

}  // namespace

std::string render_comparison(const Policy& a, const Policy& b, const TableStyle& style) {
  std::string out = changes_table(a.report.changes);
  if (!out.empty()) out += '\n';
  const PolicySummary of_a = summarize(a.report), of_b = summarize(b.report);
  TextTable table({{""}, {"A: " + a.name, k_right_column}, {"B: " + b.name, k_right_column}});
  const auto row = [&](std::string_view name, std::size_t first, std::size_t second) {
    table.add({std::string(name), std::to_string(first), std::to_string(second)});
  };
  for (const PodState state : {PodState::placed, PodState::pending, PodState::gated}) {
    const std::size_t first = a.report.count(state), second = b.report.count(state);
    if (state != PodState::gated || first + second != 0) row(state_name(state), first, second);
  }
  if (a.report.fill && b.report.fill)
    row("pods like " + a.report.fill->pod + " that fit", a.report.fill->fitting, b.report.fill->fitting);
  row("evicted", a.report.evictions.size(), b.report.evictions.size());
  row("nodes with pods", of_a.nodes_in_use, of_b.nodes_in_use);
  row("empty nodes", a.report.nodes.size() - of_a.nodes_in_use, b.report.nodes.size() - of_b.nodes_in_use);
  for (const ResourceSummary& first : of_a.resources) {
    const auto second = std::find_if(of_b.resources.begin(), of_b.resources.end(), [&](const ResourceSummary& of) {
      return of.resource->name == first.resource->name;
    });
    if (second == of_b.resources.end() || (first.total.requested == 0 && second->total.requested == 0)) continue;
    const auto cell = [](const ResourceSummary& of) {
      return fmt::format("{}% {}/{}", percent(of.total), amount_text(of.total.requested, of.resource->unit),
                         amount_text(of.total.allocatable, of.resource->unit));
    };
    const std::string& name = first.resource->name;
    table.add({name + " requested", cell(first), cell(*second)});
    table.add({name + ", fullest node", fmt::format("{}%", first.fullest_percent),
               fmt::format("{}%", second->fullest_percent)});
    table.add({name + ", most that is free on a node", amount_text(first.largest_free, first.resource->unit),
               amount_text(second->largest_free, second->resource->unit)});
  }
  out += table.render();
  if (a.report.fill && b.report.fill)
    out += fmt::format("\nThen stands in the way:\n  A: {}\n  B: {}\n", terminal_text(a.report.fill->message),
                       terminal_text(b.report.fill->message));

  const std::vector<Difference> pods = differences(a.report, b.report);
  if (pods.empty()) return out + "\nEvery pod comes to the same end.\n";
  out += fmt::format("\nPODS THAT COME TO DIFFERENT ENDS ({})\n", pods.size());
  TextTable different({{"POD"}, {"A"}, {"B"}});
  const std::size_t limit = style.wide ? pods.size() : style.pod_rows;
  for (const Difference& pod : pods)
    if (different.size() < limit) different.add({pod.pod, outcome_text(pod.a), outcome_text(pod.b)});
  out += different.render(2);
  if (different.size() < pods.size())
    out += fmt::format("  … {} more pods; -o wide shows all\n", pods.size() - different.size());
  return out;
}

std::string render_comparison_json(const Policy& a, const Policy& b) {
  text::JsonWriter json;
  json.begin_object().key("scheduler").text(product());
  write_changes(json, a.report.changes);
  json.key("policies").begin_list();
  write_policy(json, a);
  write_policy(json, b);
  json.end_list().key("differences").begin_list();
  for (const Difference& pod : differences(a.report, b.report)) {
    json.begin_object().key("pod").text(pod.pod);
    write_outcome(json.key("a"), pod.a);
    write_outcome(json.key("b"), pod.b);
    json.end_object();
  }
  json.end_list().end_object();
  return json.take() + "\n";
}

}  // namespace berth::report
