// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/object_copies.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/check.hpp"
#include "decode/pod/defaulting.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

constexpr std::string_view k_condition_taints = "node.kubernetes.io/";
constexpr std::string_view k_hostname = "kubernetes.io/hostname";

std::string merged(const std::string& json, const std::string& merge_patch) {
  text::Diagnostics diagnostics;
  const auto target = text::parse_json(json, "object", diagnostics);
  const auto change = text::parse_json(merge_patch, "patch", diagnostics);
  BERTH_CHECK(target.size() == 1 && change.size() == 1, "an object or a patch of ours is not JSON: {}",
              diagnostics.render());
  return text::merge_json(&target[0].root(), change[0].root());
}

void change_body(PackedText& body, const std::string& merge_patch) {
  if (!body.empty()) body = PackedText(merged(body.text(), merge_patch));
}

std::string taints_json(const std::vector<model::Taint>& taints, const SymbolTable& symbols) {
  return text::list_json(taints, [&](std::string& out, const model::Taint& taint) {
    JsonObject json;
    json.text("key", symbols.text(taint.key)).text("value", symbols.text(taint.value));
    out += json.text("effect", taint_effect_name(taint.effect)).done();
  });
}

void name_volumes_after(model::Pod& pod, const std::string& before, SymbolTable& symbols) {
  std::size_t on_node = 0;  // node_volumes has those that are not of kind `other`, in the same order
  for (std::size_t i = 0; i < pod.volumes.size(); ++i) {
    const model::PodVolume& volume = pod.volumes[i];
    if (volume.kind == model::PodVolume::Kind::other) continue;
    const std::size_t entry = on_node++;
    if (entry >= pod.node_volumes.size()) return;
    const bool is_ephemeral = volume.kind == model::PodVolume::Kind::ephemeral;
    if (!is_ephemeral && (volume.kind != model::PodVolume::Kind::claim || !volume.source.ends_with("-" + before)))
      continue;
    const std::string source = is_ephemeral ? pod.name + '-' + volume.name
                                            : volume.source.substr(0, volume.source.size() - before.size()) + pod.name;
    pod.volumes.edit()[i].source = source;
    model::NodeVolume& known = pod.node_volumes.edit()[entry];
    known.source = symbols.intern(source);
    if (!is_ephemeral) continue;
    known.pod_name = symbols.intern(pod.name);
    known.pod_uid = symbols.intern(pod.uid.text());
  }
}

}  // namespace

std::string_view taint_effect_name(model::TaintEffect effect) {
  switch (effect) {
    case model::TaintEffect::no_schedule:
      return "NoSchedule";
    case model::TaintEffect::prefer_no_schedule:
      return "PreferNoSchedule";
    case model::TaintEffect::no_execute:
      return "NoExecute";
    default:
      return "";
  }
}

model::NodePtr new_node_like(const model::Node& node, std::string_view name, SymbolTable& symbols) {
  auto copy = std::make_shared<model::Node>(node);
  copy->name = name;
  copy->name_symbol = symbols.intern(name);
  copy->uid = decode::Defaulting::make_uid("Node", "", name);
  copy->resource_version.clear();
  copy->unschedulable = false;
  const Symbol hostname = symbols.intern(k_hostname);
  for (model::Label& label : copy->labels)
    if (label.key == hostname) label.value = copy->name_symbol;
  std::erase_if(copy->taints,
                [&](const model::Taint& taint) { return symbols.text(taint.key).starts_with(k_condition_taints); });
  JsonObject metadata;
  metadata.text("name", name).text("uid", copy->uid).json("resourceVersion", "null");
  if (node.has_labels && std::any_of(copy->labels.begin(), copy->labels.end(),
                                     [&](const model::Label& label) { return label.key == hostname; }))
    metadata.json("labels", JsonObject().text(k_hostname, name).done());
  const std::string spec =
      JsonObject().json("unschedulable", "null").json("taints", taints_json(copy->taints, symbols)).done();
  change_body(copy->body, JsonObject().json("metadata", metadata.done()).json("spec", spec).done());
  return copy;
}

model::NodePtr cordoned(const model::Node& node, SymbolTable& symbols) {
  auto copy = std::make_shared<model::Node>(node);
  copy->unschedulable = true;
  const model::Taint taint{symbols.intern(k_cordon_taint), k_empty_symbol, model::TaintEffect::no_schedule, 0};
  if (std::find(copy->taints.begin(), copy->taints.end(), taint) == copy->taints.end()) copy->taints.push_back(taint);
  const std::string spec =
      JsonObject().json("unschedulable", "true").json("taints", taints_json(copy->taints, symbols)).done();
  change_body(copy->body, JsonObject().json("spec", spec).done());
  return copy;
}

model::NodePtr uncordoned(const model::Node& node, SymbolTable& symbols) {
  auto copy = std::make_shared<model::Node>(node);
  copy->unschedulable = false;
  const Symbol key = symbols.intern(k_cordon_taint);
  std::erase_if(copy->taints, [&](const model::Taint& taint) { return taint.key == key; });
  const std::string spec =
      JsonObject().json("unschedulable", "null").json("taints", taints_json(copy->taints, symbols)).done();
  change_body(copy->body, JsonObject().json("spec", spec).done());
  return copy;
}

model::PodPtr made_again(const model::Pod& pod) {
  auto copy = std::make_shared<model::Pod>(pod);
  copy->node_name = k_no_symbol;
  copy->nominated_node = k_no_symbol;
  copy->start_ns = 0;
  copy->phase = "Pending";
  copy->conditions.clear();
  copy->claim_statuses = {};
  copy->deleting = false;
  change_body(copy->body, R"({"metadata":{"deletionTimestamp":null},"spec":{"nodeName":null},"status":null})");
  return copy;
}

model::PodPtr pod_like(const model::Pod& pod, std::string_view name, SymbolTable& symbols) {
  auto copy = std::make_shared<model::Pod>(*made_again(pod));
  copy->name = name;
  copy->uid = decode::Defaulting::make_uid("Pod", pod.ns, name);
  copy->resource_version = {};
  name_volumes_after(*copy, pod.name, symbols);
  const std::string metadata =
      JsonObject().text("name", name).text("uid", copy->uid.text()).json("resourceVersion", "null").done();
  change_body(copy->body, JsonObject().json("metadata", metadata).done());
  return copy;
}

model::PodPtr placed_on(const model::Pod& pod, std::string_view node, SymbolTable& symbols) {
  auto copy = std::make_shared<model::Pod>(pod);
  copy->node_name = symbols.intern(node);
  change_body(copy->body, JsonObject().json("spec", JsonObject().text("nodeName", node).done()).done());
  return copy;
}

model::ObjectPtr object_like(const model::Object& object, std::string_view name, std::string_view uid,
                             const std::string& merge_patch) {
  auto copy = std::make_shared<model::Object>(object);
  copy->name = name;
  copy->uid = uid;
  copy->json = merged(object.json, merge_patch);
  return copy;
}

}  // namespace berth::app
