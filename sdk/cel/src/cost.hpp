// SPDX-License-Identifier: Apache-2.0
/// What a step costs, in the units of cel-go and of Kubernetes' cost estimator (apiserver/pkg/cel/library/cost.go).
#pragma once
#include <cstddef>
#include <cstdint>

#include "values/values.hpp"

namespace berth::cel {

inline constexpr std::uint64_t k_list_cost = 10;
inline constexpr std::uint64_t k_map_cost = 30;
inline constexpr std::uint64_t k_message_cost = 40;

enum class CostRule : std::uint8_t {
  one,
  traversal,  ///< a tenth of the first argument's length, rounded up
  two_traversals,
  result_twice,     ///< two tenths of the result's length
  tree_traversal,   ///< the first argument down to its leaves
  equality,         ///< a tenth of the shorter argument; 1 if Kubernetes' types are compared
  inequality,       ///< the same without the exception
  concatenation,    ///< a tenth of both
  list_membership,  ///< length of the second argument
  contains,         ///< a tenth of the one times a tenth of the other
  regex,
  list_result,  ///< length of the result, and a list
  flatten,
  self_comparison,      ///< square of the length of the first argument
  self_comparison_key,  ///< of the second argument
  set_product,
  set_product_twice,
  contains_address,
  contains_address_text,
  contains_network,
  contains_network_text,
  named_format,
};

/// The usual rules, by short names for the tables of functions.
inline constexpr CostRule k_one = CostRule::one;
inline constexpr CostRule k_traversal = CostRule::traversal;

std::uint64_t call_cost(CostRule rule, const Value* args, std::size_t count, const Value& result);

/// Cost of reading `length` once: a tenth, rounded up.
constexpr std::uint64_t traversal_cost(std::uint64_t length) { return length / 10 + (length % 10 != 0 ? 1 : 0); }

}  // namespace berth::cel
