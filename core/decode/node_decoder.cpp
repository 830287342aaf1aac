// SPDX-License-Identifier: Apache-2.0
#include "decode/node_decoder.hpp"

#include <algorithm>
#include <functional>

#include "decode/names.hpp"
#include "decode/pod/defaulting.hpp"
#include "decode/selectors/labels.hpp"
#include "model/quantity.hpp"

namespace berth::decode {
namespace {

model::TaintEffect taint_effect(std::string_view word) {
  if (word == "NoSchedule") return model::TaintEffect::no_schedule;
  if (word == "PreferNoSchedule") return model::TaintEffect::prefer_no_schedule;
  if (word == "NoExecute") return model::TaintEffect::no_execute;
  return model::TaintEffect::other;
}

using KeptKeys = std::optional<std::vector<std::string>>;

/// Those of the keys alone: controllers and kubelets write long texts into annotations, again and again.
void decode_annotations(const Cursor& annotations, const KeptKeys& kept, SymbolTable& symbols, model::Node& node) {
  const std::hash<std::string_view> hash;
  annotations.each_member([&](std::string_view key, const Cursor& value) {
    const std::string_view text = value.string_or({});
    node.annotations_hash += (hash(key) * 0x9E3779B97F4A7C15ULL) ^ hash(text);
    if (!kept || std::find(kept->begin(), kept->end(), key) != kept->end())
      node.annotations.push_back({symbols.intern(key), symbols.intern(text)});
  });
  std::sort(node.annotations.begin(), node.annotations.end(),
            [](const model::Label& a, const model::Label& b) { return a.key < b.key; });
}

void decode_node_metadata(const Cursor& metadata, bool make_uid, const KeptKeys& kept_annotations, SymbolTable& symbols,
                          model::Node& node) {
  const Cursor name = metadata.child("name");
  const Cursor uid = metadata.child("uid");
  const Cursor version = metadata.child("resourceVersion");
  const Cursor labels = metadata.mapping("labels");
  const Cursor annotations = metadata.mapping("annotations");
  node.name = name.string_or({});
  if (node.name.empty()) name.add_error("a node needs a name");
  node.name_symbol = symbols.intern(node.name);
  node.uid = make_uid ? Defaulting::make_uid("Node", {}, node.name) : std::string(uid.string_or({}));
  node.resource_version = version.string_or({});
  node.has_labels = labels.present();
  node.labels = decode_labels(labels, symbols);
  decode_annotations(annotations, kept_annotations, symbols, node);
}

bool is_counted(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_scalar_resource(name);
}

/// Departs from the API server, which fills allocatable from capacity (SetDefaults_NodeStatus): a node that names
/// nothing allocatable offers nothing, as kube-scheduler has it of a node that no API server defaulted.
void decode_node_status(const Cursor& status, SymbolTable& symbols, model::Node& node) {
  const Cursor allocatable = status.mapping("allocatable");
  allocatable.each_member([&](std::string_view name, const Cursor& cursor) {
    const model::Quantity quantity = decode_quantity(cursor);
    if (name == "pods") {
      node.allowed_pods = quantity.value();
      node.lists_pods = true;
    }
    if (is_counted(name))
      node.allocatable.push_back({symbols.intern(name), name == "cpu" ? quantity.milli_value() : quantity.value()});
  });
  const Cursor capacity = status.mapping("capacity");
  capacity.each_member([&](std::string_view name, const Cursor& cursor) {
    if (!is_counted(name) && name != "pods") return;
    const model::Quantity quantity = decode_quantity(cursor);
    node.capacity.push_back({symbols.intern(name), name == "cpu" ? quantity.milli_value() : quantity.value()});
  });
  const Cursor images = status.sequence("images");
  images.each([&](const Cursor& cursor) {
    model::NodeImage& image = node.images.emplace_back();
    const Cursor names = cursor.sequence("names");
    const Cursor size = cursor.child("sizeBytes");
    names.each([&](const Cursor& name) { image.names.push_back(intern_or_empty(name, symbols)); });
    image.size_bytes = size.integer().value_or(0);
  });
  const Cursor conditions = status.sequence("conditions");
  conditions.each([&](const Cursor& condition) {
    const Cursor type = condition.child("type");
    const Cursor state = condition.child("status");
    node.conditions.push_back({intern_or_empty(type, symbols), intern_or_empty(state, symbols)});
  });
  const Cursor features = status.sequence("declaredFeatures");
  features.each([&](const Cursor& feature) { node.declared_features.push_back(intern_or_empty(feature, symbols)); });
}

}  // namespace

model::Node decode_node(const Cursor& object, bool make_uid, const KeptKeys& annotations, SymbolTable& symbols) {
  model::Node node;
  const Cursor metadata = object.mapping("metadata");
  const Cursor spec = object.mapping("spec");
  const Cursor status = object.mapping("status");
  decode_node_metadata(metadata, make_uid, annotations, symbols, node);
  const Cursor unschedulable = spec.child("unschedulable");
  node.unschedulable = unschedulable.boolean().value_or(false);
  const Cursor taints = spec.sequence("taints");
  taints.each([&](const Cursor& taint) {
    const Cursor key = taint.child("key");
    const Cursor value = taint.child("value");
    const Cursor effect = taint.child("effect");
    node.taints.push_back(
        {intern_or_empty(key, symbols), intern_or_empty(value, symbols), taint_effect(effect.string_or({}))});
  });
  decode_node_status(status, symbols, node);
  return node;
}

}  // namespace berth::decode
