// SPDX-License-Identifier: Apache-2.0
/// Operators. `&&`, `||` and `?:` are evaluated by Evaluation itself, and so are index and selection: their rows are for the
/// checker.
#include <algorithm>
#include <limits>

#include "library/functions.hpp"
#include "values/times.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_timestamp_overflow = "timestamp overflow";
constexpr std::int64_t k_int_min = std::numeric_limits<std::int64_t>::min();

Value equals(const Call& call) { return equal(call.args[0], call.args[1], call.work); }

Value different(const Call& call) {
  const Value result = equal(call.args[0], call.args[1], call.work);
  return of_bool(!result.is_true());
}

enum class Relation { less, less_equal, greater, greater_equal };

template <Relation relation>
Value compare_order(const Call& call) {
  const int compared = order(call.args[0], call.args[1]);
  if (compared == 2) {
    const bool numbers = call.args[0].is_number() && call.args[1].is_number();
    return numbers ? of_bool(false) : of_error(k_no_such_overload);
  }
  switch (relation) {
    case Relation::less:
      return of_bool(compared < 0);
    case Relation::less_equal:
      return of_bool(compared <= 0);
    case Relation::greater:
      return of_bool(compared > 0);
    default:
      return of_bool(compared >= 0);
  }
}

template <auto overflows>
Value on_integers(const Call& call) {
  std::int64_t result = 0;
  return overflows(call.args[0].integer, call.args[1].integer, &result) ? of_error(k_overflow)
                                                                        : of_int(result, call.args[0].kind);
}
template <auto overflows>
Value on_unsigned(const Call& call) {
  std::uint64_t result = 0;
  return overflows(call.args[0].uinteger, call.args[1].uinteger, &result) ? of_error(k_unsigned_overflow)
                                                                          : of_uint(result);
}
constexpr auto k_add = [](auto left, auto right, auto* result) { return __builtin_add_overflow(left, right, result); };
constexpr auto k_subtract = [](auto left, auto right, auto* result) {
  return __builtin_sub_overflow(left, right, result);
};
constexpr auto k_multiply = [](auto left, auto right, auto* result) {
  return __builtin_mul_overflow(left, right, result);
};

Value add_doubles(const Call& call) { return of_real(call.args[0].real + call.args[1].real); }
Value subtract_doubles(const Call& call) { return of_real(call.args[0].real - call.args[1].real); }
Value multiply_doubles(const Call& call) { return of_real(call.args[0].real * call.args[1].real); }
Value divide_doubles(const Call& call) { return of_real(call.args[0].real / call.args[1].real); }

Value divide_integers(const Call& call) {
  if (call.args[1].integer == 0) return of_error("division by zero");
  if (call.args[0].integer == k_int_min && call.args[1].integer == -1) return of_error(k_overflow);
  return of_int(call.args[0].integer / call.args[1].integer);
}
Value divide_unsigned(const Call& call) {
  return call.args[1].uinteger == 0 ? of_error("division by zero")
                                    : of_uint(call.args[0].uinteger / call.args[1].uinteger);
}
Value modulo_integers(const Call& call) {
  if (call.args[1].integer == 0) return of_error("modulus by zero");
  if (call.args[0].integer == k_int_min && call.args[1].integer == -1) return of_error(k_overflow);
  return of_int(call.args[0].integer % call.args[1].integer);
}
Value modulo_unsigned(const Call& call) {
  return call.args[1].uinteger == 0 ? of_error("modulus by zero")
                                    : of_uint(call.args[0].uinteger % call.args[1].uinteger);
}

Value negate_integer(const Call& call) {
  return call.args[0].integer == k_int_min ? of_error(k_overflow) : of_int(-call.args[0].integer, call.args[0].kind);
}
Value negate_double(const Call& call) { return of_real(-call.args[0].real); }
Value negate_bool(const Call& call) { return of_bool(!call.args[0].is_true()); }

Value join_texts(const Call& call) {
  const std::string_view left = call.args[0].text(), right = call.args[1].text();
  if (!call.work.take((left.size() + right.size()) / 16)) return of_error(k_no_memory);
  auto* place = static_cast<char*>(call.arena.allocate(left.size() + right.size()));
  if (place == nullptr) return of_error(k_no_memory);
  // An empty text may have no address, which memcpy() does not take.
  std::copy(right.begin(), right.end(), std::copy(left.begin(), left.end(), place));
  return of_text({place, left.size() + right.size()}, call.args[0].kind);
}

