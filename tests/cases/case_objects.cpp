// SPDX-License-Identifier: Apache-2.0
#include "cases/case_objects.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <initializer_list>

#include "text/json_writer.hpp"

namespace berth::cases {
namespace {

using text::JsonWriter;

class ShortForm {
 public:
  ShortForm(const text::Value& value, const std::string& file, text::Diagnostics& problems)
      : value_(value), file_(file), problems_(problems) {}

  void check_keys(std::initializer_list<std::string_view> known) {
    if (!value_.is_mapping()) problems_.add(file_, value_.position(), "", "a pod or a node is a mapping");
    for (const text::Member& member : value_.members())
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        problems_.add(file_, member.key_position, std::string(member.key), "no such key",
                      fmt::format("{}", fmt::join(known, ", ")));
  }
  const text::Value* find(std::string_view key) const { return value_.find(key); }
  std::string text(std::string_view key, std::string_view otherwise) const {
    const text::Value* found = find(key);
    return std::string(found == nullptr ? otherwise : found->text());
  }
  /// Copies a value under another name, when it is there.
  void copy(JsonWriter& json, std::string_view key, std::string_view as) const {
    if (const text::Value* found = find(key)) json.key(as).raw(text::to_json(*found));
  }
  /// cpu_milli, memory_mib and resources as a resource list.
  void write_amounts(JsonWriter& json, std::string_view cpu_milli, std::string_view memory_mib) const {
    json.begin_object();
    if (const std::string cpu = text("cpu_milli", cpu_milli); !cpu.empty()) json.key("cpu").text(cpu + "m");
    if (const std::string memory = text("memory_mib", memory_mib); !memory.empty())
      json.key("memory").text(memory + "Mi");
    if (const text::Value* others = find("resources"))
      for (const text::Member& member : others->members()) json.key(member.key).text(member.value.text());
    json.end_object();
  }
  /// "key=value:Effect", "key:Effect", "key" or "*", or the mapping that it stands for.
  void write_taints(JsonWriter& json, std::string_view key, bool tolerations) const {
    const text::Value* list = find(key);
    if (list == nullptr) return;
    json.key(key).begin_list();
    for (const text::Value& entry : list->elements()) {
      if (!entry.is_string()) {
        json.raw(text::to_json(entry));
        continue;
      }
      std::string_view rest = entry.text();
      json.begin_object();
      if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
        json.key("effect").text(rest.substr(colon + 1));
        rest = rest.substr(0, colon);
      }
      const std::size_t equals = rest.find('=');
      if (equals != std::string_view::npos) json.key("value").text(rest.substr(equals + 1));
      if (tolerations) json.key("operator").text(equals == std::string_view::npos ? "Exists" : "Equal");
      if (rest != "*") json.key("key").text(rest.substr(0, equals));
      json.end_object();
    }
    json.end_list();
  }

 private:
  const text::Value& value_;
  const std::string& file_;
  text::Diagnostics& problems_;
};

bool whole(const text::Value& value) { return value.find("apiVersion") != nullptr && value.find("kind") != nullptr; }

void write_container(JsonWriter& json, const ShortForm& pod) {
  json.key("containers").begin_list().begin_object().key("name").text("main");
  json.key("image").text(pod.text("image", "example.com/image:1"));
  json.key("resources").begin_object().key("requests");
  pod.write_amounts(json, "", "");
  json.end_object();
  if (const text::Value* ports = pod.find("host_ports")) {
    json.key("ports").begin_list();
    for (const text::Value& port : ports->elements())
      json.begin_object().key("containerPort").raw(port.text()).key("hostPort").raw(port.text()).end_object();
    json.end_list();
  }
  json.end_object().end_list();
}

void write_pod_spec(JsonWriter& json, const ShortForm& pod) {
  json.key("spec").begin_object();
  pod.copy(json, "node", "nodeName");
  pod.copy(json, "priority", "priority");
  pod.copy(json, "preemption_policy", "preemptionPolicy");
  pod.copy(json, "grace_seconds", "terminationGracePeriodSeconds");
  json.key("schedulerName").text(pod.text("scheduler", "default-scheduler"));
  pod.copy(json, "node_selector", "nodeSelector");
  pod.copy(json, "affinity", "affinity");
  pod.copy(json, "spread", "topologySpreadConstraints");
  pod.copy(json, "volumes", "volumes");
  pod.copy(json, "claims", "resourceClaims");
  pod.copy(json, "host_network", "hostNetwork");
  pod.copy(json, "host_users", "hostUsers");
  pod.write_taints(json, "tolerations", true);
  if (const text::Value* gates = pod.find("gates")) {
    json.key("schedulingGates").begin_list();
    for (const text::Value& gate : gates->elements()) json.begin_object().key("name").text(gate.text()).end_object();
    json.end_list();
  }
  write_container(json, pod);
  json.end_object();
}

}  // namespace

std::string pod_manifest(const text::Value& value, const std::string& file, text::Diagnostics& problems) {
  if (whole(value)) return text::to_json(value);
  ShortForm pod(value, file, problems);
  pod.check_keys({"name",          "namespace",     "uid",       "labels",       "node",
                  "priority",      "scheduler",     "cpu_milli", "memory_mib",   "resources",
                  "tolerations",   "node_selector", "affinity",  "spread",       "gates",
                  "host_ports",    "image",         "volumes",   "host_network", "host_users",
                  "nominated",     "deleting",      "phase",     "started",      "preemption_policy",
                  "grace_seconds", "claims"});
  JsonWriter json;
  json.begin_object().key("apiVersion").text("v1").key("kind").text("Pod");
  json.key("metadata").begin_object();
  pod.copy(json, "name", "name");
  json.key("namespace").text(pod.text("namespace", "default"));
  pod.copy(json, "uid", "uid");  // without one the API server's defaults are filled in
  pod.copy(json, "labels", "labels");
  if (pod.text("deleting", "false") == "true") json.key("deletionTimestamp").text("2026-01-01T00:00:00Z");
  json.end_object();
  write_pod_spec(json, pod);
  json.key("status").begin_object();
  json.key("phase").text(pod.text("phase", pod.find("node") == nullptr ? "Pending" : "Running"));
  pod.copy(json, "nominated", "nominatedNodeName");
  pod.copy(json, "started", "startTime");
  json.end_object().end_object();
  return json.take();
}

std::string node_manifest(const text::Value& value, const std::string& file, text::Diagnostics& problems) {
  if (whole(value)) return text::to_json(value);
  ShortForm node(value, file, problems);
  node.check_keys({"name", "labels", "annotations", "cpu_milli", "memory_mib", "pods", "resources", "taints",
                   "unschedulable", "images", "features", "conditions"});
  JsonWriter json;
  json.begin_object().key("apiVersion").text("v1").key("kind").text("Node");
  json.key("metadata").begin_object();
  node.copy(json, "name", "name");
  node.copy(json, "labels", "labels");
  node.copy(json, "annotations", "annotations");
  json.end_object().key("spec").begin_object();
  node.copy(json, "unschedulable", "unschedulable");
  node.write_taints(json, "taints", false);
  json.end_object().key("status").begin_object();
  std::string amounts;
  {
    JsonWriter list;
    node.write_amounts(list, "4000", "8192");
    amounts = list.take();
  }
  amounts.pop_back();
  json.key("allocatable").raw(amounts + fmt::format(",\"pods\":\"{}\"}}", node.text("pods", "110")));
  node.copy(json, "images", "images");
  node.copy(json, "features", "declaredFeatures");
  node.copy(json, "conditions", "conditions");
  json.end_object().end_object();
  return json.take();
}

}  // namespace berth::cases
