// SPDX-License-Identifier: Apache-2.0
/// Types of expressions, by the rules of cel-go's checker. Macros are checked as what they would expand to.
#include "checker.hpp"

#include <algorithm>
#include <string>

namespace berth::cel {
namespace {

struct Variable {
  std::string_view name;
  const Type* type;
  std::uint32_t slot;
};

class Checker {
 public:
  Checker(Tree& tree, Checked& checked, Arena& arena)
      : tree_(tree), checked_(checked), types_(checked.types), arena_(arena) {
    const Type* string = named_type("string");
    attributes_ = types_.make_map(string, types_.make_map(string, named_type("any")));
    capacity_ = types_.make_map(string, types_.make_map(string, named_type("kubernetes.Quantity")));
    variables_.push_back({"device", named_type("kubernetes.DRADevice"), 0});
  }

  SyntaxError run() {
    visit(*tree_.root);
    for (Node& node : tree_.nodes)
      if (node.type != nullptr) node.type = types_.substitute(node.type, true);
    if (types_.exhausted()) fail(*tree_.root, "types of the expression are too large");
    if (error_.message.empty()) require_one_type(*tree_.root, false);
    if (error_.message.empty() && tree_.root->type->kind != TypeKind::boolean &&
        tree_.root->type->kind != TypeKind::any)
      fail(*tree_.root, "must evaluate to bool or the unknown type, not " + type_text(*tree_.root->type));
    return error_;
  }

 private:
  const Type* fail(const Node& node, const std::string& message) {
    if (error_.message.empty()) {
      const std::string_view kept = arena_.copy(message);
      error_ = {node.offset, kept.empty() ? "expression is too large" : kept};
    }
    return named_type("error");
  }
  const Type* fail_type(const Node& node, const Type* expected) {
    return fail(node, "expected type '" + type_text(*expected) + "' but found '" +
                          type_text(*types_.substitute(node.type, true)) + "'");
  }

  const Type* visit(Node& node) {
    if (types_.exhausted()) return node.type = named_type("error");
    switch (node.kind) {
      case NodeKind::literal:
        return node.type = type_of_literal(node.value);
      case NodeKind::identifier:
        return node.type = visit_identifier(node);
      case NodeKind::select:
        return node.type = visit_select(node);
      case NodeKind::index:
        return node.type = visit_operator(node, node.optional ? "_[?_]" : "_[_]");
      case NodeKind::logic_and:
      case NodeKind::logic_or:
        return node.type = visit_logic(node);
      case NodeKind::conditional:
        return node.type = visit_operator(node, "_?_:_");
      case NodeKind::call:
        return node.type = visit_call(node);
      case NodeKind::list:
        return node.type = visit_list(node);
      case NodeKind::map:
        return node.type = visit_map(node);
      case NodeKind::message:
        return node.type = visit_message(node);
      case NodeKind::macro:
        return node.type = visit_macro(node);
    }
    return node.type;
  }

  static const Type* type_of_literal(const Value& value) { return named_type(type_name(value)); }

  const Type* visit_identifier(Node& node) {
    if (!node.absolute) {
      for (auto variable = variables_.rbegin(); variable != variables_.rend(); ++variable) {
        if (variable->name != node.text) continue;
        node.slot = variable->slot;
        return variable->type;
      }
    } else if (node.text == "device") {
      return variables_.front().type;
    }
    if (const Type* type = type_called(node.text)) return make_type_literal(node, node.text, type);
    return fail(node, "undeclared reference to '" + std::string(node.text) + "' (in container '')");
  }

  const Type* type_called(std::string_view name) {
    if (name == "list") return types_.make_list(named_type("dyn"));
    if (name == "map") return types_.make_map(named_type("dyn"), named_type("dyn"));
    if (name == "optional_type") return types_.make_optional(named_type("dyn"));
    if (name == "dyn" || name == "any" || name == "error") return nullptr;
    return named_type(name);
  }

  const Type* make_type_literal(Node& node, std::string_view name, const Type* type) {
    node.kind = NodeKind::literal;
    node.value = of_text(name, Kind::type);
    node.constant = true;
    node.operands.clear();
    return types_.make_type_of(type);
  }

  /// `a.b.c` of plain names; empty for anything else.
  static std::string dotted(const Node& node) {
    if (node.kind == NodeKind::identifier) return std::string(node.text);
    if (node.kind != NodeKind::select || node.optional || node.presence) return {};
    std::string prefix = dotted(*node.operands[0]);
    return prefix.empty() ? prefix : prefix.append(".").append(node.text);
  }

