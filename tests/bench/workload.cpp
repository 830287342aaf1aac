// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "bench/device_claims.hpp"
#include "bench/random.hpp"
#include "decode/pod/pod_sharing.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

model::NodePtr make_node(std::size_t i, std::size_t zones, const Workload& w, SymbolTable& symbols) {
  auto node = std::make_shared<model::Node>();
  node->name = fmt::format("node-{:05}", i);
  node->name_symbol = symbols.intern(node->name);
  node->has_labels = true;
  node->labels = {{symbols.intern("kubernetes.io/hostname"), node->name_symbol},
                  {symbols.intern("topology.kubernetes.io/zone"), symbols.intern(fmt::format("zone-{}", i % zones))}};
  std::sort(node->labels.begin(), node->labels.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  node->allowed_pods = w.node_pods;
  node->allocatable = {{symbols.intern("cpu"), w.node_cpu_milli}, {symbols.intern("memory"), w.node_memory_bytes}};
  return node;
}

std::shared_ptr<model::Pod> make_pod(std::size_t i, const RequestClass& c, SymbolTable& symbols) {
  auto pod = std::make_shared<model::Pod>();
  pod->ns = "default";
  pod->ns_symbol = symbols.intern(pod->ns);
  pod->name = fmt::format("pod-{:06}", i);
  pod->uid = fmt::format("uid-{:06}", i);
  pod->labels = {{symbols.intern("app"), symbols.intern("bench")}};
  pod->scheduler_name = "default-scheduler";
  pod->phase = "Pending";
  pod->spec.edit().container_count = 1;
  pod->spec.edit().images = {{symbols.intern("example.com/job:1"), model::ImageRef::Kind::container}};
  pod->requests.edit().resources = {
      {symbols.intern("cpu"), false, false, c.cpu_milli, c.cpu_milli, c.cpu_milli},
      {symbols.intern("memory"), false, false, c.memory_bytes, c.memory_bytes, c.memory_bytes},
      {symbols.intern("ephemeral-storage"), false, false, 0, 0, 0}};
  pod->requests.edit().nonzero_cpu_milli = c.cpu_milli;
  pod->requests.edit().nonzero_memory_bytes = c.memory_bytes;
  return pod;
}

std::optional<PodRule> rule_named(std::string_view word) {
  constexpr std::pair<std::string_view, PodRule> k_words[] = {
      {"affinity-zone", PodRule::affinity_zone},
      {"anti-affinity-host", PodRule::anti_affinity_host},
      {"preferred-affinity-host", PodRule::preferred_affinity_host},
      {"spread-zone", PodRule::spread_zone},
      {"spread-soft", PodRule::spread_soft},
      {"one-node", PodRule::one_node},
      {"mixed", PodRule::mixed},
  };
  for (const auto& [known, rule] : k_words)
    if (known == word) return rule;
  return std::nullopt;
}

/// `i`: of the pod.
void add_rule(model::Pod& pod, std::size_t i, const Workload& w, SymbolTable& symbols) {
  const PodRule rule = rule_of_pod(w, i);
  if (w.rule == PodRule::mixed) {  // each kind of its own application
    pod.labels = {{symbols.intern("app"), symbols.intern(fmt::format("bench-{}", static_cast<int>(rule)))}};
  }
  model::Selector alike;
  alike.kind = model::Selector::Kind::match;
  alike.requirements = {{pod.labels[0].key, model::Operator::in, {pod.labels[0].value}}};
  const Symbol host = symbols.intern("kubernetes.io/hostname"), zone = symbols.intern("topology.kubernetes.io/zone");
  const auto term = [&](Symbol key, std::int32_t weight) {
    return model::AffinityTerm{alike, {}, {pod.ns_symbol}, key, weight};
  };
  const auto spread = [&](Symbol key, model::SpreadAction action) {
    model::SpreadConstraint constraint;
    constraint.selector = alike;
    constraint.topology_key = key;
    constraint.max_skew = 1;
    constraint.action = action;
    return constraint;
  };
  model::PodSpec& spec = pod.spec.edit();
  switch (rule) {
    case PodRule::affinity_zone:
      spec.affinity.required = {term(zone, 0)};
      break;
    case PodRule::anti_affinity_host:
      spec.affinity.anti_required = {term(host, 0)};
      break;
    case PodRule::preferred_affinity_host:
      spec.affinity.preferred = {term(host, 10)};
      break;
    case PodRule::spread_zone:
      spec.spread = {spread(zone, model::SpreadAction::do_not_schedule)};
      break;
    case PodRule::spread_soft:
      spec.spread = {spread(zone, model::SpreadAction::schedule_anyway),
                     spread(host, model::SpreadAction::schedule_anyway)};
      break;
    case PodRule::one_node: {
      model::NodeTerm name;
      name.fields = {
          {symbols.intern("metadata.name"), model::Operator::in, {w.nodes[i % w.nodes.size()]->name_symbol}}};
      pod.node_selection.edit().has_required = true;
      pod.node_selection.edit().required = {name};
      break;
    }
    default:
      break;
  }
  spec.affinity.present =
      rule == PodRule::affinity_zone || rule == PodRule::anti_affinity_host || rule == PodRule::preferred_affinity_host;
}

model::ObjectPtr make_object(std::string resource, std::string ns, std::string name, std::string json) {
  auto object = std::make_shared<model::Object>();
  object->resource = std::move(resource);
  object->ns = std::move(ns);
  object->name = std::move(name);
  object->uid = "uid-" + object->name;
  object->json = std::move(json);
  return object;
}

void add_class_and_limits(Workload& w) {
  w.objects.push_back(make_object("storage.k8s.io/v1/storageclasses", "", "disks",
                                  R"({"provisioner":"csi.example.com","volumeBindingMode":"WaitForFirstConsumer"})"));
  for (const model::NodePtr& node : w.nodes)
    w.objects.push_back(make_object(
        "storage.k8s.io/v1/csinodes", "", node->name,
        R"({"spec":{"drivers":[{"name":"csi.example.com","nodeID":"n","topologyKeys":[],"allocatable":{"count":39}}]}})"));
}

/// Gives the pod a claim, and the claim a volume if it is to be bound.
void add_claim(model::Pod& pod, bool bound, Workload& w, SymbolTable& symbols) {
  const std::string claim = "claim-of-" + pod.name, volume = "volume-of-" + pod.name;
  pod.volumes.push_back({"data", claim, model::PodVolume::Kind::claim, false});
  pod.node_volumes.push_back(
      {pod.ns_symbol, symbols.intern(claim), 0, 0, static_cast<std::uint32_t>(model::PodVolume::Kind::claim), 0});
  const std::string_view spec =
      R"("storageClassName":"disks","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})";
  if (!bound) {
    w.objects.push_back(make_object("core/v1/persistentvolumeclaims", pod.ns, claim,
                                    fmt::format(R"({{"spec":{{{}}},"status":{{"phase":"Pending"}}}})", spec)));
    return;
  }
  w.objects.push_back(make_object(
      "core/v1/persistentvolumeclaims", pod.ns, claim,
      fmt::format(R"({{"metadata":{{"annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{{},)"
                  R"("volumeName":"{}"}},"status":{{"phase":"Bound"}}}})",
                  spec, volume)));
  w.objects.push_back(make_object(
      "core/v1/persistentvolumes", "", volume,
      fmt::format(
          R"({{"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"],"storageClassName":"disks",)"
          R"("csi":{{"driver":"csi.example.com","volumeHandle":"{}"}},"claimRef":{{"namespace":"{}","name":"{}"}}}},)"
          R"("status":{{"phase":"Bound"}}}})",
          volume, pod.ns, claim)));
}

