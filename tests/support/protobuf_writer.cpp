// SPDX-License-Identifier: Apache-2.0
#include "support/protobuf_writer.hpp"

#include <boost/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/check.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "decode/wire_schema.hpp"
#include "support/api_server/api_objects.hpp"

namespace berth::tests {
namespace {

using protozero::pbf_writer;
using Type = text::ProtobufField::Type;

std::string message_of(const json::object& object, const text::ProtobufMessage& layout);

/// Seconds since 1970 of "2026-01-02T03:04:05Z".
std::int64_t seconds_of(std::string_view text) {
  std::tm time{};
  BERTH_CHECK(::strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%S", &time) != nullptr, "no time: {}", text);
  return ::timegm(&time);
}

void write_value(pbf_writer& out, const text::ProtobufField& field, std::uint32_t number, const json::value& value) {
  std::string inner;
  pbf_writer nested(inner);
  switch (field.type) {
    case Type::text:
      return out.add_string(number, std::string(value.as_string()));
    case Type::integer:
      return out.add_int64(number, value.to_number<std::int64_t>());
    case Type::boolean:
      return out.add_bool(number, value.as_bool());
    case Type::message:
      return out.add_message(number, message_of(value.as_object(), *field.message));
    case Type::time:
      // A number: whatever second a test wants.
      nested.add_int64(
          1, value.is_string() ? seconds_of(std::string_view(value.as_string())) : value.to_number<std::int64_t>());
      nested.add_int32(2, 0);
      return out.add_message(number, inner);
    case Type::quantity:
      nested.add_string(1, value.is_string() ? std::string(value.as_string()) : json::serialize(value));
      return out.add_message(number, inner);
    case Type::int_or_string:
      nested.add_int64(1, value.is_string() ? 1 : 0);
      nested.add_int32(2, value.is_string() ? 0 : value.to_number<std::int32_t>());
      nested.add_string(3, value.is_string() ? std::string(value.as_string()) : std::string());
      return out.add_message(number, inner);
    case Type::raw_json:
      nested.add_string(1, json::serialize(value));
      return out.add_message(number, inner);
  }
}

/// Go's generated code writes every field that is no pointer, zero or not.
void write_absent(pbf_writer& out, const text::ProtobufField& field) {
  if (field.keeps_zero || field.repeated || field.mapped) return;
  if (field.type == Type::text) out.add_string(field.number, "");
  if (field.type == Type::integer) out.add_int64(field.number, 0);
  if (field.type == Type::boolean) out.add_bool(field.number, false);
  if (field.type == Type::time) out.add_message(field.number, std::string());
}

void write_field(pbf_writer& out, const text::ProtobufField& field, const json::object& object) {
  if (field.joins_parent) return out.add_message(field.number, message_of(object, *field.message));
  const json::value* const value = object.if_contains(field.name);
  if (value == nullptr || value->is_null()) return write_absent(out, field);
  if (field.repeated) {
    for (const json::value& element : value->as_array()) write_value(out, field, field.number, element);
  } else if (field.mapped) {
    for (const auto& [key, element] : value->as_object()) {
      std::string entry;
      pbf_writer nested(entry);
      nested.add_string(1, std::string(key));
      write_value(nested, field, 2, element);
      out.add_message(field.number, entry);
    }
  } else {
    write_value(out, field, field.number, *value);
  }
}

std::string message_of(const json::object& object, const text::ProtobufMessage& layout) {
  std::string out;
  pbf_writer writer(out);
  for (const text::ProtobufField& field : layout.fields) write_field(writer, field, object);
  return out;
}

std::string envelope(const std::string& api_version, const std::string& kind, const std::string& message) {
  std::string type, out(cluster::kube::k_protobuf_magic);
  pbf_writer type_writer(type), writer(out);
  type_writer.add_string(1, api_version);
  type_writer.add_string(2, kind);
  writer.add_message(1, type);
  writer.add_message(2, message);
  writer.add_string(3, "");
  writer.add_string(4, "");
  return out;
}

std::string poisoned_message(const json::object& object, const text::ProtobufMessage& layout, const Poisons& poisons) {
  const auto poison = poisons.find(text_at(object, "/metadata/name"));
  if (poison == poisons.end()) return message_of(object, layout);
  json::object changed = object;
  if (poison->second.edit) poison->second.edit(changed, true);
  std::string bytes = message_of(changed, layout);
  if (poison->second.damage) poison->second.damage(bytes, true);
  return bytes;
}

std::optional<std::string> to_protobuf(const json::value& object, const Poisons& poisons) {
  if (!object.is_object()) return std::nullopt;
  const std::string api_version = text_at(object, "/apiVersion");
  std::string kind = text_at(object, "/kind");
  const json::value* const items = object.as_object().if_contains("items");
  if (items == nullptr) {
    const decode::WireLayout layout = decode::wire_layout(api_version, kind);
    if (layout.message == nullptr) return std::nullopt;
    return envelope(api_version, kind, poisoned_message(object.as_object(), *layout.message, poisons));
  }
  const decode::WireLayout layout = decode::wire_layout(api_version, kind.substr(0, kind.size() - 4));
  if (layout.message == nullptr) return std::nullopt;
  std::string list;
  pbf_writer writer(list);
  writer.add_message(1, message_of(object.at("metadata").as_object(), *decode::wire_layout("v1", "ListMeta").message));
  for (const json::value& item : items->as_array())
    writer.add_message(2, poisoned_message(item.as_object(), *layout.message, poisons));
  return envelope(api_version, kind, list);
}

}  // namespace

std::optional<std::string> to_protobuf(std::string_view text, const Poisons& poisons) {
  boost::system::error_code not_json;
  const json::value object = json::parse({text.data(), text.size()}, not_json);
  return not_json ? std::nullopt : to_protobuf(object, poisons);
}

std::optional<std::string> to_protobuf_frames(std::string_view lines, const Poisons& poisons) {
  std::string out;
  for (std::size_t end; !lines.empty(); lines.remove_prefix(end + 1)) {
    end = lines.find('\n');
    json::monotonic_resource memory;
    const json::value event = json::parse({lines.data(), end}, &memory);
    const std::optional<std::string> object = to_protobuf(event.at("object"), poisons);
    if (!object) return std::nullopt;
    std::string frame, raw;
    pbf_writer raw_writer(raw), writer(frame);
    raw_writer.add_string(1, *object);
    writer.add_string(1, text_at(event, "/type"));
    writer.add_message(2, raw);
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(frame.size() >> shift & 0xff);
    out += frame;
  }
  return out;
}

}  // namespace berth::tests