  const Type* visit_select(Node& node) {
    if (!node.presence && !node.optional && node.operands[0]->kind != NodeKind::call) {
      const std::string name = dotted(node);
      if (const Type* type = name.empty() ? nullptr : type_called(name))
        return make_type_literal(node, arena_.copy(name), type);
    }
    visit(*node.operands[0]);
    const Type* operand = types_.substitute(node.operands[0]->type, false);
    const bool unwraps = is_optional(*operand);
    if (unwraps) operand = operand->params[0];
    const Type* field = field_type(node, operand);
    if (node.presence) return named_type("bool");
    return unwraps || node.optional ? types_.make_optional(field) : field;
  }

  const Type* field_type(const Node& node, const Type* operand) {
    switch (operand->kind) {
      case TypeKind::map:
        return operand->params[1];
      case TypeKind::variable:
        types_.assign(named_type("dyn"), operand);
        return named_type("dyn");
      case TypeKind::dyn:
      case TypeKind::any:
      case TypeKind::error:
        return named_type("dyn");
      case TypeKind::object:
        if (node.text == "driver") return named_type("string");
        if (node.text == "allowMultipleAllocations") return named_type("bool");
        if (node.text == "attributes") return attributes_;
        if (node.text == "capacity") return capacity_;
        return fail(node, "undefined field '" + std::string(node.text) + "'");
      default:
        return fail(node, "type '" + type_text(*operand) + "' does not support field selection");
    }
  }

  const Type* visit_operator(Node& node, std::string_view name) {
    for (Node* operand : node.operands) visit(*operand);
    return resolve(node, *find_function(name));
  }

  const Type* visit_logic(Node& node) {
    for (Node* operand : node.operands) {
      visit(*operand);
      expect_bool(*operand);
    }
    return named_type("bool");
  }

  void expect_bool(const Node& node) {
    if (!types_.assign(node.type, named_type("bool"))) fail_type(node, named_type("bool"));
  }

  const Type* visit_call(Node& node) {
    const Function* function = find_function(node.text);
    if (node.is_method) {
      if (const std::string prefix = dotted(*node.operands[0]); !prefix.empty()) {
        if (const Function* qualified = find_function(prefix + '.' + std::string(node.text))) {
          node.text = qualified->name;
          node.is_method = false;
          node.operands.erase(node.operands.begin());
          function = qualified;
        }
      }
    }
    for (Node* operand : node.operands) visit(*operand);
    if (function == nullptr)
      return fail(node, "undeclared reference to '" + std::string(node.text) + "' (in container '')");
    return resolve(node, *function);
  }

  /// Which overloads the operands' types allow. One: its result and its cost; several: dyn, unless they agree.
  const Type* resolve(Node& node, const Function& function) {
    std::vector<const Type*> args;
    for (const Node* operand : node.operands) args.push_back(operand->type);
    const Type* result = nullptr;
    std::vector<const Overload*>& candidates = checked_.candidates.emplace_back();
    CostRule rule = CostRule::one;
    int matches = 0;
    for (const Overload* overload : function.overloads) {
      if (overload->is_method != node.is_method || overload->args.size() != args.size()) continue;
      candidates.push_back(overload);
      std::vector<const Type*> fresh;
      for (std::uint32_t i = 0; i < overload->variables; ++i) fresh.push_back(types_.make_variable());
      std::vector<const Type*> expected;
      for (const Type* arg : overload->args) expected.push_back(types_.instantiate(arg, fresh));
      if (!types_.assign_all(args, expected)) continue;
      ++matches;
      const Type* found = types_.substitute(types_.instantiate(overload->result, fresh), false);
      if (result == nullptr) {
        result = found;
        rule = overload->cost;
      } else {
        if (rule != overload->cost) rule = CostRule::one;
        if (!is_dynamic(*result) && !same_type(*found, *result)) result = named_type("dyn");
      }
    }
    candidates.push_back(nullptr);
    node.overloads = candidates.data();
    node.cost_rule = static_cast<std::uint8_t>(rule);
    node.stops_at_error = args.size() > 2 || (matches > 1 && !is_singleton(function.name));
    return result != nullptr ? result : fail_overload(node, function.name, args);
  }

  /// What cel-go implements by one function for all overloads. The others, called with values of unknown type, look for the
  /// overload when called, and then do not even evaluate what follows a failed argument.
  static bool is_singleton(std::string_view name) {
    static constexpr std::string_view k_names[] = {"size",  "int",  "uint",     "double",    "string", "bool",
                                                   "bytes", "type", "duration", "timestamp", "dyn"};
    const bool is_operator = name.find('_') == 0 || name.find("@") == 0 || name == "!_" || name == "-_";
    return is_operator || std::find(std::begin(k_names), std::end(k_names), name) != std::end(k_names);
  }

