// SPDX-License-Identifier: Apache-2.0
/// What expressions compute with. A Value is 16 bytes and owns nothing: texts, lists and the like lie in the arena of the
/// evaluation, in the program (constants) or in the device, whichever made them, and live as long.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "arena.hpp"

namespace berth::cel {

enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,
  uinteger,
  real,
  string,
  bytes,
  list,
  map,
  optional,
  type,
  duration,
  timestamp,
  quantity,
  semver,
  url,
  ip,
  cidr,
  format,
  device,
  error,
};

struct Value;
struct MapEntry;
struct Quantity;
struct Semver;
struct Url;
struct Address;
struct DeviceData;

/// Keys are unique; device maps are sorted by key, others in the order of writing.
struct MapData {
  const MapEntry* entries = nullptr;
  std::uint32_t size = 0;
  bool unknown_is_empty = false;  ///< the maps by domain: a domain that is not there is an empty map
};

struct Value {
  Kind kind = Kind::null;
  std::uint16_t tag = 0;   ///< of keys of device maps: some bits of the text, so that most comparisons end at once
  std::uint32_t size = 0;  ///< bytes of a text, items of a list; nanoseconds of a timestamp; prefix length of a cidr
  union {
    std::int64_t integer = 0;  ///< also booleans, nanoseconds of a duration, seconds of a timestamp, number of a format
    std::uint64_t uinteger;
    double real;
    const char* chars;  ///< string, bytes, name of a type, text of an error
    const Value* items;
    const Value* inner;  ///< of an optional; null for none
    const MapData* map;
    const Quantity* quantity;
    const Semver* semver;
    const Url* url;
    const Address* address;  ///< ip and cidr
    const DeviceData* device;
  };

  bool is(Kind other) const { return kind == other; }
  bool is_error() const { return kind == Kind::error; }
  bool is_true() const { return kind == Kind::boolean && integer != 0; }
  bool is_false() const { return kind == Kind::boolean && integer == 0; }
  bool is_text() const { return kind == Kind::string || kind == Kind::bytes; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::uinteger || kind == Kind::real; }
  std::string_view text() const { return {chars, size}; }
};
static_assert(sizeof(Value) == 16);

struct MapEntry {
  Value key;
  Value value;
};

inline Value of_bool(bool value) {
  Value made;
  made.kind = Kind::boolean;
  made.integer = value ? 1 : 0;
  return made;
}
inline Value of_int(std::int64_t value, Kind kind = Kind::integer) {
  Value made;
  made.kind = kind;
  made.integer = value;
  return made;
}
inline Value of_uint(std::uint64_t value) {
  Value made;
  made.kind = Kind::uinteger;
  made.uinteger = value;
  return made;
}
inline Value of_real(double value) {
  Value made;
  made.kind = Kind::real;
  made.real = value;
  return made;
}
/// `text` must outlive the value: a literal, or a piece of an arena.
inline Value of_text(std::string_view text, Kind kind = Kind::string) {
  Value made;
  made.kind = kind;
  made.size = static_cast<std::uint32_t>(text.size());
  made.chars = text.data();
  return made;
}
inline Value of_error(std::string_view text) { return of_text(text, Kind::error); }
inline Value of_list(const Value* items, std::size_t size) {
  Value made;
  made.kind = Kind::list;
  made.size = static_cast<std::uint32_t>(size);
  made.items = items;
  return made;
}
inline Value of_map(const MapData* map) {
  Value made;
  made.kind = Kind::map;
  made.map = map;
  return made;
}
inline Value of_optional(const Value* inner) {
  Value made;
  made.kind = Kind::optional;
  made.inner = inner;
  return made;
}
inline Value of_timestamp(std::int64_t seconds, std::uint32_t nanos) {
  Value made = of_int(seconds, Kind::timestamp);
  made.size = nanos;
  return made;
}
template <class T>
Value of_object(Kind kind, const T* object) {
  Value made;
  made.kind = kind;
  if constexpr (std::is_same_v<T, Quantity>)
    made.quantity = object;
  else if constexpr (std::is_same_v<T, Semver>)
    made.semver = object;
  else if constexpr (std::is_same_v<T, Url>)
    made.url = object;
  else if constexpr (std::is_same_v<T, Address>)
    made.address = object;
  else
    made.device = object;
  return made;
}

/// memcmp() == 0, without a call for names of usual length.
inline bool same_bytes(const char* left, const char* right, std::size_t size) {
  const auto same_word = [&](std::size_t at) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, left + at, 8);
    std::memcpy(&b, right + at, 8);
    return a == b;
  };
  if (size > 16) return std::memcmp(left, right, size) == 0;
  if (size >= 8) return same_word(0) && same_word(size - 8);
  for (std::size_t i = 0; i < size; ++i)
    if (left[i] != right[i]) return false;
  return true;
}

inline constexpr std::string_view k_no_such_overload = "no such overload";
inline constexpr std::string_view k_no_memory = "no memory is left";
inline constexpr std::string_view k_overflow = "integer overflow";
inline constexpr std::string_view k_unsigned_overflow = "unsigned integer overflow";

/// What `type(x)` answers, for example `string` or `kubernetes.Semver`.
std::string_view type_name(const Value& value);

/// Whether a map or set of upstream can hold the value: a Go slice cannot be hashed, and what tries panics.
inline bool is_hashable(const Value& value) { return value.kind != Kind::semver && value.kind != Kind::bytes; }

/// Steps that comparing, searching and copying may still take. What runs out of them answers wrong; the evaluation looks at
/// the flags after each call and gives up.
struct Work {
  static constexpr std::uint64_t k_steps_between_questions = 1'000'000;  // some milliseconds

  std::uint64_t left = 0;
  bool (*interrupted)(void* context) = nullptr;  ///< may be null
  void* context = nullptr;
  std::uint64_t until_question = k_steps_between_questions;
  bool spent_all = false;
  bool was_interrupted = false;
  bool panicked = false;  ///< something was hashed that cannot be: ends the whole evaluation, as upstream
  /// False: what takes that much must not be done.
  bool take(std::uint64_t steps) {
    if (steps > left) return left = 0, spent_all = true, false;
    left -= steps;
    if (steps < until_question) return until_question -= steps, true;
    until_question = k_steps_between_questions;
    if (interrupted == nullptr || !interrupted(context)) return true;
    return left = 0, was_interrupted = true, false;
  }
  bool is_over() const { return spent_all || was_interrupted; }
};

/// `==`: a boolean, or the error of comparing a Quantity, Semver, URL, IP or CIDR on the left with another type.
Value equal(const Value& left, const Value& right, Work& work);

/// −1, 0, 1; 2 for what has no order, and for NaN.
int order(const Value& left, const Value& right);

/// Null when the key is not there. Numbers match across numeric types.
const Value* find(const MapData& map, const Value& key, Work& work);

/// The same for a map all of whose keys are tagged texts, and a tagged key.
const Value* find_tagged(const MapData& map, const Value& key);
Value tagged(std::string_view text);

/// Length as `size()` and the cost count it: code points, bytes, items; 1 for what has no length.
std::uint64_t length(const Value& value);
std::uint64_t code_points(std::string_view text);

}  // namespace berth::cel