/// Puts each run of w.gang pods into a group that needs all of them. All groups are of one second: pods keep their
/// order.
void make_gangs(Workload& w, SymbolTable& symbols, std::vector<std::shared_ptr<model::Pod>>& pods) {
  const Symbol label = symbols.intern("scheduling.x-k8s.io/pod-group");
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::string gang = fmt::format("gang-{:05}", i / w.gang);
    model::Labels& labels = pods[i]->labels.edit();
    labels.push_back({label, symbols.intern(gang)});
    std::sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    if (i % w.gang == 0)
      w.objects.push_back(make_object(
          "scheduling.x-k8s.io/v1alpha1/podgroups", "default", gang,
          fmt::format(R"({{"metadata":{{"creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"minMember":{}}}}})",
                      std::min(w.gang, pods.size() - i))));
  }
}

}  // namespace

PodRule rule_of_pod(const Workload& w, std::size_t i) noexcept {
  constexpr PodRule k_kinds[10] = {PodRule::none,
                                   PodRule::affinity_zone,
                                   PodRule::none,
                                   PodRule::spread_zone,
                                   PodRule::none,
                                   PodRule::none,
                                   PodRule::none,
                                   PodRule::spread_soft,
                                   PodRule::preferred_affinity_host,
                                   PodRule::anti_affinity_host};
  return w.rule == PodRule::mixed ? k_kinds[i % 10] : w.rule;
}

