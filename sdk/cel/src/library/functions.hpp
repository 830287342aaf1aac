// SPDX-License-Identifier: Apache-2.0
/// The functions and operators of the dialect, each overload with its signature, its cost and what computes it. The checker
/// resolves calls by the signatures, evaluation picks among the overloads by the kinds of the values.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost.hpp"
#include "types.hpp"
#include "values/values.hpp"

namespace re2 {
class RE2;
}

namespace berth::cel {

class RegexCache;

/// One call. No argument is an error.
struct Call {
  const Value* args;
  std::size_t count;
  Arena& arena;
  Work& work;
  RegexCache& regexes;
  const re2::RE2* regex;  ///< of the literal pattern; null for computed ones

  /// An error whose text is put together.
  Value error(std::string_view text) const;
  /// A string that is put together; the error of a full arena if it has no room.
  Value text(std::string_view text, Kind kind = Kind::string) const;
  Value optional_of(const Value& value) const;
  /// A list of values that are put together; the error of a full arena if it has no room.
  Value list_of(const std::vector<Value>& values) const;
};

using Implementation = Value (*)(const Call&);

/// A line of a table of functions. Signatures: `string.(int) -> string` is a method, `(A, A) -> bool` a function; capital
/// letters are type variables.
struct FunctionRow {
  std::string_view name;
  std::string_view signature;
  CostRule cost;
  Implementation run;
};

struct Overload {
  std::string_view name;
  bool is_method = false;
  std::uint32_t variables = 0;
  std::vector<const Type*> args;
  const Type* result = nullptr;
  CostRule cost = CostRule::one;
  Implementation run = nullptr;
  std::uint32_t count = 0;               ///< of arguments
  std::array<std::uint32_t, 4> kinds{};  ///< per argument: bit mask over Kind
};

struct Function {
  std::string_view name;
  std::vector<const Overload*> overloads;  ///< in the order of the tables
};

/// Null if no function has this name.
const Function* find_function(std::string_view name);

inline bool accepts(const Overload& overload, const Value* args) {
  for (std::uint32_t i = 0; i < overload.count; ++i)
    if ((overload.kinds[i] >> static_cast<unsigned>(args[i].kind) & 1u) == 0) return false;
  return true;
}

std::span<const FunctionRow> operator_functions();
std::span<const FunctionRow> conversion_functions();
std::span<const FunctionRow> text_functions();
std::span<const FunctionRow> regex_functions();
std::span<const FunctionRow> list_functions();
std::span<const FunctionRow> optional_functions();
std::span<const FunctionRow> time_functions();
std::span<const FunctionRow> kubernetes_functions();
std::span<const FunctionRow> network_functions();
std::span<const FunctionRow> url_functions();
std::span<const FunctionRow> named_format_functions();

/// The argument itself: conversions of a type to itself.
Value itself(const Call& call);

/// What `%d` and the like make of `args`; the error begins with `error during formatting: `.
Value format_text(std::string_view pattern, const Value& args, const Call& call);
/// Text of a value as `string()` makes it; error if its kind has none.
Value to_text(const Value& value, const Call& call);

}  // namespace berth::cel
