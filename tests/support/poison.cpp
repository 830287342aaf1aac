// SPDX-License-Identifier: Apache-2.0
#include "support/poison.hpp"

#include <boost/json.hpp>

namespace berth::tests {
namespace {

std::string object_bytes(const json::value& object, const Poisons& poisons) {
  const auto poison = poisons.find(text_at(object, "/metadata/name"));
  if (poison == poisons.end()) return json::serialize(object);
  json::object changed = object.as_object();
  if (poison->second.edit) poison->second.edit(changed, false);
  std::string bytes = json::serialize(changed);
  if (poison->second.damage) poison->second.damage(bytes, false);
  return bytes;
}

}  // namespace

std::string poisoned_json(std::string_view text, const Poisons& poisons) {
  const json::value whole = json::parse({text.data(), text.size()});
  const json::value* const items = whole.is_object() ? whole.as_object().if_contains("items") : nullptr;
  if (items == nullptr) return object_bytes(whole, poisons);
  json::object around = whole.as_object();
  around.erase("items");
  std::string out = json::serialize(around);
  out.back() = ',';
  out += "\"items\":[";
  for (const json::value& item : items->as_array()) {
    if (out.back() != '[') out += ',';
    out += object_bytes(item, poisons);
  }
  return out + "]}\n";
}

std::string poisoned_lines(std::string_view lines, const Poisons& poisons) {
  std::string out;
  for (std::size_t end; !lines.empty(); lines.remove_prefix(end + 1)) {
    end = lines.find('\n');
    const json::value event = json::parse({lines.data(), end});
    out +=
        R"({"type":")" + text_at(event, "/type") + R"(","object":)" + object_bytes(event.at("object"), poisons) + "}\n";
  }
  return out;
}

}  // namespace berth::tests
