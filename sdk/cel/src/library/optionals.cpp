// SPDX-License-Identifier: Apache-2.0
/// Optional values. `or` and `orValue` are evaluated by Evaluation, which looks at the argument only when it is needed.
#include <vector>

#include "library/functions.hpp"

namespace berth::cel {
namespace {

bool is_zero(const Value& value) {
  switch (value.kind) {
    case Kind::null:
      return true;
    case Kind::boolean:
    case Kind::integer:
    case Kind::uinteger:
    case Kind::duration:
      return value.integer == 0;
    case Kind::real:
      return value.real == 0;
    case Kind::string:
    case Kind::bytes:
    case Kind::list:
      return value.size == 0;
    case Kind::map:
      return value.map->size == 0;
    case Kind::optional:
      return value.inner == nullptr;
    default:
      return false;
  }
}

Value make(const Call& call) { return call.optional_of(call.args[0]); }
Value make_non_zero(const Call& call) { return is_zero(call.args[0]) ? of_optional(nullptr) : make(call); }
Value none(const Call&) { return of_optional(nullptr); }
Value value(const Call& call) {
  return call.args[0].inner == nullptr ? of_error("optional.none() dereference") : *call.args[0].inner;
}
Value has_value(const Call& call) { return of_bool(call.args[0].inner != nullptr); }
Value first(const Call& call) {
  return call.args[0].size == 0 ? of_optional(nullptr) : call.optional_of(call.args[0].items[0]);
}
Value last(const Call& call) {
  return call.args[0].size == 0 ? of_optional(nullptr) : call.optional_of(call.args[0].items[call.args[0].size - 1]);
}
Value unwrap(const Call& call) {
  std::vector<Value> values;
  for (std::uint32_t i = 0; i < call.args[0].size; ++i) {
    const Value& item = call.args[0].items[i];
    if (!item.is(Kind::optional)) return of_error(k_no_such_overload);
    if (item.inner != nullptr) values.push_back(*item.inner);
  }
  return call.list_of(values);
}

constexpr FunctionRow k_optional_rows[] = {
    {"optional.of", "(A) -> optional_type(A)", k_one, make},
    {"optional.ofNonZeroValue", "(A) -> optional_type(A)", k_one, make_non_zero},
    {"optional.none", "() -> optional_type(A)", k_one, none},
    {"value", "optional_type(A).() -> A", k_one, value},
    {"hasValue", "optional_type(A).() -> bool", k_one, has_value},
    {"or", "optional_type(A).(optional_type(A)) -> optional_type(A)", k_one, nullptr},
    {"orValue", "optional_type(A).(A) -> A", k_one, nullptr},
    {"first", "list(A).() -> optional_type(A)", k_one, first},
    {"last", "list(A).() -> optional_type(A)", k_one, last},
    {"optional.unwrap", "(list(optional_type(A))) -> list(A)", k_one, unwrap},
    {"unwrapOpt", "list(optional_type(A)).() -> list(A)", k_one, unwrap},
};

}  // namespace

std::span<const FunctionRow> optional_functions() { return k_optional_rows; }

}  // namespace berth::cel
