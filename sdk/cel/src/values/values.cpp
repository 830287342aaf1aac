// SPDX-License-Identifier: Apache-2.0
#include "values/values.hpp"

#include <cmath>
#include <cstring>

#include "berth/cel/quantity.hpp"
#include "values/network.hpp"
#include "values/semver.hpp"
#include "values/url.hpp"

namespace berth::cel {
namespace {

int sign_of(int compared) { return compared < 0 ? -1 : compared > 0 ? 1 : 0; }

template <class T>
int three_way(T left, T right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

double as_double(const Value& value) {
  if (value.is(Kind::real)) return value.real;
  return value.is(Kind::integer) ? static_cast<double>(value.integer) : static_cast<double>(value.uinteger);
}

int compare_numbers(const Value& left, const Value& right) {
  if (left.is(Kind::real) || right.is(Kind::real)) {
    // As upstream: an integer next to a double is rounded to one, so 2^63 - 1 equals 2^63.
    const double a = as_double(left), b = as_double(right);
    return std::isnan(a) || std::isnan(b) ? 2 : three_way(a, b);
  }
  if (left.kind == right.kind)
    return left.is(Kind::integer) ? three_way(left.integer, right.integer) : three_way(left.uinteger, right.uinteger);
  if (left.is(Kind::integer)) return left.integer < 0 ? -1 : three_way<std::uint64_t>(left.integer, right.uinteger);
  return right.integer < 0 ? 1 : three_way<std::uint64_t>(left.uinteger, right.integer);
}

Value equal_lists(const Value& left, const Value& right, Work& work) {
  if (left.size != right.size) return of_bool(false);
  for (std::uint32_t i = 0; i < left.size; ++i) {
    const Value same = equal(left.items[i], right.items[i], work);
    if (!same.is_true()) return same;
  }
  return of_bool(true);
}

Value equal_maps(const MapData& left, const MapData& right, Work& work) {
  if (left.size != right.size) return of_bool(false);
  for (std::uint32_t i = 0; i < left.size; ++i) {
    const Value* other = find(right, left.entries[i].key, work);
    if (other == nullptr) return of_bool(false);
    const Value same = equal(left.entries[i].value, *other, work);
    if (!same.is_true()) return same;
  }
  return of_bool(true);
}

Value equal_optionals(const Value& left, const Value& right, Work& work) {
  if (left.inner == nullptr || right.inner == nullptr) return of_bool(left.inner == right.inner);
  return equal(*left.inner, *right.inner, work);
}

/// Kinds that refuse to be compared with another kind.
bool is_strict(Kind kind) {
  return kind == Kind::quantity || kind == Kind::semver || kind == Kind::url || kind == Kind::ip || kind == Kind::cidr;
}

}  // namespace

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::null:
      return "null_type";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::uinteger:
      return "uint";
    case Kind::real:
      return "double";
    case Kind::string:
      return "string";
    case Kind::bytes:
      return "bytes";
    case Kind::list:
      return "list";
    case Kind::map:
      return "map";
    case Kind::optional:
      return "optional_type";
    case Kind::type:
      return "type";
    case Kind::duration:
      return "google.protobuf.Duration";
    case Kind::timestamp:
      return "google.protobuf.Timestamp";
    case Kind::quantity:
      return "kubernetes.Quantity";
    case Kind::semver:
      return "kubernetes.Semver";
    case Kind::url:
      return "kubernetes.URL";
    case Kind::ip:
      return "net.IP";
    case Kind::cidr:
      return "net.CIDR";
    case Kind::format:
      return "kubernetes.NamedFormat";
    case Kind::device:
      return "kubernetes.DRADevice";
    case Kind::error:
      return "error";
  }
  return "";
}

