// SPDX-License-Identifier: Apache-2.0
/// Evaluation of everything but macros. Costs follow cel-go's cost tracker: a chain of selections costs one for each step and
/// one for the chain; arguments are charged before the call; most calls of one or two arguments are charged even if one failed.
#include "evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace berth::cel {
namespace {

constexpr std::size_t k_args_max = 6;
// Most functions look at their texts once, some nanoseconds a byte.
constexpr std::uint32_t k_bytes_of_step = 4;
constexpr std::string_view k_memory_spent = "evaluation needs more than 64 MiB of memory";

std::string text_of_key(const Value& key) {
  switch (key.kind) {
    case Kind::string:
      return std::string(key.text().substr(0, 1024));
    case Kind::boolean:
      return key.integer != 0 ? "true" : "false";
    case Kind::integer:
      return std::to_string(key.integer);
    case Kind::uinteger:
      return std::to_string(key.uinteger);
    case Kind::real:
      return std::to_string(key.real);
    default:
      return std::string(type_name(key));
  }
}

/// The integer that a list index of any numeric type means.
bool index_of(const Value& key, std::int64_t& index) {
  if (key.is(Kind::integer)) return index = key.integer, true;
  if (key.is(Kind::uinteger)) return index = static_cast<std::int64_t>(key.uinteger), index >= 0;
  if (!key.is(Kind::real) || !(std::fabs(key.real) < 1e15) || key.real != std::floor(key.real)) return false;
  return index = static_cast<std::int64_t>(key.real), true;
}

}  // namespace

std::string_view text_of(Stop stop) {
  switch (stop) {
    case Stop::none:
      break;
    case Stop::cost:
      return "operation cancelled: actual cost limit exceeded";
    case Stop::steps:
      return "evaluation takes more steps than allowed";
    case Stop::memory:
      return k_memory_spent;
    case Stop::interrupted:
      return "operation interrupted";
    case Stop::panic:
      return "internal error: runtime error: hash of unhashable type cel.Semver";
  }
  return {};
}

bool Evaluation::may_go_on() {
  if (!stopped_.empty()) return false;
  if (work_.was_interrupted) return stop(Stop::interrupted);
  if (arena_.exhausted()) return stop(Stop::memory);
  if (work_.panicked) return stop(Stop::panic);
  if (work_.spent_all) return stop(Stop::steps);
  return true;
}

Value Evaluation::error_of(std::string_view text) {
  const std::string_view kept = arena_.copy(text);
  return of_error(kept.empty() ? k_memory_spent : kept);
}

Value Evaluation::no_such_key(const Value& key) { return error_of("no such key: " + text_of_key(key)); }

Value Evaluation::wrap(const Value& value) {
  if (value.is(Kind::optional) || value.is_error()) return value;
  const Value* kept = arena_.make(value);
  return kept == nullptr ? of_error(k_memory_spent) : of_optional(kept);
}

Value Evaluation::keep_list(const std::vector<Value>& items) {
  auto* kept = arena_.make_array<Value>(items.size());
  if (kept == nullptr) return of_error(k_memory_spent);
  std::copy(items.begin(), items.end(), kept);
  return of_list(kept, items.size());
}

Value Evaluation::keep_map(const std::vector<MapEntry>& entries) {
  auto* kept = arena_.make_array<MapEntry>(entries.size());
  if (kept == nullptr) return of_error(k_memory_spent);
  std::copy(entries.begin(), entries.end(), kept);
  const MapData* map = arena_.make(MapData{kept, static_cast<std::uint32_t>(entries.size()), false});
  return map == nullptr ? of_error(k_memory_spent) : of_map(map);
}

Value Evaluation::evaluate(const Node& node) {
  if (node.constant) return node.value;
  if (node.path != DevicePath::none) return evaluate_path(node);
  if (!stopped_.empty()) return stopped_error();
  switch (node.kind) {
    case NodeKind::literal:
      return node.value;
    case NodeKind::identifier:
    case NodeKind::select:
    case NodeKind::index:
    case NodeKind::conditional:
      return evaluate_chain(node);
    case NodeKind::logic_and:
    case NodeKind::logic_or:
      return evaluate_logic(node);
    case NodeKind::call:
      return evaluate_call(node);
    case NodeKind::list:
      return evaluate_list(node);
    case NodeKind::map:
      return evaluate_map(node);
    case NodeKind::message:
      return evaluate_message(node);
    case NodeKind::macro:
      return evaluate_macro(node);
  }
  return of_error(k_no_such_overload);
}