Value join_lists(const Call& call) {
  const Value left = call.args[0], right = call.args[1];
  const std::size_t size = std::size_t{left.size} + right.size;
  auto* items = call.work.take(size) ? call.arena.make_array<Value>(size) : nullptr;
  if (items == nullptr) return of_error(k_no_memory);
  std::copy_n(left.items, left.size, items);
  std::copy_n(right.items, right.size, items + left.size);
  return of_list(items, size);
}

Value shifted(const Value& timestamp, std::int64_t nanos) {
  // Both halves are small enough not to overflow.
  std::int64_t seconds = timestamp.integer + nanos / k_nanos_per_second;
  std::int64_t rest = std::int64_t{timestamp.size} + nanos % k_nanos_per_second;
  if (rest < 0) rest += k_nanos_per_second, --seconds;
  if (rest >= k_nanos_per_second) rest -= k_nanos_per_second, ++seconds;
  if (!is_timestamp_second(seconds)) return of_error(k_timestamp_overflow);
  return of_timestamp(seconds, static_cast<std::uint32_t>(rest));
}
Value timestamp_plus_duration(const Call& call) { return shifted(call.args[0], call.args[1].integer); }
Value duration_plus_timestamp(const Call& call) { return shifted(call.args[1], call.args[0].integer); }
Value timestamp_minus_duration(const Call& call) {
  return call.args[1].integer == k_int_min ? of_error(k_overflow) : shifted(call.args[0], -call.args[1].integer);
}
Value timestamp_minus_timestamp(const Call& call) {
  std::int64_t nanos = 0;
  if (__builtin_mul_overflow(call.args[0].integer - call.args[1].integer, k_nanos_per_second, &nanos) ||
      __builtin_add_overflow(nanos, std::int64_t{call.args[0].size} - std::int64_t{call.args[1].size}, &nanos))
    return of_error(k_overflow);
  return of_int(nanos, Kind::duration);
}

Value in_list(const Call& call) {
  for (std::uint32_t i = 0; i < call.args[1].size && !call.work.is_over(); ++i)
    if (equal(call.args[1].items[i], call.args[0], call.work).is_true()) return of_bool(true);
  return of_bool(false);
}
Value in_map(const Call& call) {
  if (!is_hashable(call.args[0])) {
    call.work.panicked = true;
    return of_error("hash of unhashable type");
  }
  return of_bool(find(*call.args[1].map, call.args[0], call.work) != nullptr);
}

constexpr CostRule k_shorter = CostRule::inequality;

/// Orders of two types each; texts cost by their length.
#define BERTH_CEL_ORDER(name, relation)                                                                           \
  {name, "(bool, bool) -> bool", k_one, compare_order<relation>},                                                 \
      {name, "(int, int) -> bool", k_one, compare_order<relation>},                                               \
      {name, "(int, double) -> bool", k_one, compare_order<relation>},                                            \
      {name, "(int, uint) -> bool", k_one, compare_order<relation>},                                              \
      {name, "(uint, uint) -> bool", k_one, compare_order<relation>},                                             \
      {name, "(uint, double) -> bool", k_one, compare_order<relation>},                                           \
      {name, "(uint, int) -> bool", k_one, compare_order<relation>},                                              \
      {name, "(double, double) -> bool", k_one, compare_order<relation>},                                         \
      {name, "(double, int) -> bool", k_one, compare_order<relation>},                                            \
      {name, "(double, uint) -> bool", k_one, compare_order<relation>},                                           \
      {name, "(string, string) -> bool", k_shorter, compare_order<relation>},                                     \
      {name, "(bytes, bytes) -> bool", k_shorter, compare_order<relation>},                                       \
      {name, "(google.protobuf.Timestamp, google.protobuf.Timestamp) -> bool", k_one, compare_order<relation>}, { \
    name, "(google.protobuf.Duration, google.protobuf.Duration) -> bool", k_one, compare_order<relation>          \
  }