Value equal(const Value& left, const Value& right, Work& work) {
  if (!work.take(1 + (left.is_text() ? left.size / 16 : 0))) return of_bool(false);
  if (left.is_number() && right.is_number()) return of_bool(compare_numbers(left, right) == 0);
  if (left.kind != right.kind) return is_strict(left.kind) ? of_error(k_no_such_overload) : of_bool(false);
  switch (left.kind) {
    case Kind::null:
      return of_bool(true);
    case Kind::string:
    case Kind::bytes:
    case Kind::type:
      return of_bool(left.size == right.size && same_bytes(left.chars, right.chars, left.size));
    case Kind::list:
      return equal_lists(left, right, work);
    case Kind::map:
      return equal_maps(*left.map, *right.map, work);
    case Kind::optional:
      return equal_optionals(left, right, work);
    case Kind::timestamp:
      return of_bool(left.integer == right.integer && left.size == right.size);
    case Kind::quantity:
      return of_bool(left.quantity == right.quantity || compare(*left.quantity, *right.quantity) == 0);
    case Kind::semver:
      return of_bool(work.take(comparison_steps(*left.semver)) && compare(*left.semver, *right.semver) == 0);
    case Kind::url:
      return of_bool(left.url->whole == right.url->whole);
    case Kind::ip:
      return of_bool(*left.address == *right.address);
    case Kind::cidr:
      return of_bool(left.size == right.size && *left.address == *right.address);
    case Kind::device:
      return of_bool(left.device == right.device);
    default:
      return of_bool(left.integer == right.integer);
  }
}

int order(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return compare_numbers(left, right);
  if (left.kind != right.kind) return 2;
  switch (left.kind) {
    case Kind::boolean:
    case Kind::duration:
      return three_way(left.integer, right.integer);
    case Kind::string:
    case Kind::bytes:
      return sign_of(left.text().compare(right.text()));
    case Kind::timestamp:
      return left.integer != right.integer ? three_way(left.integer, right.integer) : three_way(left.size, right.size);
    default:
      return 2;
  }
}

const Value* find(const MapData& map, const Value& key, Work& work) {
  if (key.is(Kind::string)) {
    const std::string_view text = key.text();
    const std::uint64_t steps_each = text.size() / 64;
    for (const MapEntry *entry = map.entries, *end = entry + map.size; entry != end; ++entry) {
      if (entry->key.size != text.size() || !entry->key.is(Kind::string)) continue;
      if (steps_each != 0 && !work.take(steps_each)) return nullptr;
      if (entry->key.text() != text) continue;
      work.take(static_cast<std::uint64_t>(entry - map.entries) / 4);
      return &entry->value;
    }
    work.take(map.size / 4 + 1);
    return nullptr;
  }
  for (std::uint32_t i = 0; i < map.size; ++i)
    if (equal(map.entries[i].key, key, work).is_true()) return &map.entries[i].value;
  return nullptr;
}

const Value* find_tagged(const MapData& map, const Value& key) {
  for (const MapEntry *entry = map.entries, *end = entry + map.size; entry != end; ++entry)
    if (entry->key.tag == key.tag && entry->key.size == key.size && same_bytes(entry->key.chars, key.chars, key.size))
      return &entry->value;
  return nullptr;
}

Value tagged(std::string_view text) {
  Value key = of_text(text);
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  key.tag = static_cast<std::uint16_t>(hash ^ hash >> 16);
  return key;
}

std::uint64_t code_points(std::string_view text) {
  // Every byte counts that does not continue a code point, eight at a time.
  constexpr std::uint64_t k_ones = 0x0101010101010101;
  std::uint64_t continuing = 0;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    continuing += (((word >> 7) & ~(word >> 6) & k_ones) * k_ones) >> 56;
  }
  for (; at < text.size(); ++at) continuing += (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  return text.size() - continuing;
}

std::uint64_t length(const Value& value) {
  switch (value.kind) {
    case Kind::string:
      return code_points(value.text());
    case Kind::bytes:
    case Kind::list:
      return value.size;
    case Kind::map:
      return value.map->size;
    case Kind::optional:
      return value.inner == nullptr ? 1 : length(*value.inner);
    // Addresses count the bytes of their written form of 4 or 16 bytes.
    case Kind::ip:
    case Kind::cidr:
      return value.address->is_v4 ? 4 : 16;
    default:
      return 1;
  }
}

}  // namespace berth::cel
