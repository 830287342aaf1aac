// SPDX-License-Identifier: Apache-2.0
/// One walk over a compiled expression.
#pragma once
#include "compiled_expression.hpp"

namespace berth::cel {

class Evaluation {
 public:
  /// A unit of cost is some twenty nanoseconds.
  static constexpr std::uint64_t k_steps_of_cost = 4;

  /// `device` may be null while constants are folded.
  Evaluation(const Limits& limits, const DeviceData* device, Arena& arena, RegexCache& regexes, Value* slots)
      : limits_(limits), device_(device), arena_(arena), regexes_(regexes), slots_(slots) {
    work_.left = limits.steps;
    work_.interrupted = limits.interrupted;
    work_.context = limits.context;
  }

  Value evaluate(const Node& node);
  /// Runs the overload that takes `args`, of which none is an error.
  Value dispatch(const Node& node, const Value* args, std::size_t count);

  std::uint64_t cost() const { return cost_; }
  /// Why the evaluation was given up; empty: it was not.
  std::string_view stopped() const { return stopped_; }
  Stop stop_kind() const { return stop_; }
  /// What it took, of its cost included.
  std::uint64_t steps() const { return limits_.steps - work_.left + k_steps_of_cost * cost_; }
  Work& work() { return work_; }

 private:
  /// What a chain of selections and indices has come to.
  struct Resolved {
    Value value;
    bool optional = false;  ///< some step was optional: the end is an optional
    bool absent = false;    ///< an optional step found nothing
  };

  bool charge(std::uint64_t cost) {
    if (!stopped_.empty()) return false;
    cost_ += cost;
    return cost_ <= limits_.cost || stop(Stop::cost);
  }
  /// Several steps of one each.
  bool charge_steps(std::uint64_t steps) {
    if (cost_ + steps <= limits_.cost) return cost_ += steps, true;
    bool good = true;
    while (good && steps-- != 0) good = charge(1);
    return good;
  }
  bool stop(Stop why) {
    if (!stopped_.empty()) return false;
    stop_ = why;
    stopped_ = text_of(why);
    return false;
  }
  Value stopped_error() const { return of_error(stopped_); }
  /// Looks whether memory or steps have run out.
  bool may_go_on();

  Value evaluate_path(const Node& node);
  Value evaluate_chain(const Node& node);
  Resolved resolve(const Node& node);
  Value resolve_branch(const Node& conditional);
  Value finish(const Resolved& resolved);
  Value resolve_key(const Node& key);
  static bool is_chain(const Node& node) {
    return !node.constant && (node.kind == NodeKind::identifier || node.kind == NodeKind::select ||
                              node.kind == NodeKind::index || node.kind == NodeKind::conditional);
  }
  Value select_from(const Value& object, const Value& key, bool optional, bool& absent);
  Value select_from_device(const DeviceData& device, const Value& key, bool optional, bool& absent);
  bool is_present(const Value& object, const Value& key);

  Value evaluate_logic(const Node& node);
  Value evaluate_call(const Node& node);
  Value run_call(const Node& node, Value* args);
  Value evaluate_equality(const Node& node);
  Value evaluate_membership(const Node& node);
  Value evaluate_or(const Node& node);
  Value evaluate_list(const Node& node);
  Value evaluate_map(const Node& node);
  Value evaluate_message(const Node& node);

  Value evaluate_macro(const Node& node);
  Value evaluate_optional_macro(const Node& node);
  Value evaluate_sort(const Node& node);
  class Loop;
  Value run_quantifier(const Node& node, Loop& loop);
  Value run_count(const Node& node, Loop& loop);
  Value run_list(const Node& node, Loop& loop);
  Value run_map(const Node& node, Loop& loop);
  bool passes(const Node& condition, Value& failure);
  bool interrupted();

  Value no_such_key(const Value& key);
  Value no_overload(const Node& node, const Value* args, std::size_t count);
  Value keep_list(const std::vector<Value>& items);
  Value keep_map(const std::vector<MapEntry>& entries);
  Value wrap(const Value& value);
  Value error_of(std::string_view text);
  Call call_of(const Node& node, const Value* args, std::size_t count) {
    return {args, count, arena_, work_, regexes_, node.regex};
  }

  const Limits& limits_;
  const DeviceData* device_;
  Arena& arena_;
  RegexCache& regexes_;
  Value* slots_;
  Work work_;
  std::uint64_t cost_ = 0;
  std::uint32_t iterations_ = 0;
  Stop stop_ = Stop::none;
  std::string_view stopped_;  // text of stop_
};

/// Sorts `list` by `keys`, of the same size; an error if they have no order among each other.
Value sorted_by(const Value& list, const Value& keys, const Call& call);

}  // namespace berth::cel