  const Type* fail_overload(const Node& node, std::string_view name, const std::vector<const Type*>& args) {
    std::string text = "found no matching overload for '" + std::string(name) + "' applied to '";
    std::size_t first = 0;
    if (node.is_method) text += type_text(*types_.substitute(args[first++], true)) + '.';
    text += '(';
    for (std::size_t i = first; i < args.size(); ++i)
      text += (i == first ? "" : ", ") + type_text(*types_.substitute(args[i], true));
    return fail(node, text + ")'");
  }

  const Type* join(const Type* before, const Type* next) {
    if (before == nullptr) return next;
    return types_.assign(before, next) ? Types::most_general(before, next) : named_type("dyn");
  }

  /// Type of an element, of which `?e` unwraps an optional.
  const Type* element_type(const Node& element, bool optional) {
    if (!optional) return element.type;
    const Type* type = types_.substitute(element.type, false);
    if (is_optional(*type)) return type->params[0];
    if (!is_dynamic(*type)) fail_type(element, types_.make_optional(type));
    return type;
  }

  const Type* visit_list(Node& node) {
    const Type* item = nullptr;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      visit(*node.operands[i]);
      item = join(item, element_type(*node.operands[i], node.optional_operands[i]));
    }
    return types_.make_list(item != nullptr ? item : types_.make_variable());
  }

  const Type* visit_map(Node& node) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (std::size_t i = 0; i < node.operands.size(); i += 2) {
      key = join(key, visit(*node.operands[i]));
      visit(*node.operands[i + 1]);
      value = join(value, element_type(*node.operands[i + 1], node.optional_operands[i / 2]));
    }
    if (key == nullptr) return types_.make_map(types_.make_variable(), types_.make_variable());
    return types_.make_map(key, value);
  }

