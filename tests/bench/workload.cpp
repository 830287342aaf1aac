// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/device_claims.hpp"
#include "bench/random.hpp"
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

Result<Workload> read_workload(const std::string& path, SymbolTable& symbols) {
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
  const auto node_count = static_cast<std::size_t>(number("nodes.count"));
  w.node_cpu_milli = number("nodes.cpu_milli");
  w.node_memory_bytes = number("nodes.memory_mib") << 20;
  w.node_pods = number("nodes.pods");
  const auto zones = static_cast<std::size_t>(number("nodes.zones"));
  const auto pod_count = static_cast<std::size_t>(number("pods.count"));
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
    pods.push_back(std::move(pod));
  }
  if (devices != nullptr) add_devices(w);
  if (w.gang > 1) make_gangs(w, symbols, pods);
  w.pods.assign(pods.begin(), pods.end());
  if (claims != nullptr) add_class_and_limits(w);
  return w;
}

}  // namespace berth::bench
