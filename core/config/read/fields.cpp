// SPDX-License-Identifier: Apache-2.0
#include "config/read/fields.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {

std::string shown(const text::Value& value) {
  constexpr std::size_t k_shown_bytes = 60;
  std::string json = text::to_json(value);
  if (json.size() <= k_shown_bytes) return json;
  std::size_t end = k_shown_bytes;
  while (end > 0 && (static_cast<unsigned char>(json[end]) & 0xc0U) == 0x80U) --end;  // not inside a UTF-8 sequence
  json.resize(end);
  return json + "…";
}

std::string Source::where(const Place& place) const {
  return fmt::format("{}:{}:{}  {}", file, place.position.line, place.position.column, place.path);
}

Fields::Fields(const Source& source, const text::Value& value, std::string path)
    : source_(source), value_(value), place_{value.position(), std::move(path)} {
  if (!value.is_mapping() && !value.is_null())
    source_.report(place_, fmt::format("is {}, but must be an object", kind_name(value.kind())));
}

Fields::~Fields() {
  // A file of another kind can have thousands; the first few say so, and looking for near names costs time.
  constexpr std::size_t k_reported_max = 20;
  std::size_t unknown = 0;
  for (const text::Member& member : value_.members()) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    if (++unknown > k_reported_max) {
      source_.report({member.key_position, place_.path}, "and more unknown fields from here on");
      break;
    }
    std::string advice = did_you_mean(member.key, known_);
    if (advice.empty()) advice = "known here: " + quoted_list(known_);
    source_.report({member.key_position, place_.path}, "unknown field " + quoted(member.key), std::move(advice));
  }
}

std::string Fields::path_of(std::string_view key) const {
  return place_.path.empty() ? std::string(key) : fmt::format("{}.{}", place_.path, key);
}

Place Fields::place_of(std::string_view key) const {
  const text::Value* value = value_.find(key);
  return {value != nullptr ? value->position() : place_.position, path_of(key)};
}

bool Fields::has(std::string_view key) const noexcept {
  const text::Value* value = value_.find(key);
  return value != nullptr && !value->is_null();
}

const text::Value* Fields::any(std::string_view key) {
  known_.emplace_back(key);
  const text::Value* value = value_.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

void Fields::wrong_kind(std::string_view key, const text::Value& value, std::string_view wanted) const {
  source_.report({value.position(), path_of(key)},
                 fmt::format("is {} ({}), but must be {}", kind_name(value.kind()), shown(value), wanted));
}

const text::Value* Fields::of_kind(std::string_view key, text::Kind kind) {
  const text::Value* value = any(key);
  if (value == nullptr || value->kind() == kind) return value;
  wrong_kind(key, *value, kind == text::Kind::mapping ? "an object" : "a list");
  return nullptr;
}

bool Fields::read(std::string_view key, bool& out) {
  const text::Value* value = any(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) return wrong_kind(key, *value, "true or false"), false;
  out = value->boolean();
  return true;
}

bool Fields::read_integer(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& out) {
  const text::Value* value = any(key);
  if (value == nullptr) return false;
  const std::optional<std::int64_t> number = value->is_number() ? value->integer() : std::nullopt;
  if (!number || *number < least || *number > most) {
    wrong_kind(key, *value, fmt::format("an integer from {} to {}", least, most));
    return false;
  }
  out = *number;
  return true;
}

bool Fields::read(std::string_view key, std::int32_t& out) {
  std::int64_t wide = 0;
  if (!read_integer(key, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), wide))
    return false;
  out = static_cast<std::int32_t>(wide);
  return true;
}

bool Fields::read(std::string_view key, std::int64_t& out) {
  return read_integer(key, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), out);
}

bool Fields::read(std::string_view key, double& out) {
  const text::Value* value = any(key);
  if (value == nullptr) return false;
  const std::optional<double> number = value->is_number() ? value->real() : std::nullopt;
  if (!number) return wrong_kind(key, *value, "a number"), false;
  out = *number;
  return true;
}

bool Fields::read(std::string_view key, std::string& out) {
  const text::Value* value = any(key);
  if (value == nullptr) return false;
  if (!value->is_string()) return wrong_kind(key, *value, "a string"), false;
  out = value->text();
  return true;
}

bool Fields::read_duration(std::string_view key, std::int64_t& out_ns) {
  const text::Value* value = any(key);
  if (value == nullptr) return false;
  const std::optional<std::int64_t> ns = value->is_string() ? parse_duration_ns(value->text()) : std::nullopt;
  if (!ns) return wrong_kind(key, *value, "a duration such as \"15s\", \"1m30s\" or \"300ms\""), false;
  out_ns = *ns;
  return true;
}

bool Fields::read_strings(std::string_view key, std::vector<std::string>& out) {
  const text::Value* list = sequence(key);
  if (list == nullptr) return false;
  for (std::size_t i = 0; i < list->elements().size(); ++i) {
    const text::Value& element = list->elements()[i];
    if (element.is_string())
      out.emplace_back(element.text());
    else
      wrong_kind(fmt::format("{}[{}]", key, i), element, "a string");
  }
  return true;
}

}  // namespace berth::config