  /// Only the device's own type, which cannot be made when evaluated, and protobuf's wrappers.
  const Type* visit_message(Node& node) {
    for (Node* operand : node.operands) visit(*operand);
    if (node.text == "kubernetes.DRADevice") {
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        Node field;
        field.text = node.variables[i];
        const Type* type = field_type(field, named_type("kubernetes.DRADevice"));
        if (!types_.assign(node.operands[i]->type, type)) fail_type(*node.operands[i], type);
      }
      return named_type("kubernetes.DRADevice");
    }
    static constexpr std::pair<std::string_view, std::string_view> k_wrappers[] = {
        {"google.protobuf.BoolValue", "bool"},     {"google.protobuf.BytesValue", "bytes"},
        {"google.protobuf.DoubleValue", "double"}, {"google.protobuf.FloatValue", "double"},
        {"google.protobuf.Int32Value", "int"},     {"google.protobuf.Int64Value", "int"},
        {"google.protobuf.StringValue", "string"}, {"google.protobuf.UInt32Value", "uint"},
        {"google.protobuf.UInt64Value", "uint"}};
    for (const auto& [name, inner] : k_wrappers) {
      if (name != node.text) continue;
      if (node.operands.size() != 1 || node.variables[0] != "value" || node.optional_operands[0])
        return fail(node, "a wrapper is made of its field 'value' alone here");
      if (!types_.assign(node.operands[0]->type, named_type(inner))) fail_type(*node.operands[0], named_type(inner));
      return named_type(inner);
    }
    return fail(node, "undeclared reference to '" + std::string(node.text) + "' (in container '')");
  }

  // --- macros -------------------------------------------------------------------------------------------------------

  std::uint32_t declare(std::string_view name, const Type* type) {
    variables_.push_back({name, type, checked_.slots});
    return checked_.slots++;
  }

  const Type* visit_macro(Node& node) {
    visit(*node.operands[0]);
    const std::size_t outer = variables_.size();
    const Type* type = nullptr;
    switch (node.macro) {
      case Macro::bind:
        node.slot = declare(node.variables[0], node.operands[0]->type);
        type = visit(*node.operands[1]);
        break;
      case Macro::opt_map:
      case Macro::opt_flat_map:
        type = visit_optional_macro(node);
        break;
      default:
        type = visit_loop(node);
        break;
    }
    variables_.resize(outer);
    return type;
  }

  const Type* visit_optional_macro(Node& node) {
    const Type* inner = types_.make_variable();
    if (!types_.assign(node.operands[0]->type, types_.make_optional(inner)))
      return fail(node, "found no matching overload for 'hasValue' applied to '" +
                            type_text(*types_.substitute(node.operands[0]->type, true)) + ".()'");
    node.slot = declare(node.variables[0], types_.substitute(inner, false));
    const Type* step = visit(*node.operands[1]);
    if (node.macro == Macro::opt_map) return types_.make_optional(step);
    if (!types_.assign(step, types_.make_optional(types_.make_variable())))
      return fail_type(*node.operands[1], types_.make_optional(named_type("dyn")));
    return step;
  }

  const Type* visit_loop(Node& node) {
    const Type* range = types_.substitute(node.operands[0]->type, false);
    const Type* first = named_type("dyn");
    const Type* second = named_type("dyn");
    switch (range->kind) {
      case TypeKind::list:
        first = second = range->params[0];
        if (node.variables.size() == 2) first = named_type("int");
        break;
      case TypeKind::map:
        first = range->params[0];
        second = range->params[1];
        break;
      case TypeKind::variable:
        types_.assign(named_type("dyn"), range);
        break;
      case TypeKind::dyn:
      case TypeKind::error:
        break;
      default:
        return fail(*node.operands[0], "expression of type '" + type_text(*types_.substitute(range, true)) +
                                           "' cannot be range of a comprehension (must be list, map, or dynamic)");
    }
    node.slot = declare(node.variables[0], first);
    if (node.variables.size() == 2) declare(node.variables[1], second);
    for (std::size_t i = 1; i < node.operands.size(); ++i) visit(*node.operands[i]);
    const bool filters = node.operands.size() == 3 || node.macro == Macro::filter;
    if (filters) expect_bool(*node.operands[1]);
    const Node& step = *node.operands.back();
    switch (node.macro) {
      case Macro::filter:
        return types_.make_list(first);
      case Macro::map:
      case Macro::transform_list:
        return types_.make_list(step.type);
      case Macro::transform_map:
        return types_.make_map(node.variables.size() == 2 && range->kind == TypeKind::list ? named_type("int") : first,
                               step.type);
      case Macro::transform_map_entry:
        return step.type;
      case Macro::sort_by:
        return check_sort_key(node, range, step);
      default:
        expect_bool(step);
        return named_type("bool");
    }
  }

  const Type* check_sort_key(const Node& node, const Type* range, const Node& key) {
    if (range->kind == TypeKind::map) return fail(node, "sortBy can only be applied to a list, not to a map");
    const Type* type = types_.substitute(key.type, false);
    switch (type->kind) {
      case TypeKind::dyn:
      case TypeKind::any:
      case TypeKind::variable:
      case TypeKind::boolean:
      case TypeKind::integer:
      case TypeKind::uinteger:
      case TypeKind::real:
      case TypeKind::string:
      case TypeKind::bytes:
      case TypeKind::duration:
      case TypeKind::timestamp:
        return range;
      default:
        return fail(key, "found no matching overload for '@sortByAssociatedKeys': keys cannot be ordered");
    }
  }

  // --- after the types are known ------------------------------------------------------------------------------------

  /// Elements of a list have one type, keys of a map and its values too; only arguments of format() are exempt.
  void require_one_type(const Node& node, bool exempt) {
    if (node.kind == NodeKind::call && node.text == "format") exempt = true;
    if (!exempt && node.kind == NodeKind::list) require_one_type_of(node, 0, 1);
    if (!exempt && node.kind == NodeKind::map) {
      require_one_type_of(node, 0, 2);
      require_one_type_of(node, 1, 2);
    }
    for (const Node* operand : node.operands) require_one_type(*operand, exempt);
  }

  void require_one_type_of(const Node& node, std::size_t first, std::size_t step) {
    const Type* expected = nullptr;
    for (std::size_t i = first; i < node.operands.size(); i += step) {
      const Type* type = node.operands[i]->type;
      const bool may_be_optional = step == 1 || first == 1;
      if (may_be_optional && node.optional_operands[i / step] && is_optional(*type)) type = type->params[0];
      if (expected == nullptr) expected = type;
      if (!same_type(*expected, *type)) {
        fail_type(*node.operands[i], expected);
        return;
      }
    }
  }

  Tree& tree_;
  Checked& checked_;
  Types& types_;
  Arena& arena_;
  const Type* attributes_ = nullptr;
  const Type* capacity_ = nullptr;
  std::vector<Variable> variables_;
  SyntaxError error_;
};

}  // namespace

SyntaxError check(Tree& tree, Checked& checked, Arena& arena) { return Checker(tree, checked, arena).run(); }

}  // namespace berth::cel