Result<Workload> read_workload(const std::string& path, SymbolTable& symbols, std::size_t nodes) {
  std::ifstream file(path);
  if (!file) return Error{fmt::format("cannot read {}", path)};
  std::stringstream content;
  content << file.rdbuf();
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(content.str(), path, problems);
  if (documents.empty() || !problems.empty()) return Error{problems.render()};
  std::string missing;
  const auto number = [&](const char* field) -> std::int64_t {
    const text::Value* value = documents.front().root().find_path(field);
    const auto n = value != nullptr ? value->integer() : std::nullopt;
    if (!n || *n <= 0) missing += fmt::format(" {}", field);
    return n.value_or(1);
  };
  Workload w;
  w.name = std::filesystem::path(path).stem();
  auto node_count = static_cast<std::size_t>(number("nodes.count"));
  if (nodes != 0) node_count = nodes;
  w.node_cpu_milli = number("nodes.cpu_milli");
  w.node_memory_bytes = number("nodes.memory_mib") << 20;
  w.node_pods = number("nodes.pods");
  const std::size_t zones = w.zones = static_cast<std::size_t>(number("nodes.zones"));
  auto pod_count = static_cast<std::size_t>(number("pods.count"));
  const auto class_count = static_cast<std::size_t>(number("pods.classes"));
  const RequestClass first{number("pods.cpu_milli"), number("pods.memory_mib") << 20};
  Random random(static_cast<std::uint64_t>(number("seed")));
  const text::Value* claims = documents.front().root().find_path("pods.claims");
  if (claims != nullptr && claims->text() != "bound" && claims->text() != "wait")
    missing += " pods.claims (bound, wait)";
  const text::Value* devices = documents.front().root().find_path("pods.device_claims");
  if (devices != nullptr) {
    w.device_claims = device_claims_named(devices->text());
    if (w.device_claims == DeviceClaims::none) missing += " pods.device_claims";
  }
  if (documents.front().root().find_path("pods.gang") != nullptr)
    w.gang = static_cast<std::size_t>(number("pods.gang"));
  if (const text::Value* word = documents.front().root().find_path("pods.rule"); word != nullptr) {
    const auto rule = rule_named(word->text());
    if (!rule) missing += " pods.rule";
    w.rule = rule.value_or(PodRule::none);
  }
  const bool one_each = w.rule == PodRule::anti_affinity_host || 2 * first.cpu_milli > w.node_cpu_milli;
  if (nodes != 0 && one_each) pod_count = std::min(pod_count, nodes);
  const bool has_bound = documents.front().root().find_path("pods.bound") != nullptr;
  const auto bound_count = has_bound ? static_cast<std::size_t>(number("pods.bound")) : 0;
  if (!missing.empty()) return Error{fmt::format("{}: not positive integers, or unknown words:{}", path, missing)};

  for (std::size_t i = 0; i < class_count; ++i) {
    if (i == 0)
      w.classes.push_back(first);
    else
      w.classes.push_back({first.cpu_milli * (1 + random.below(15)) / 8,
                           (first.memory_bytes * (1 + random.below(15)) / 8) + static_cast<std::int64_t>(i) * 4096});
  }
  for (std::size_t i = 0; i < node_count; ++i) w.nodes.push_back(make_node(i, zones, w, symbols));
  std::vector<std::shared_ptr<model::Pod>> pods;
  for (std::size_t i = 0; i < pod_count; ++i) {
    const auto c = static_cast<std::uint32_t>(random.below(static_cast<std::int64_t>(class_count)));
    w.class_of_pod.push_back(c);
    auto pod = make_pod(i, w.classes[c], symbols);
    if (claims != nullptr) add_claim(*pod, claims->text() == "bound", w, symbols);
    if (devices != nullptr) add_device_claim(*pod, w);
    if (w.rule != PodRule::none) add_rule(*pod, i, w, symbols);
    pods.push_back(std::move(pod));
  }
  decode::PodSharing sharing;  // as the decoder does with pods that come one after the other
  for (std::size_t i = 0; i < bound_count; ++i) {
    auto pod = make_pod(pod_count + i, k_bound_asks, symbols);
    pod->node_name = w.nodes[i % w.nodes.size()]->name_symbol;
    sharing.share(*pod);
    w.bound.push_back(std::move(pod));
  }
  if (devices != nullptr) add_devices(w);
  if (w.gang > 1) make_gangs(w, symbols, pods);
  for (const auto& pod : pods) sharing.share(*pod);
  w.pods.assign(pods.begin(), pods.end());
  if (claims != nullptr) add_class_and_limits(w);
  return w;
}

}  // namespace berth::bench