// --- chains of selections -------------------------------------------------------------------------------------------

/// The same as evaluate_chain, at once.
Value Evaluation::evaluate_path(const Node& node) {
  if (!stopped_.empty()) return stopped_error();
  const DeviceData& device = *device_;
  const auto steps = [&](std::uint64_t count, const Value& value) {
    return charge_steps(count) ? value : stopped_error();
  };
  bool capacity = false;
  switch (node.path) {
    case DevicePath::none:
      break;
    case DevicePath::device:
      return steps(1, slots_[0]);
    case DevicePath::driver:
      return steps(2, device.driver);
    case DevicePath::attributes:
      return steps(2, device.attributes);
    case DevicePath::capacity:
      return steps(2, device.capacity);
    case DevicePath::capacity_domain:
    case DevicePath::amount:
      capacity = true;
      break;
    case DevicePath::attribute_domain:
    case DevicePath::attribute:
      break;
  }
  const MapData* values = &empty_map();
  if (const Value* domain = find_tagged(*(capacity ? device.capacity : device.attributes).map, node.domain_key))
    values = domain->map;
  if (node.path == DevicePath::attribute_domain || node.path == DevicePath::capacity_domain)
    return steps(3, of_map(values));
  if (!charge_steps(4)) return stopped_error();
  const Value* found = find_tagged(*values, node.last_key);
  return found == nullptr ? no_such_key(node.last_key) : *found;
}

Value Evaluation::evaluate_chain(const Node& node) {
  if (node.kind == NodeKind::conditional) return resolve_branch(node);
  const Resolved resolved = resolve(node);
  if (node.presence) {
    // A presence test is free but for the steps to it; after a conditional, cel-go takes back what it never charged.
    if (node.conditional_root && cost_ != 0) --cost_;
    return resolved.absent ? of_bool(false) : resolved.value;
  }
  if (!node.conditional_root && !charge(1)) return stopped_error();
  return finish(resolved);
}

Value Evaluation::finish(const Resolved& resolved) {
  if (resolved.absent) return of_optional(nullptr);
  return resolved.optional ? wrap(resolved.value) : resolved.value;
}

Value Evaluation::resolve_branch(const Node& conditional) {
  const Value condition = evaluate(*conditional.operands[0]);
  if (condition.is_error()) return condition;
  if (!condition.is(Kind::boolean)) return of_error(k_no_such_overload);
  const Node& branch = *conditional.operands[condition.is_true() ? 1 : 2];
  return is_chain(branch) && !branch.presence ? finish(resolve(branch)) : evaluate(branch);
}

Value Evaluation::resolve_key(const Node& key) {
  return is_chain(key) && !key.presence ? finish(resolve(key)) : evaluate(key);
}

Evaluation::Resolved Evaluation::resolve(const Node& node) {
  Resolved base;
  if (node.kind == NodeKind::identifier) {
    base.value = slots_[node.slot];
    return base;
  }
  if (node.kind == NodeKind::conditional) {
    base.value = resolve_branch(node);
    return base;
  }
  const Node& operand = *node.operands[0];
  if (is_chain(operand))
    base = resolve(operand);
  else
    base.value = evaluate(operand);
  if (base.absent || base.value.is_error()) return base;
  if (base.value.is(Kind::optional)) {
    base.optional = true;
    base.absent = base.value.inner == nullptr;
    if (base.absent) return base;
    base.value = *base.value.inner;
  }
  const Value key = node.kind == NodeKind::select ? of_text(node.text) : resolve_key(*node.operands[1]);
  if (node.presence) {
    base.value = of_bool(is_present(base.value, key));
    base.optional = false;
    charge(1);
    return base;
  }
  base.optional = base.optional || node.optional;
  if (key.is_error())
    base.value = key;
  else
    base.value = select_from(base.value, key, base.optional, base.absent);
  if (!base.absent && !charge(1)) base.value = stopped_error();
  return base;
}

Value Evaluation::select_from(const Value& object, const Value& key, bool optional, bool& absent) {
  switch (object.kind) {
    case Kind::map: {
      if (!is_hashable(key)) {
        stop(Stop::panic);
        return stopped_error();
      }
      if (const Value* found = find(*object.map, key, work_)) return *found;
      if (object.map->unknown_is_empty) return of_map(&empty_map());
      break;
    }
    case Kind::list: {
      std::int64_t index = 0;
      if (!index_of(key, index)) return of_error("unsupported index type in list");
      if (index >= 0 && index < static_cast<std::int64_t>(object.size)) return object.items[index];
      if (!optional) return error_of("index out of bounds: " + std::to_string(index));
      break;
    }
    case Kind::device:
      return select_from_device(*object.device, key, optional, absent);
    default:
      break;
  }
  absent = optional;
  return optional ? Value{} : no_such_key(key);
}

