// SPDX-License-Identifier: Apache-2.0
#include "scheduler/object_projector.hpp"

#include <string_view>

#include "model/quantity.hpp"
#include "text/json_at.hpp"
#include "text/parse.hpp"

namespace berth::scheduler {
namespace {

/// Where something is there that is not of the type, `present` stays false.
framework::FieldValue value_of(const text::Value& value, framework::FieldType type) {
  using framework::FieldType;
  framework::FieldValue out;
  const auto take = [&](std::int64_t number, std::string text) {
    out = {true, number, std::move(text), static_cast<std::uint32_t>(type)};
  };
  out.type = framework::FieldValue::k_unreadable;
  switch (type) {
    case FieldType::text:
      if (value.is_string()) take(0, std::string(value.text()));
      break;
    case FieldType::integer:
      if (const auto number = value.integer()) take(*number, std::string(value.text()));
      break;
    case FieldType::boolean:
      if (value.is_boolean()) take(value.boolean() ? 1 : 0, std::string(value.text()));
      break;
    case FieldType::quantity:
    case FieldType::milli:
      if (value.is_string() || value.is_number())
        if (const auto quantity = model::Quantity::parse(value.text()))
          take(type == FieldType::milli ? quantity.value().milli_value() : quantity.value().value(),
               std::string(value.text()));
      break;
    case FieldType::json:
      take(0, text::to_json(value));
      break;
  }
  return out;
}

/// Of CSIDrivers; read by kube-scheduler while VolumeLimitScaling is on.
constexpr std::string_view k_csi_drivers = "storage.k8s.io/v1/csidrivers";
constexpr std::string_view k_prevent_if_missing = "spec.preventPodSchedulingIfMissing";

}  // namespace

framework::Projector make_projector(const config::Features& features) {
  return [reads_csi_drivers = features.csi_driver_must_be_installed](const model::Object& object,
                                                                     const std::vector<framework::Field>& fields) {
    std::vector<framework::FieldValue> values = project_fields(object, fields);
    if (reads_csi_drivers || object.resource != k_csi_drivers) return values;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].path == k_prevent_if_missing) values[i] = {};
    return values;
  };
}

std::vector<framework::FieldValue> project_fields(const model::Object& object,
                                                  const std::vector<framework::Field>& fields) {
  std::vector<framework::FieldValue> values(fields.size());
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(object.json, object.name, diagnostics);
  if (documents.empty()) return values;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (const text::Value* value = documents.front().root().find_path(fields[i].path);
        value != nullptr && !value->is_null())
      // A policy may write back what it got, and a server takes other spaces or escapes for a change.
      values[i] = fields[i].type == framework::FieldType::json && (value->is_mapping() || value->is_sequence())
                      ? framework::FieldValue{true, 0, std::string(text::json_at(object.json, fields[i].path)),
                                              static_cast<std::uint32_t>(framework::FieldType::json)}
                      : value_of(*value, fields[i].type);
  return values;
}

}  // namespace berth::scheduler
