// SPDX-License-Identifier: Apache-2.0
#include "report/simulate_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace berth::report {
namespace {

constexpr std::string_view k_zone_label = "topology.kubernetes.io/zone";

struct Attempts {
  const Decision* last = nullptr;
  std::uint32_t count = 0;
};

AmountUnit unit_of(std::string_view resource) {
  if (resource == "cpu") return AmountUnit::milli_cores;
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource.substr(0, 10) == "hugepages-";
  return bytes ? AmountUnit::bytes : AmountUnit::count;
}

model::SharedText full_message(const Decision& decision, SharedTexts& texts) {
  if (decision.post_filter_message.empty()) return texts.shared(decision.message);
  return texts.of(decision.message.get() + " " + decision.post_filter_message.get());
}

const model::PodCondition* not_scheduled(const model::Pod& pod) {
  const auto said =
      std::find_if(pod.conditions.begin(), pod.conditions.end(), [](const model::PodCondition& condition) {
        return condition.type == "PodScheduled" && condition.status == "False";
      });
  return said != pod.conditions.end() ? &*said : nullptr;
}

std::string binding_failure(const model::Pod& pod, std::string_view node) {
  const model::PodCondition* const said = not_scheduled(pod);
  return said != nullptr ? said->message : fmt::format("was to go to {}, and is not bound", node);
}

PodState state_of(const model::Pod& pod, const PodLine& line, const ReportSources& sources,
                  const queue::PendingPod* waiting) {
  if (pod.finished()) return PodState::finished;
  if (pod.deleting) return PodState::deleting;
  if (!line.node.empty()) return line.attempts == 0 ? PodState::running : PodState::placed;
  if (!sources.has_profile(pod.scheduler_name)) return PodState::foreign;
  return waiting != nullptr && waiting->gated() ? PodState::gated : PodState::pending;
}

/// Claims made for a pod's extended resources, by its uid. For each claim the names in the order of the cluster.
using ExtendedClaims = std::unordered_map<std::string_view, std::vector<std::string_view>>;

std::vector<std::string> claims_of(const model::Pod& pod, const ExtendedClaims& extended) {
  std::vector<std::string> names;
  for (const model::PodClaim& claim : pod.spec->resource_claims) {
    std::string name = claim.claim;
    for (const auto& generated : pod.claim_statuses->generated)
      if (name.empty() && generated.name == claim.name) name = generated.claim;
    if (!name.empty()) names.push_back(std::move(name));
  }
  if (const auto made = extended.find(pod.uid.text()); made != extended.end())
    names.insert(names.end(), made->second.begin(), made->second.end());
  return names;
}

PodLine describe_pod(const model::Pod& pod, const ReportSources& sources, const Attempts* attempts,
                     const queue::PendingPod* waiting, SharedTexts& texts) {
  PodLine line;
  line.ns = pod.ns;
  line.name = pod.name;
  line.node = texts.of(sources.symbols.text(pod.node_name));
  line.scheduler_name = pod.scheduler_name;
  line.priority = pod.priority;
  line.nominated_node = texts.of(sources.symbols.text(pod.nominated_node));
  if (attempts != nullptr) {
    const Decision& last = *attempts->last;
    line.attempts = attempts->count;
    if (sources.decisions_bind && line.node.empty()) line.node = texts.shared(last.node);
    if (line.node.empty()) line.message = full_message(last, texts);
    if (!last.nominated_node.empty()) line.nominated_node = last.nominated_node;
    line.evaluated_nodes = last.evaluated_nodes;
    line.feasible_nodes = last.feasible_nodes;
    line.top_scores = last.top_scores;
  }
  line.state = state_of(pod, line, sources, waiting);
  if (line.state == PodState::gated) line.message = texts.of(waiting->gate_message);
  if (line.state == PodState::pending && line.message.empty()) {
    // What came after the decision and took the place away again stands in the pod's condition.
    line.message =
        texts.of(attempts == nullptr ? std::string(k_not_tried) : binding_failure(pod, attempts->last->node));
  }
  return line;
}

std::vector<ReportResource> resources_of(const cache::Snapshot& snapshot, const SymbolTable& symbols) {
  std::vector<ReportResource> resources;
  for (const char* name : {"cpu", "memory", "pods", "ephemeral-storage"}) resources.push_back({name, unit_of(name)});
  std::set<std::string> others;
  for (const cache::Slot slot : snapshot.order())
    for (const model::ResourceAmount& amount : snapshot.row(slot).node->allocatable)
      if (amount.amount != 0) others.emplace(symbols.text(amount.name));
  for (const std::string& name : others) {
    const bool listed = std::any_of(resources.begin(), resources.end(), [&](const auto& r) { return r.name == name; });
    if (!listed) resources.push_back({name, unit_of(name)});
  }
  return resources;
}

NodeLine describe_node(const cache::NodeRow& row, const std::vector<ReportResource>& resources,
                       const std::vector<cache::ResourceIndex>& indices, const SymbolTable& symbols) {
  NodeLine line;
  line.name = row.node->name;
  line.unschedulable = row.node->unschedulable;
  for (const model::Label& label : row.node->labels)
    if (symbols.text(label.key) == k_zone_label) line.zone = symbols.text(label.value);
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].name == "pods")
      line.usage.push_back({static_cast<std::int64_t>(row.pods.size()), row.allowed_pods});
    else
      line.usage.push_back({row.requested_of(indices[i]), row.allocatable_of(indices[i])});
  }
  return line;
}

}  // namespace

