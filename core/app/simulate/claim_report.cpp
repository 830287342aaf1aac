// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/claim_report.hpp"

#include <algorithm>

#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

constexpr std::string_view k_extended = "resource.kubernetes.io/extended-resource-claim";

/// The value without times, and with "*" for the ids of shares.
std::string stable_json(const text::Value& value, std::string_view key = {}) {
  if (key == "shareID") return "\"*\"";
  if (value.is_sequence())
    return text::list_json(value.elements(),
                           [](std::string& out, const text::Value& element) { out += stable_json(element); });
  if (!value.is_mapping() || key == "parameters") return text::to_json(value);
  JsonObject out;
  for (const text::Member& member : value.members())
    if (member.key != "allocationTimestamp") out.json(member.key, stable_json(member.value, member.key));
  return out.done();
}

void copy_member(JsonObject& out, std::string_view key, const text::Value& root, std::string_view path) {
  const text::Value* value = root.find_path(path);
  if (value != nullptr && !value->is_null()) out.json(key, stable_json(*value));
}

std::vector<text::Document> parsed_claim(const std::string& json) {
  text::Diagnostics diagnostics;
  return text::parse_json(json, "claim", diagnostics);
}

std::string claim_json(const model::Pod& pod, const std::string& name, const cluster::EmbeddedCluster& cluster) {
  JsonObject out;
  out.text("claim", pod.ns.get() + '/' + name);
  const model::ObjectPtr object = cluster.find_object(k_claims, pod.ns, name);
  const auto documents = object == nullptr ? std::vector<text::Document>() : parsed_claim(object->json);
  if (documents.empty()) return out.json("missing", "true").done();
  const text::Value& root = documents.front().root();
  copy_member(out, "finalizers", root, "metadata.finalizers");
  copy_member(out, "allocation", root, "status.allocation");
  copy_member(out, "reservedFor", root, "status.reservedFor");
  return out.done();
}

bool is_extended_claim_of(const text::Value& root, const model::Pod& pod) {
  const text::Value* annotations = root.find_path("metadata.annotations");
  const text::Value* mark = annotations == nullptr ? nullptr : annotations->find(k_extended);
  const text::Value* owners = root.find_path("metadata.ownerReferences");
  if (mark == nullptr || mark->text() != "true" || owners == nullptr) return false;
  return std::any_of(owners->elements().begin(), owners->elements().end(),
                     [&](const text::Value& owner) { return owner.text_at("uid") == std::string(pod.uid.text()); });
}

/// True when a claim was created for the pod's extended resources, be it gone again.
bool was_created_for(const model::Pod& pod, const cluster::EmbeddedCluster& cluster) {
  for (const cluster::RecordedWrite& write : cluster.writes()) {
    if (write.kind != cluster::RecordedWrite::Kind::write_object || !write.object.name.empty()) continue;
    const auto documents = parsed_claim(write.patch);
    if (!documents.empty() && is_extended_claim_of(documents.front().root(), pod)) return true;
  }
  return false;
}

std::string extended_json(const model::Pod& pod, const text::Value& root) {
  const std::string prefix(root.text_at("metadata.generateName"));
  JsonObject out;
  out.text("claim", pod.ns.get() + '/' + (prefix.empty() ? std::string(root.text_at("metadata.name")) : prefix + '*'));
  out.json("extended", "true");
  copy_member(out, "requests", root, "spec.devices.requests");
  if (!pod.claim_statuses->extended.empty())
    if (const auto status = parsed_claim(pod.claim_statuses->extended); !status.empty())
      copy_member(out, "requestMappings", status.front().root(), "requestMappings");
  copy_member(out, "finalizers", root, "metadata.finalizers");
  copy_member(out, "allocation", root, "status.allocation");
  copy_member(out, "reservedFor", root, "status.reservedFor");
  return out.done();
}

/// The nodes that an allocation names; empty: it names none.
std::vector<std::string_view> nodes_of(const text::Value& root) {
  std::vector<std::string_view> names;
  const text::Value* terms = root.find_path("status.allocation.nodeSelector.nodeSelectorTerms");
  if (terms == nullptr) return names;
  for (const text::Value& term : terms->elements()) {
    const text::Value* fields = term.find("matchFields");
    if (fields == nullptr) continue;
    for (const text::Value& field : fields->elements())
      if (const text::Value* values = field.find("values");
          values != nullptr && field.text_at("key") == "metadata.name")
        for (const text::Value& value : values->elements()) names.push_back(value.text());
  }
  return names;
}

}  // namespace

bool has_stranded_claim(const cluster::EmbeddedCluster& cluster,
                        const std::function<bool(std::string_view)>& has_node) {
  for (const model::ObjectPtr& object : cluster.objects_of(k_claims)) {
    const auto documents = parsed_claim(object->json);
    if (documents.empty()) continue;
    const std::vector<std::string_view> nodes = nodes_of(documents.front().root());
    if (!nodes.empty() && std::none_of(nodes.begin(), nodes.end(), has_node)) return true;
  }
  return false;
}

bool has_device_classes(const cluster::EmbeddedCluster& cluster) {
  return !cluster.objects_of("resource.k8s.io/v1/deviceclasses").empty() || !cluster.objects_of(k_claims).empty();
}

std::string claims_json(const model::Pod& pod, const cluster::EmbeddedCluster& cluster) {
  std::vector<std::string> made;
  for (const model::PodClaim& claim : pod.spec->resource_claims) {
    std::string name = claim.claim;
    if (name.empty())
      for (const auto& generated : pod.claim_statuses->generated)
        if (generated.name == claim.name) name = generated.claim;
    if (!name.empty()) made.push_back(claim_json(pod, name, cluster));
  }
  if (pod.asks_for_devices()) {
    const model::PodPtr now = cluster.find_pod(pod.ns, pod.name);
    const std::size_t before = made.size();
    for (const model::ObjectPtr& object : cluster.objects_of(k_claims)) {
      if (object->ns != pod.ns) continue;
      const auto documents = parsed_claim(object->json);
      if (!documents.empty() && is_extended_claim_of(documents.front().root(), pod))
        made.push_back(extended_json(now == nullptr ? pod : *now, documents.front().root()));
    }
    if (made.size() == before && was_created_for(pod, cluster))
      made.push_back(JsonObject()
                         .text("claim", pod.ns.get() + '/' + pod.name + "-extended-resources-*")
                         .json("missing", "true")
                         .json("extended", "true")
                         .done());
  }
  if (made.empty()) return {};
  return text::list_json(made, [](std::string& out, const std::string& each) { out += each; });
}

}  // namespace berth::app
