// SPDX-License-Identifier: Apache-2.0
#include "decode/node_decoder.hpp"

#include "decode/defaulting.hpp"
#include "decode/labels.hpp"
#include "decode/names.hpp"
#include "model/quantity.hpp"

namespace berth::decode {
namespace {

model::TaintEffect taint_effect(std::string_view word) {
  if (word == "NoSchedule") return model::TaintEffect::no_schedule;
  if (word == "PreferNoSchedule") return model::TaintEffect::prefer_no_schedule;
  if (word == "NoExecute") return model::TaintEffect::no_execute;
  return model::TaintEffect::other;
}

void decode_metadata(const Cursor& metadata, bool make_uid, SymbolTable& symbols, model::Node& node) {
  const Cursor name = metadata.child("name");
  const Cursor uid = metadata.child("uid");
  const Cursor version = metadata.child("resourceVersion");
  const Cursor labels = metadata.mapping("labels");
  const Cursor annotations = metadata.mapping("annotations");
  node.name = name.string_or({});
  if (node.name.empty()) name.problem("a node needs a name");
  node.name_symbol = symbols.intern(node.name);
  node.uid = make_uid ? Defaulting::make_uid("Node", {}, node.name) : std::string(uid.string_or({}));
  node.resource_version = version.string_or({});
  node.has_labels = labels.present();
  node.labels = decode_labels(labels, symbols);
  node.annotations = decode_labels(annotations, symbols);
}

bool is_counted(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_scalar_resource(name);
}

/// Departs from the API server, which fills allocatable from capacity (SetDefaults_NodeStatus): a node that names
/// nothing allocatable offers nothing, as in the recorded decisions of tests/conformance.
void decode_status(const Cursor& status, SymbolTable& symbols, model::Node& node) {
  const Cursor allocatable = status.mapping("allocatable");
  allocatable.each_member([&](std::string_view name, const Cursor& cursor) {
    const model::Quantity quantity = decode_quantity(cursor);
    if (name == "pods") node.allowed_pods = quantity.value();
    if (is_counted(name))
      node.allocatable.push_back({symbols.intern(name), name == "cpu" ? quantity.milli_value() : quantity.value()});
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

model::Node decode_node(const Cursor& object, bool make_uid, SymbolTable& symbols) {
  model::Node node;
  const Cursor metadata = object.mapping("metadata");
  const Cursor spec = object.mapping("spec");
  const Cursor status = object.mapping("status");
  decode_metadata(metadata, make_uid, symbols, node);
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
  decode_status(status, symbols, node);
  return node;
}

}  // namespace berth::decode