std::string_view state_name(PodState state) noexcept {
  switch (state) {
    case PodState::placed:
      return "placed";
    case PodState::pending:
      return "pending";
    case PodState::gated:
      return "gated";
    case PodState::foreign:
      return "foreign";
    case PodState::deleting:
      return "deleting";
    case PodState::finished:
      return "finished";
    case PodState::running:
      return "running";
  }
  return "";
}

std::string_view unit_name(AmountUnit unit) noexcept {
  switch (unit) {
    case AmountUnit::milli_cores:
      return "milli";
    case AmountUnit::bytes:
      return "bytes";
    case AmountUnit::count:
      return "count";
  }
  return "";
}

std::size_t SimulationReport::count(PodState state) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [&](const PodLine& pod) { return pod.state == state; }));
}

Usage SimulationReport::total(std::size_t resource) const noexcept {
  Usage sum;
  for (const NodeLine& node : nodes) {
    sum.requested += node.usage[resource].requested;
    sum.allocatable += node.usage[resource].allocatable;
  }
  return sum;
}

SimulationReport make_report(const ReportSources& sources) {
  std::unordered_map<model::Uid, Attempts> attempts;  // by uid
  for (const Decision& decision : sources.decisions) {
    Attempts& of_pod = attempts[decision.pod->uid];
    of_pod.last = &decision;
    ++of_pod.count;
  }
  std::unordered_map<model::Uid, const queue::PendingPod*> waiting;
  for (const queue::PendingPod& pod : sources.waiting) waiting.emplace(pod.pod->uid, &pod);

  SimulationReport report;
  report.pods.reserve(sources.pods.size());
  SharedTexts texts;
  report.devices = make_device_report(sources.slices, sources.claims, [&](std::string_view name) {
    const Symbol symbol = sources.symbols.find(name);
    return symbol != k_no_symbol && sources.cache.find_node(symbol) != nullptr;
  });
  ExtendedClaims extended;
  for (const ClaimLine& claim : report.devices.claims)
    if (!claim.extended_for.empty()) extended[claim.extended_for].push_back(claim.name);
  for (const model::PodPtr& pod : sources.pods) {
    const auto tried = attempts.find(pod->uid);
    const auto queued = waiting.find(pod->uid);
    report.pods.push_back(describe_pod(*pod, sources, tried == attempts.end() ? nullptr : &tried->second,
                                       queued == waiting.end() ? nullptr : queued->second, texts));
    // A claim from a template has its name from the pod's status, which the pod of a decision has.
    const model::Pod& named = tried == attempts.end() ? *pod : *tried->second.last->pod;
    report.pods.back().claims = claims_of(named, extended);
  }

  for (const Decision& decision : sources.decisions)
    if (decision.preemption)
      for (const auto& victim : decision.preemption->victims)
        report.evictions.push_back({victim.pod, decision.preemption->node, decision.pod->key(), victim.priority});

  sources.cache.refresh(sources.snapshot, cache::Look::question);
  report.resources = resources_of(sources.snapshot, sources.symbols);
  std::vector<cache::ResourceIndex> indices;
  for (const ReportResource& resource : report.resources)
    indices.push_back(resource.name == "pods" ? cache::k_cpu  // rows count pods by themselves
                                              : sources.cache.resources().find(sources.symbols.find(resource.name)));
  for (const cache::Slot slot : sources.snapshot.order())
    report.nodes.push_back(describe_node(sources.snapshot.row(slot), report.resources, indices, sources.symbols));
  return report;
}

std::string scheduler_message(const model::Pod& pod) {
  const model::PodCondition* const said = not_scheduled(pod);
  return said != nullptr ? said->message : std::string();
}

void describe_live(SimulationReport& report, std::span<const model::PodPtr> pods, std::span<const QueueWord> words,
                   std::int64_t looked_at_ns) {
  report.looked_at_ns = looked_at_ns;
  std::unordered_map<std::string, const QueueWord*> word_of;
  for (const QueueWord& word : words) word_of.emplace(word.ns + "/" + word.name, &word);
  std::unordered_map<std::string, const model::Pod*> pod_of;
  for (const model::PodPtr& pod : pods)
    if (pod->node_name == k_no_symbol) pod_of.emplace(pod->key(), pod.get());
  for (PodLine& line : report.pods) {
    if (line.state == PodState::running || line.state == PodState::finished) continue;
    const std::string key = line.key();
    if (const auto pod = pod_of.find(key); pod != pod_of.end()) {
      line.created_ns = pod->second->creation_ns;
      const std::string said = scheduler_message(*pod->second);
      if (line.state == PodState::pending && !said.empty()) line.message = said;
    }
    if (const auto word = word_of.find(key); word != word_of.end()) {
      line.word = std::make_shared<const QueueWord>(*word->second);
      line.attempts = static_cast<std::uint32_t>(std::clamp<std::int64_t>(word->second->attempts, 0, UINT32_MAX));
    }
  }
}

}  // namespace berth::report
