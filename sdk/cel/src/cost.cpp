// SPDX-License-Identifier: Apache-2.0
#include "cost.hpp"

#include <algorithm>
#include <limits>

#include "library/named_formats.hpp"

namespace berth::cel {
namespace {

constexpr std::uint64_t k_most = std::numeric_limits<std::uint32_t>::max();

std::uint64_t times(std::uint64_t left, std::uint64_t right) {
  return right != 0 && left > k_most / right ? k_most : left * right;
}

std::uint64_t tree_cost(const Value& value) {
  switch (value.kind) {
    case Kind::string:
    case Kind::bytes:
      return length(value) / 10;
    case Kind::list: {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < value.size && sum < k_most; ++i) sum += tree_cost(value.items[i]);
      return sum;
    }
    case Kind::map: {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < value.map->size && sum < k_most; ++i)
        sum += tree_cost(value.map->entries[i].key) + tree_cost(value.map->entries[i].value);
      return sum;
    }
    default:
      return 1;
  }
}

std::uint64_t self_comparison(const Value& list) {
  const std::uint64_t size = length(list);
  const std::uint64_t square = times(size, size);
  const bool texts = list.is(Kind::list) && list.size != 0 && list.items[0].is_text();
  return 1 + k_list_cost + (texts ? times(square, 21) / 10 : times(square, 2));
}

bool is_kubernetes_type(Kind kind) {
  return kind == Kind::quantity || kind == Kind::ip || kind == Kind::cidr || kind == Kind::format ||
         kind == Kind::url || kind == Kind::semver;
}

std::uint64_t regex_cost(std::uint64_t text, std::uint64_t pattern) {
  return times(traversal_cost(text + 1), (pattern + 3) / 4);
}

}  // namespace

std::uint64_t call_cost(CostRule rule, const Value* args, std::size_t count, const Value& result) {
  const auto size = [&](std::size_t i) { return length(args[i]); };
  switch (rule) {
    case CostRule::one:
      return 1;
    case CostRule::traversal:
      return traversal_cost(size(0));
    case CostRule::two_traversals:
      return traversal_cost(2 * size(0));
    case CostRule::result_twice:
      return traversal_cost(2 * length(result));
    case CostRule::tree_traversal:
      return tree_cost(args[0]);
    case CostRule::equality:
      if (is_kubernetes_type(args[0].kind)) return 1;
      [[fallthrough]];
    case CostRule::inequality:
      return traversal_cost(std::min(size(0), size(1)));
    case CostRule::concatenation:
      return traversal_cost(size(0) + size(1));
    case CostRule::list_membership:
      return size(1);
    case CostRule::contains:
      return times(traversal_cost(size(0)), traversal_cost(size(1)));
    case CostRule::regex:
      return regex_cost(size(0), size(1));
    case CostRule::list_result:
      return 1 + k_list_cost + length(result);
    case CostRule::flatten: {
      const std::int64_t depth =
          count == 2 && args[1].is(Kind::integer) ? std::max<std::int64_t>(args[1].integer, 0) : 1;
      return 1 + k_list_cost + times(size(0), static_cast<std::uint64_t>(depth));
    }
    case CostRule::self_comparison:
      return self_comparison(args[0]);
    case CostRule::self_comparison_key:
      return self_comparison(args[1]);
    case CostRule::set_product:
      return 1 + times(size(0), size(1));
    case CostRule::set_product_twice:
      return 1 + times(2, times(size(0), size(1)));
    case CostRule::contains_address:
      return traversal_cost(2 * size(0));
    case CostRule::contains_address_text:
      return traversal_cost(2 * size(0)) + traversal_cost(size(1));
    case CostRule::contains_network:
      return traversal_cost(2 * size(0)) + traversal_cost(size(0)) + 1;
    case CostRule::contains_network_text:
      return traversal_cost(2 * size(0)) + traversal_cost(size(0)) + 1 + traversal_cost(size(1));
    case CostRule::named_format:
      return args[0].is(Kind::format) ? regex_cost(size(1), named_format_pattern_size(args[0].integer)) : 1;
  }
  return 1;
}

}  // namespace berth::cel