constexpr FunctionRow k_operator_rows[] = {
    {"_?_:_", "(bool, A, A) -> A", k_one, nullptr},
    {"_[_]", "(list(A), int) -> A", k_one, nullptr},
    {"_[_]", "(map(A, B), A) -> B", k_one, nullptr},
    {"_[_]", "(optional_type(list(A)), int) -> optional_type(A)", k_one, nullptr},
    {"_[_]", "(optional_type(map(A, B)), A) -> optional_type(B)", k_one, nullptr},
    {"_[?_]", "(list(A), int) -> optional_type(A)", k_one, nullptr},
    {"_[?_]", "(optional_type(list(A)), int) -> optional_type(A)", k_one, nullptr},
    {"_[?_]", "(map(A, B), A) -> optional_type(B)", k_one, nullptr},
    {"_[?_]", "(optional_type(map(A, B)), A) -> optional_type(B)", k_one, nullptr},
    {"_==_", "(A, A) -> bool", CostRule::equality, equals},
    {"_!=_", "(A, A) -> bool", CostRule::inequality, different},
    BERTH_CEL_ORDER("_<_", Relation::less),
    BERTH_CEL_ORDER("_<=_", Relation::less_equal),
    BERTH_CEL_ORDER("_>_", Relation::greater),
    BERTH_CEL_ORDER("_>=_", Relation::greater_equal),
    {"_+_", "(int, int) -> int", k_one, on_integers<k_add>},
    {"_+_", "(uint, uint) -> uint", k_one, on_unsigned<k_add>},
    {"_+_", "(double, double) -> double", k_one, add_doubles},
    {"_+_", "(string, string) -> string", CostRule::concatenation, join_texts},
    {"_+_", "(bytes, bytes) -> bytes", CostRule::concatenation, join_texts},
    {"_+_", "(list(A), list(A)) -> list(A)", k_one, join_lists},
    {"_+_", "(google.protobuf.Duration, google.protobuf.Duration) -> google.protobuf.Duration", k_one,
     on_integers<k_add>},
    {"_+_", "(google.protobuf.Timestamp, google.protobuf.Duration) -> google.protobuf.Timestamp", k_one,
     timestamp_plus_duration},
    {"_+_", "(google.protobuf.Duration, google.protobuf.Timestamp) -> google.protobuf.Timestamp", k_one,
     duration_plus_timestamp},
    {"_-_", "(int, int) -> int", k_one, on_integers<k_subtract>},
    {"_-_", "(uint, uint) -> uint", k_one, on_unsigned<k_subtract>},
    {"_-_", "(double, double) -> double", k_one, subtract_doubles},
    {"_-_", "(google.protobuf.Duration, google.protobuf.Duration) -> google.protobuf.Duration", k_one,
     on_integers<k_subtract>},
    {"_-_", "(google.protobuf.Timestamp, google.protobuf.Duration) -> google.protobuf.Timestamp", k_one,
     timestamp_minus_duration},
    {"_-_", "(google.protobuf.Timestamp, google.protobuf.Timestamp) -> google.protobuf.Duration", k_one,
     timestamp_minus_timestamp},
    {"_*_", "(int, int) -> int", k_one, on_integers<k_multiply>},
    {"_*_", "(uint, uint) -> uint", k_one, on_unsigned<k_multiply>},
    {"_*_", "(double, double) -> double", k_one, multiply_doubles},
    {"_/_", "(int, int) -> int", k_one, divide_integers},
    {"_/_", "(uint, uint) -> uint", k_one, divide_unsigned},
    {"_/_", "(double, double) -> double", k_one, divide_doubles},
    {"_%_", "(int, int) -> int", k_one, modulo_integers},
    {"_%_", "(uint, uint) -> uint", k_one, modulo_unsigned},
    {"-_", "(int) -> int", k_one, negate_integer},
    {"-_", "(double) -> double", k_one, negate_double},
    {"-_", "(google.protobuf.Duration) -> google.protobuf.Duration", k_one, negate_integer},
    {"!_", "(bool) -> bool", k_one, negate_bool},
    {"@in", "(A, list(A)) -> bool", CostRule::list_membership, in_list},
    {"@in", "(A, map(A, B)) -> bool", k_one, in_map},
};

#undef BERTH_CEL_ORDER

}  // namespace

std::span<const FunctionRow> operator_functions() { return k_operator_rows; }

}  // namespace berth::cel
