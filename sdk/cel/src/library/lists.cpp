// SPDX-License-Identifier: Apache-2.0
/// Functions of lists: Kubernetes' own, cel-go's ext/lists (version 3), sets, and `includes` of dynamic resource allocation.
#include <algorithm>
#include <string>
#include <vector>

#include "evaluation.hpp"
#include "library/functions.hpp"

namespace berth::cel {
namespace {

constexpr std::uint32_t k_includes_max = 48;

Value keep(const Call& call, const std::vector<Value>& values) {
  return call.work.take(values.size()) ? call.list_of(values) : of_error(k_no_memory);
}

/// Putting each item of a list next to another: texts are read.
bool charge_orders(const Value& list, std::uint64_t times, Work& work) {
  std::uint64_t steps = list.size;
  for (std::uint32_t i = 0; i < list.size; ++i)
    if (list.items[i].is_text()) steps += list.items[i].size / 32;
  return work.take(steps * times);
}

Value is_sorted(const Call& call) {
  const Value list = call.args[0];
  if (!charge_orders(list, 1, call.work)) return of_error(k_no_memory);
  for (std::uint32_t i = 1; i < list.size; ++i) {
    const int compared = order(list.items[i - 1], list.items[i]);
    if (compared == 2) return of_error(k_no_such_overload);
    if (compared > 0) return of_bool(false);
  }
  return of_bool(true);
}

template <bool wants_greater>
Value extreme(const Call& call) {
  const Value list = call.args[0];
  if (list.size == 0) return of_error(wants_greater ? "max called on empty list" : "min called on empty list");
  if (!charge_orders(list, 1, call.work)) return of_error(k_no_memory);
  Value best = list.items[0];
  for (std::uint32_t i = 1; i < list.size; ++i) {
    const int compared = order(list.items[i], best);
    if (compared == 2) return of_error(k_no_such_overload);
    if (wants_greater ? compared > 0 : compared < 0) best = list.items[i];
  }
  return best;
}

/// The zero of an empty list is that of the element type, as far as it is known; each type adds with its own overload of `+`.
template <Kind kind>
Value sum(const Call& call) {
  const Value list = call.args[0];
  if (!call.work.take(std::uint64_t{list.size} * 4)) return of_error(k_no_memory);
  Value total = kind == Kind::real ? of_real(0) : kind == Kind::uinteger ? of_uint(0) : of_int(0, kind);
  const Function* plus = find_function("_+_");
  for (std::uint32_t i = 0; i < list.size; ++i) {
    if (i == 0) {
      total = list.items[0];
      if (!total.is_number() && !total.is(Kind::duration)) return of_error(k_no_such_overload);
      continue;
    }
    const Value args[] = {total, list.items[i]};
    Value next = of_error(k_no_such_overload);
    for (const Overload* overload : plus->overloads)
      if (accepts(*overload, args)) {
        next = overload->run({args, 2, call.arena, call.work, call.regexes, nullptr});
        break;
      }
    if (next.is_error()) return next;
    total = next;
  }
  return total;
}

Value index_of_item(const Call& call) {
  for (std::uint32_t i = 0; i < call.args[0].size; ++i)
    if (equal(call.args[0].items[i], call.args[1], call.work).is_true()) return of_int(i);
  return of_int(-1);
}
Value last_index_of_item(const Call& call) {
  for (std::uint32_t i = call.args[0].size; i > 0; --i)
    if (equal(call.args[0].items[i - 1], call.args[1], call.work).is_true()) return of_int(std::int64_t{i} - 1);
  return of_int(-1);
}

Value slice(const Call& call) {
  const std::int64_t start = call.args[1].integer, end = call.args[2].integer;
  const std::string what = "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return call.error(what + "negative indexes not supported");
  if (start > end) return call.error(what + "start index must be less than or equal to end index");
  if (end > call.args[0].size) return call.error(what + "list is length " + std::to_string(call.args[0].size));
  return of_list(call.args[0].items + start, static_cast<std::size_t>(end - start));
}

bool append_flat(const Value& list, std::int64_t depth, std::vector<Value>& flat, Work& work) {
  for (std::uint32_t i = 0; i < list.size; ++i) {
    if (!work.take(1) || flat.size() > k_evaluation_bytes_max / sizeof(Value)) return false;
    if (!list.items[i].is(Kind::list) || depth <= 0)
      flat.push_back(list.items[i]);
    else if (!append_flat(list.items[i], depth - 1, flat, work))
      return false;
  }
  return true;
}
Value flatten_to(const Call& call, std::int64_t depth) {
  if (depth < 0) return of_error("level must be non-negative");
  std::vector<Value> flat;
  return append_flat(call.args[0], depth, flat, call.work) ? keep(call, flat) : of_error(k_no_memory);
}
Value flatten_once(const Call& call) { return flatten_to(call, 1); }
Value flatten_deep(const Call& call) { return flatten_to(call, call.args[1].integer); }

Value sort(const Call& call) { return sorted_by(call.args[0], call.args[0], call); }

Value reverse(const Call& call) {
  if (!call.work.take(call.args[0].size)) return of_error(k_no_memory);
  std::vector<Value> items(call.args[0].items, call.args[0].items + call.args[0].size);
  std::reverse(items.begin(), items.end());
  return keep(call, items);
}

bool contains_equal(const std::vector<Value>& list, const Value& wanted, Work& work) {
  return std::any_of(list.begin(), list.end(), [&](const Value& item) { return equal(wanted, item, work).is_true(); });
}

Value distinct(const Call& call) {
  std::vector<Value> items;
  for (std::uint32_t i = 0; i < call.args[0].size && !call.work.is_over(); ++i)
    if (!contains_equal(items, call.args[0].items[i], call.work)) items.push_back(call.args[0].items[i]);
  return keep(call, items);
}

Value range(const Call& call) {
  const std::int64_t size = std::max<std::int64_t>(call.args[0].integer, 0);
  // What is longer than this costs more than any expression may.
  if (!call.work.take(static_cast<std::uint64_t>(size) / 4)) return of_error(k_no_memory);
  auto* items = size > 10'000'000 ? nullptr : call.arena.make_array<Value>(static_cast<std::size_t>(size));
  if (items == nullptr) return call.arena.allocate(k_evaluation_bytes_max + 1), of_error(k_no_memory);
  for (std::int64_t i = 0; i < size; ++i) items[i] = of_int(i);
  return of_list(items, static_cast<std::size_t>(size));
}

bool has(const Value& list, const Value& wanted, Work& work) {
  for (std::uint32_t i = 0; i < list.size && !work.is_over(); ++i)
    if (equal(list.items[i], wanted, work).is_true()) return true;
  return false;
}
bool has_all(const Value& list, const Value& wanted, Work& work) {
  for (std::uint32_t i = 0; i < wanted.size; ++i)
    if (!has(list, wanted.items[i], work)) return false;
  return true;
}
Value sets_contains(const Call& call) { return of_bool(has_all(call.args[0], call.args[1], call.work)); }
Value sets_equivalent(const Call& call) {
  return of_bool(has_all(call.args[0], call.args[1], call.work) && has_all(call.args[1], call.args[0], call.work));
}
Value sets_intersects(const Call& call) {
  for (std::uint32_t i = 0; i < call.args[0].size && !call.work.is_over(); ++i)
    if (has(call.args[1], call.args[0].items[i], call.work)) return of_bool(true);
  return of_bool(false);
}

Value includes(const Call& call) {
  const Value container = call.args[0];
  if (!container.is(Kind::list)) return of_bool(equal(container, call.args[1], call.work).is_true());
  for (std::uint32_t i = 0; i < container.size; ++i) {
    if (i == k_includes_max) return of_error("'includes' function cannot be applied to lists longer than 48 values");
    if (equal(container.items[i], call.args[1], call.work).is_true()) return of_bool(true);
  }
  return of_bool(false);
}

constexpr CostRule k_tree = CostRule::tree_traversal;
constexpr CostRule k_result = CostRule::list_result;

#define BERTH_CEL_ORDERED(type)                                                    \
  {"isSorted", "list(" type ").() -> bool", k_tree, is_sorted},                    \
      {"min", "list(" type ").() -> " type, k_tree, extreme<false>},               \
      {"max", "list(" type ").() -> " type, k_tree, extreme<true>}, {              \
    "sort", "list(" type ").() -> list(" type ")", CostRule::self_comparison, sort \
  }

constexpr FunctionRow k_list_rows[] = {
    BERTH_CEL_ORDERED("int"),
    BERTH_CEL_ORDERED("uint"),
    BERTH_CEL_ORDERED("double"),
    BERTH_CEL_ORDERED("bool"),
    BERTH_CEL_ORDERED("google.protobuf.Duration"),
    BERTH_CEL_ORDERED("google.protobuf.Timestamp"),
    BERTH_CEL_ORDERED("string"),
    BERTH_CEL_ORDERED("bytes"),
    {"sum", "list(int).() -> int", k_tree, sum<Kind::integer>},
    {"sum", "list(uint).() -> uint", k_tree, sum<Kind::uinteger>},
    {"sum", "list(double).() -> double", k_tree, sum<Kind::real>},
    {"sum", "list(google.protobuf.Duration).() -> google.protobuf.Duration", k_tree, sum<Kind::duration>},
    {"indexOf", "list(A).(A) -> int", k_tree, index_of_item},
    {"lastIndexOf", "list(A).(A) -> int", k_tree, last_index_of_item},
    {"slice", "list(A).(int, int) -> list(A)", k_result, slice},
    {"flatten", "list(list(A)).() -> list(A)", CostRule::flatten, flatten_once},
    {"flatten", "list(dyn).(int) -> list(dyn)", CostRule::flatten, flatten_deep},
    {"reverse", "list(A).() -> list(A)", k_result, reverse},
    {"distinct", "list(A).() -> list(A)", CostRule::self_comparison, distinct},
    {"lists.range", "(int) -> list(int)", k_result, range},
    {"sets.contains", "(list(A), list(A)) -> bool", CostRule::set_product, sets_contains},
    {"sets.equivalent", "(list(A), list(A)) -> bool", CostRule::set_product_twice, sets_equivalent},
    {"sets.intersects", "(list(A), list(A)) -> bool", CostRule::set_product, sets_intersects},
    {"includes", "dyn.(dyn) -> bool", CostRule::one, includes},
};

#undef BERTH_CEL_ORDERED

}  // namespace

Value sorted_by(const Value& list, const Value& keys, const Call& call) {
  if (list.size != keys.size) return of_error("number of keys and of elements differ");
  if (!charge_orders(keys, 20, call.work)) return of_error(k_no_memory);
  std::vector<std::uint32_t> by_key(list.size);
  for (std::uint32_t i = 0; i < list.size; ++i) {
    by_key[i] = i;
    if (order(keys.items[0], keys.items[i]) == 2 || keys.items[i].kind != keys.items[0].kind)
      return of_error("list elements must have the same type");
  }
  std::stable_sort(by_key.begin(), by_key.end(), [&](std::uint32_t left, std::uint32_t right) {
    return order(keys.items[left], keys.items[right]) == -1;
  });
  std::vector<Value> sorted;
  for (const std::uint32_t i : by_key) sorted.push_back(list.items[i]);
  return keep(call, sorted);
}

std::span<const FunctionRow> list_functions() { return k_list_rows; }

}  // namespace berth::cel
