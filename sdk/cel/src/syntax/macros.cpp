// SPDX-License-Identifier: Apache-2.0
/// Which calls are macros, by name, style and number of arguments.
#include "syntax/parser.hpp"

namespace berth::cel {
namespace {

struct Rule {
  std::string_view name;
  std::uint8_t arguments;
  std::uint8_t variables;
  Macro macro;
};

/// Methods. `map` with three arguments has a filter before the step.
constexpr Rule k_rules[] = {
    {"all", 2, 1, Macro::all},
    {"all", 3, 2, Macro::all},
    {"exists", 2, 1, Macro::exists},
    {"exists", 3, 2, Macro::exists},
    {"exists_one", 2, 1, Macro::exists_one},
    {"existsOne", 3, 2, Macro::exists_one},
    {"exists_one", 3, 2, Macro::exists_one},
    {"map", 2, 1, Macro::map},
    {"map", 3, 1, Macro::map},
    {"filter", 2, 1, Macro::filter},
    {"transformList", 3, 2, Macro::transform_list},
    {"transformList", 4, 2, Macro::transform_list},
    {"transformMap", 3, 2, Macro::transform_map},
    {"transformMap", 4, 2, Macro::transform_map},
    {"transformMapEntry", 3, 2, Macro::transform_map_entry},
    {"transformMapEntry", 4, 2, Macro::transform_map_entry},
    {"optMap", 2, 1, Macro::opt_map},
    {"optFlatMap", 2, 1, Macro::opt_flat_map},
    {"sortBy", 2, 1, Macro::sort_by},
};

SyntaxError make_presence_test(Node& call) {
  Node& argument = *call.operands[0];
  if (argument.kind != NodeKind::select || argument.optional) return {call.offset, "invalid argument to has() macro"};
  const std::uint16_t height = call.height;
  call = Node(argument);
  call.height = height;
  call.presence = true;
  return {};
}

/// Makes operands[first …] the names of variables.
SyntaxError take_variables(Node& call, std::size_t first, std::size_t count, std::string_view message) {
  for (std::size_t i = first; i < first + count; ++i) {
    const Node& name = *call.operands[i];
    if (name.kind != NodeKind::identifier || name.absolute) return {name.offset, message};
    for (const std::string_view other : call.variables)
      if (other == name.text) return {name.offset, "duplicate variable name"};
    call.variables.push_back(name.text);
  }
  call.operands.erase(call.operands.begin() + static_cast<std::ptrdiff_t>(first),
                      call.operands.begin() + static_cast<std::ptrdiff_t>(first + count));
  return {};
}

}  // namespace

SyntaxError expand_macro(Node& call, Arena&) {
  if (!call.is_method)
    return call.text == "has" && call.operands.size() == 1 ? make_presence_test(call) : SyntaxError{};
  const Node& target = *call.operands[0];
  if (target.kind == NodeKind::identifier && target.text == "cel" && call.text == "bind" && call.operands.size() == 4) {
    call.operands.erase(call.operands.begin());
    if (SyntaxError wrong = take_variables(call, 0, 1, "cel.bind() variable names must be simple identifiers");
        !wrong.message.empty())
      return wrong;
    call.kind = NodeKind::macro;
    call.macro = Macro::bind;
    return {};
  }
  for (const Rule& rule : k_rules) {
    if (rule.name != call.text || rule.arguments + 1u != call.operands.size()) continue;
    if (SyntaxError wrong = take_variables(call, 1, rule.variables, "argument must be a simple name");
        !wrong.message.empty())
      return wrong;
    const Node& step = *call.operands.back();
    if (rule.macro == Macro::transform_map_entry && (step.kind != NodeKind::map || step.operands.size() != 2))
      return {step.offset, "argument must be a map literal with one entry"};
    call.kind = NodeKind::macro;
    call.macro = rule.macro;
    return {};
  }
  return {};
}

}  // namespace berth::cel
