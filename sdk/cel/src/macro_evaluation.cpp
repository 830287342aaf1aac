// SPDX-License-Identifier: Apache-2.0
/// Macros, evaluated as what they are and charged as what they expand to in cel-go: reading the accumulator is 1, negating it
/// and asking whether to go on 1 each, adding to a list 1 and the list literal of the new element 10.
#include <string>

#include "evaluation.hpp"

namespace berth::cel {

/// Goes through a list or a map and sets the variables of the macro.
class Evaluation::Loop {
 public:
  Loop(Evaluation& evaluation, const Node& node, const Value& range)
      : evaluation_(evaluation),
        node_(node),
        range_(range),
        size_(range.is(Kind::list) ? range.size : range.map->size) {}

  bool next() {
    if (at_ == size_ || evaluation_.interrupted()) return false;
    Value* slots = evaluation_.slots_ + node_.slot;
    const bool two = node_.variables.size() == 2;
    if (range_.is(Kind::list)) {
      if (two) slots[0] = of_int(at_);
      slots[two ? 1 : 0] = range_.items[at_];
    } else {
      slots[0] = range_.map->entries[at_].key;
      if (two) slots[1] = range_.map->entries[at_].value;
    }
    ++at_;
    return true;
  }

 private:
  Evaluation& evaluation_;
  const Node& node_;
  Value range_;
  std::uint32_t at_ = 0;
  std::uint32_t size_;
};

bool Evaluation::interrupted() {
  if (!may_go_on()) return true;
  if (++iterations_ % 100 == 0 && limits_.interrupted != nullptr && limits_.interrupted(limits_.context))
    stop(Stop::interrupted);
  return !stopped_.empty();
}

Value Evaluation::evaluate_macro(const Node& node) {
  switch (node.macro) {
    case Macro::bind:
      slots_[node.slot] = evaluate(*node.operands[0]);
      return evaluate(*node.operands[1]);
    case Macro::opt_map:
    case Macro::opt_flat_map:
      return evaluate_optional_macro(node);
    case Macro::sort_by:
      return evaluate_sort(node);
    default:
      break;
  }
  const Value range = evaluate(*node.operands[0]);
  if (range.is_error()) return range;
  if (!range.is(Kind::list) && !range.is(Kind::map))
    return error_of("got '" + std::string(type_name(range)) + "', expected iterable type");
  Loop loop(*this, node, range);
  Value result;
  switch (node.macro) {
    case Macro::all:
    case Macro::exists:
      result = run_quantifier(node, loop);
      break;
    case Macro::exists_one:
      result = run_count(node, loop);
      break;
    case Macro::transform_map:
    case Macro::transform_map_entry:
      result = run_map(node, loop);
      break;
    default:
      result = run_list(node, loop);
      break;
  }
  return may_go_on() ? result : stopped_error();
}

Value Evaluation::run_quantifier(const Node& node, Loop& loop) {
  const bool decides = node.macro == Macro::exists;
  Value found = of_bool(!decides);
  while (loop.next()) {
    if (!charge_steps(decides ? 3 : 2)) break;
    if (found.is(Kind::boolean) && found.is_true() == decides) break;
    charge(1);
    const Value value = evaluate(*node.operands[1]);
    if (value.is(Kind::boolean)) {
      if (value.is_true() == decides) found = value;
    } else if (!found.is_error()) {
      found = value.is_error() ? value : of_error(k_no_such_overload);
    }
  }
  charge(1);
  return found;
}

Value Evaluation::run_count(const Node& node, Loop& loop) {
  std::uint64_t count = 0;
  Value failure;
  while (loop.next()) {
    const Value value = evaluate(*node.operands[1]);
    if (value.is_true()) {
      ++count;
      charge_steps(2);
    } else if (!value.is(Kind::boolean)) {
      failure = value.is_error() ? value : of_error(k_no_such_overload);
    }
  }
  charge_steps(2);
  return failure.is_error() ? failure : of_bool(count == 1);
}

/// Whether a filter takes the item; what is neither true nor false is a failure of the whole macro.
bool Evaluation::passes(const Node& condition, Value& failure) {
  const Value passed = evaluate(condition);
  if (!passed.is_true() && !passed.is_false()) failure = passed.is_error() ? passed : of_error(k_no_such_overload);
  return passed.is_true();
}

Value Evaluation::run_list(const Node& node, Loop& loop) {
  std::vector<Value> items;
  Value failure;
  const bool filters = node.macro == Macro::filter || node.operands.size() == 3;
  const std::uint32_t element_slot = node.slot;
  while (loop.next()) {
    if (filters && !passes(*node.operands[1], failure)) continue;
    charge(1);
    Value item;
    if (node.macro == Macro::filter) {
      item = slots_[element_slot];
      charge(1);
    } else {
      item = evaluate(*node.operands.back());
    }
    charge(k_list_cost);
    charge(1);
    if (item.is_error() && !failure.is_error()) failure = item;
    if (!failure.is_error()) items.push_back(item);
  }
  charge(1);
  return failure.is_error() ? failure : keep_list(items);
}

Value Evaluation::run_map(const Node& node, Loop& loop) {
  std::vector<MapEntry> entries;
  Value failure;
  const bool by_entry = node.macro == Macro::transform_map_entry;
  while (loop.next()) {
    const Value loop_key = slots_[node.slot];
    if (node.operands.size() == 3 && !passes(*node.operands[1], failure)) continue;
    charge(1);
    if (!by_entry && failure.is_error()) continue;
    if (!by_entry) charge(1);
    const Value made = evaluate(*node.operands.back());
    if (by_entry || !made.is_error()) charge(1);
    if (made.is_error()) {
      if (!failure.is_error()) failure = made;
      continue;
    }
    const MapEntry added[] = {{loop_key, made}};
    const MapEntry* first = by_entry ? made.map->entries : added;
    for (std::uint32_t i = 0; i < (by_entry ? made.map->size : 1); ++i) {
      const MapData so_far{entries.data(), static_cast<std::uint32_t>(entries.size()), false};
      if (find(so_far, first[i].key, work_) != nullptr)
        failure = of_error("insert failed: key already exists");
      else
        entries.push_back(first[i]);
    }
  }
  charge(1);
  return failure.is_error() ? failure : keep_map(entries);
}

/// `x.optMap(v, e)` is `x.hasValue() ? optional.of(e with v = x.value()) : optional.none()`: x is evaluated twice.
Value Evaluation::evaluate_optional_macro(const Node& node) {
  const Value target = evaluate(*node.operands[0]);
  if (!charge(1)) return stopped_error();
  if (target.is_error()) return target;
  if (!target.is(Kind::optional)) return error_of("no such overload: hasValue(" + std::string(type_name(target)) + ')');
  if (target.inner == nullptr) return charge(1) ? target : stopped_error();
  const Value again = evaluate(*node.operands[0]);
  charge(1);
  if (!stopped_.empty()) return stopped_error();
  slots_[node.slot] = again.is(Kind::optional) && again.inner != nullptr ? *again.inner : again;
  const Value result = evaluate(*node.operands[1]);
  if (node.macro == Macro::opt_flat_map) return result;
  charge(1);
  if (!may_go_on()) return stopped_error();
  if (result.is_error()) return result;
  const Value* kept = arena_.make(result);
  return kept == nullptr ? stopped_error() : of_optional(kept);
}

Value Evaluation::evaluate_sort(const Node& node) {
  const Value range = evaluate(*node.operands[0]);
  if (range.is_error()) return range;
  if (!range.is(Kind::list)) return error_of("got '" + std::string(type_name(range)) + "', expected a list to sort");
  charge_steps(2);
  Loop loop(*this, node, range);
  const Value keys = run_list(node, loop);
  if (!may_go_on()) return stopped_error();
  const Value args[] = {range, keys};
  const Value result = keys.is_error() ? keys : sorted_by(range, keys, call_of(node, args, 2));
  charge(call_cost(CostRule::self_comparison_key, args, 2, result));
  return may_go_on() ? result : stopped_error();
}

}  // namespace berth::cel