Value Evaluation::select_from_device(const DeviceData& device, const Value& key, bool optional, bool& absent) {
  if (key.is(Kind::string)) {
    // The lengths tell the names apart.
    const std::string_view name = key.text();
    if (name.size() == 10 && name == "attributes") return device.attributes;
    if (name.size() == 8 && name == "capacity") return device.capacity;
    if (name.size() == 6 && name == "driver") return device.driver;
    if (name.size() == 24 && name == "allowMultipleAllocations") return device.allow_multiple_allocations;
  }
  absent = optional;
  return optional ? Value{} : no_such_key(key);
}

bool Evaluation::is_present(const Value& object, const Value& key) {
  if (object.is(Kind::map)) return object.map->unknown_is_empty || find(*object.map, key, work_) != nullptr;
  if (!object.is(Kind::device)) return false;
  bool absent = false;
  select_from_device(*object.device, key, true, absent);
  return !absent;
}

// --- operators and calls --------------------------------------------------------------------------------------------

Value Evaluation::evaluate_logic(const Node& node) {
  const bool decides = node.kind == NodeKind::logic_or;
  Value failure;
  // Operands that are constant cost nothing.
  if (!work_.take(node.operands.size()) && !may_go_on()) return stopped_error();
  for (const Node* operand : node.operands) {
    const Value value = evaluate(*operand);
    if (!stopped_.empty()) return stopped_error();
    if (value.is(Kind::boolean)) {
      if (value.is_true() == decides) return value;
    } else if (!failure.is_error()) {
      failure = value.is_error() ? value : of_error(k_no_such_overload);
    }
  }
  return failure.is_error() ? failure : of_bool(!decides);
}

Value Evaluation::evaluate_call(const Node& node) {
  switch (node.special) {
    case Special::none:
      break;
    case Special::cached:
      return charge(node.slot) ? node.value : stopped_error();
    case Special::membership:
      return evaluate_membership(node);
    case Special::or_else:
    case Special::or_value:
      return evaluate_or(node);
    case Special::equal:
    case Special::not_equal:
      return evaluate_equality(node);
  }
  if (node.operands.size() > 2) {
    Value args[k_args_max];
    return run_call(node, args);
  }
  Value args[2];
  return run_call(node, args);
}

Value Evaluation::run_call(const Node& node, Value* args) {
  const std::size_t count = node.operands.size();
  Value failure;
  for (std::size_t i = 0; i < count; ++i) {
    args[i] = evaluate(*node.operands[i]);
    if (args[i].is_error() && !failure.is_error()) failure = args[i];
    if (failure.is_error() && node.stops_at_error && i + 1 < count) return stopped_.empty() ? failure : stopped_error();
    if (args[i].is_text()) work_.take(args[i].size / k_bytes_of_step);
  }
  if (!stopped_.empty() || (work_.is_over() && !may_go_on())) return stopped_error();
  const Value result = failure.is_error() ? failure : dispatch(node, args, count);
  if (work_.panicked && !may_go_on()) return stopped_error();
  if (!charge(call_cost(static_cast<CostRule>(node.cost_rule), args, count, result)) || !may_go_on())
    return stopped_error();
  return result;
}

Value Evaluation::dispatch(const Node& node, const Value* args, std::size_t count) {
  for (const Overload* const* overload = node.overloads; *overload != nullptr; ++overload)
    if (accepts(**overload, args)) return (*overload)->run(call_of(node, args, count));
  return no_overload(node, args, count);
}

Value Evaluation::no_overload(const Node& node, const Value* args, std::size_t count) {
  const std::string_view name = node.text;
  if (name.front() == '_' || name == "!_" || name == "-_" || name == "@in" || name == "contains" ||
      name == "startsWith" || name == "endsWith" || name == "matches")
    return of_error(k_no_such_overload);
  if (name == "size") return of_error("no such overload: size");
  std::string text = "no such overload: " + std::string(name) + '(';
  for (std::size_t i = 0; i < count; ++i) text.append(i == 0 ? "" : ", ").append(type_name(args[i]));
  return error_of(text + ')');
}

Value Evaluation::evaluate_equality(const Node& node) {
  const Value args[] = {evaluate(*node.operands[0]), evaluate(*node.operands[1])};
  if (!stopped_.empty()) return stopped_error();
  Value result = args[0].is_error() ? args[0] : args[1].is_error() ? args[1] : equal(args[0], args[1], work_);
  if (node.special == Special::not_equal && !args[0].is_error() && !args[1].is_error())
    result = of_bool(!result.is_true());
  // Texts of one to ten bytes have one to ten code points: no need to count.
  const bool short_text = args[0].is(Kind::string) && args[1].is(Kind::string) && args[0].size != 0 &&
                          args[1].size != 0 && (args[0].size <= 10 || args[1].size <= 10);
  const std::uint64_t cost = short_text ? 1 : call_cost(static_cast<CostRule>(node.cost_rule), args, 2, result);
  return charge(cost) && (!work_.is_over() || may_go_on()) ? result : stopped_error();
}

/// A constant list is a hash set, upstream: costs nothing, but what cannot be hashed fails.
Value Evaluation::evaluate_membership(const Node& node) {
  const Value list = node.operands[1]->value;
  if (list.size == 0) return of_bool(false);
  const Value wanted = evaluate(*node.operands[0]);
  if (wanted.is_error()) return wanted;
  if (!is_hashable(wanted)) {
    stop(Stop::panic);
    return stopped_error();
  }
  for (std::uint32_t i = 0; i < list.size; ++i)
    if (equal(list.items[i], wanted, work_).is_true()) return of_bool(true);
  return may_go_on() ? of_bool(false) : stopped_error();
}

Value Evaluation::evaluate_or(const Node& node) {
  const Value target = evaluate(*node.operands[0]);
  if (target.is_error()) return target;
  if (!target.is(Kind::optional)) return no_overload(node, &target, 1);
  const bool unwraps = node.special == Special::or_value;
  if (target.inner != nullptr) return unwraps ? *target.inner : target;
  const Value other = evaluate(*node.operands[1]);
  if (unwraps || other.is_error() || other.is(Kind::optional)) return other;
  return no_overload(node, &other, 1);
}

// --- literals -------------------------------------------------------------------------------------------------------

Value Evaluation::evaluate_list(const Node& node) {
  std::vector<Value> items;
  Value failure;
  if (!work_.take(2 * node.operands.size()) && !may_go_on()) return stopped_error();
  for (std::size_t i = 0; i < node.operands.size() && !failure.is_error(); ++i) {
    Value item = evaluate(*node.operands[i]);
    if (node.optional_operands[i] && !item.is_error()) {
      if (!item.is(Kind::optional))
        item = of_error(k_no_such_overload);
      else if (item.inner == nullptr)
        continue;
      else
        item = *item.inner;
    }
    if (item.is_error()) failure = item;
    items.push_back(item);
  }
  if (!charge(k_list_cost)) return stopped_error();
  return failure.is_error() ? failure : keep_list(items);
}

Value Evaluation::evaluate_map(const Node& node) {
  std::vector<MapEntry> entries;
  Value failure;
  if (!work_.take(2 * node.operands.size()) && !may_go_on()) return stopped_error();
  for (std::size_t i = 0; i < node.operands.size() && !failure.is_error(); i += 2) {
    const Value key = evaluate(*node.operands[i]);
    if (!is_hashable(key)) stop(Stop::panic);
    Value value = key.is_error() ? key : evaluate(*node.operands[i + 1]);
    if (node.optional_operands[i / 2] && !value.is_error()) {
      if (!value.is(Kind::optional))
        value = of_error(k_no_such_overload);
      else if (value.inner == nullptr)
        continue;
      else
        value = *value.inner;
    }
    if (value.is_error()) failure = value;
    const MapData so_far{entries.data(), static_cast<std::uint32_t>(entries.size()), false};
    if (find(so_far, key, work_) == nullptr) {
      entries.push_back({key, value});
      continue;
    }
    // Of several entries with one key the last one holds.
    for (MapEntry& entry : entries)
      if (equal(entry.key, key, work_).is_true()) entry.value = value;
  }
  if (!charge(k_map_cost) || !may_go_on()) return stopped_error();
  return failure.is_error() ? failure : keep_map(entries);
}

Value Evaluation::evaluate_message(const Node& node) {
  Value value = of_error("unknown type 'kubernetes.DRADevice'");
  for (const Node* operand : node.operands) {
    const Value field = evaluate(*operand);
    if (node.text != "kubernetes.DRADevice") value = field;
  }
  return charge(k_message_cost) ? value : stopped_error();
}

}  // namespace berth::cel
