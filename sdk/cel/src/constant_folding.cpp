// SPDX-License-Identifier: Apache-2.0
/// What is known when an expression is compiled: literals of lists and maps, conversions of constants, patterns, formats. As
/// upstream, an error in a folded conversion is a compile error, wherever in the expression it is. Calls like quantity("1Gi")
/// are evaluated too, but an error of theirs stays for when they are evaluated, and so does their cost.
#include <algorithm>
#include <string>

#include "evaluation.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_conversions[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                              "int",  "string", "timestamp", "type",     "uint"};
constexpr std::string_view k_cached[] = {"quantity", "isQuantity", "semver", "isSemver", "url",
                                         "isURL",    "ip",         "isIP",   "cidr",     "isCIDR"};

template <std::size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view k_too_large = "expression is too large";
constexpr std::string_view k_too_many_steps = "program instantiation failed: compiling takes more steps than allowed";

class Folding {
 public:
  explicit Folding(CompiledExpression& expression)
      : expression_(expression), evaluation_(limits_, nullptr, expression.arena, regexes_, nullptr) {}

  SyntaxError run() {
    visit(*expression_.tree.root);
    expression_.steps += evaluation_.steps();
    if (error_.message.empty() && evaluation_.work().is_over()) error_.message = k_too_many_steps;
    return error_;
  }

 private:
  void fail(const Node& node, std::string_view message) {
    if (!error_.message.empty()) return;
    const std::string_view kept = expression_.arena.copy(message);
    error_ = {node.offset, kept.empty() ? "expression is too large" : kept};
  }

  void visit(Node& node) {
    if (!error_.message.empty()) return;
    for (Node* operand : node.operands) visit(*operand);
    if (!error_.message.empty()) return;
    const bool all_constant =
        std::all_of(node.operands.begin(), node.operands.end(), [](const Node* operand) { return operand->constant; });
    switch (node.kind) {
      case NodeKind::identifier:
        if (node.slot == 0) node.path = DevicePath::device;
        break;
      case NodeKind::select:
      case NodeKind::index: {
        find_path(node);
        const Node& operand = *node.operands[0];
        node.conditional_root = operand.kind == NodeKind::conditional || operand.conditional_root;
        break;
      }
      case NodeKind::list:
      case NodeKind::map:
        if (all_constant && std::find(node.optional_operands.begin(), node.optional_operands.end(), true) ==
                                node.optional_operands.end())
          make_constant(node);
        break;
      case NodeKind::call:
        visit_call(node, all_constant);
        break;
      default:
        break;
    }
  }

  static void find_path(Node& node) {
    const Node& operand = *node.operands[0];
    if (node.optional || node.presence || operand.path == DevicePath::none) return;
    const bool by_index = node.kind == NodeKind::index;
    if (by_index && (!node.operands[1]->constant || !node.operands[1]->value.is(Kind::string))) return;
    const std::string_view key = by_index ? node.operands[1]->value.text() : node.text;
    node.domain_key = operand.domain_key;
    switch (operand.path) {
      case DevicePath::device:
        if (key == "driver") node.path = DevicePath::driver;
        if (key == "attributes") node.path = DevicePath::attributes;
        if (key == "capacity") node.path = DevicePath::capacity;
        break;
      case DevicePath::attributes:
      case DevicePath::capacity:
        node.path = operand.path == DevicePath::attributes ? DevicePath::attribute_domain : DevicePath::capacity_domain;
        node.domain_key = tagged(key);
        break;
      case DevicePath::attribute_domain:
      case DevicePath::capacity_domain:
        node.path = operand.path == DevicePath::attribute_domain ? DevicePath::attribute : DevicePath::amount;
        node.last_key = tagged(key);
        break;
      default:
        break;
    }
  }

  void make_constant(Node& node) {
    node.value = evaluation_.evaluate(node);
    node.constant = true;
    if (node.value.is_error()) fail(node, "program instantiation failed: " + std::string(node.value.text()));
  }

  void visit_call(Node& node, bool all_constant) {
    if (node.is_method && node.operands.size() == 2) {
      if (node.text == "or") node.special = Special::or_else;
      if (node.text == "orValue") node.special = Special::or_value;
    }
    if (node.text == "_==_") node.special = Special::equal;
    if (node.text == "_!=_") node.special = Special::not_equal;
    if (node.text == "@in") return visit_membership(node);
    if (!node.is_method && node.operands.size() == 1 && all_constant && contains(k_conversions, node.text))
      return make_constant(node);
    if (!node.is_method && all_constant && !node.operands.empty() && contains(k_cached, node.text))
      return make_cached(node);
    if (node.text == "matches" || node.text == "find" || node.text == "findAll") return visit_regex(node);
    if (node.text == "format" && node.is_method) visit_format(node);
  }

  void make_cached(Node& node) {
    std::vector<Value> args;
    for (const Node* operand : node.operands) args.push_back(operand->value);
    node.value = evaluation_.dispatch(node, args.data(), args.size());
    node.slot = static_cast<std::uint32_t>(
        call_cost(static_cast<CostRule>(node.cost_rule), args.data(), args.size(), node.value));
    node.special = Special::cached;
  }

  void visit_membership(Node& node) {
    const Node& list = *node.operands[1];
    if (!list.constant || !list.value.is(Kind::list)) return;
    for (std::uint32_t i = 0; i < list.value.size; ++i) {
      const Kind kind = list.value.items[i].kind;
      if (kind != Kind::boolean && kind != Kind::integer && kind != Kind::uinteger && kind != Kind::real &&
          kind != Kind::string)
        return;
    }
    node.special = Special::membership;
  }

  void visit_regex(Node& node) {
    if (node.operands.size() < 2) return;
    const Node& pattern = *node.operands[1];
    if (!pattern.constant || !pattern.value.is(Kind::string)) return;
    node.stops_at_error = true;
    for (const auto& known : expression_.regexes)
      if (known.pattern == pattern.value.text()) {
        node.regex = known.regex.get();
        return;
      }
    std::string wrong;
    CompiledRegex compiled = compile_regex(pattern.value.text(), evaluation_.work(), wrong);
    if (compiled.regex == nullptr) {
      if (evaluation_.work().is_over())
        fail(node, k_too_many_steps);
      else if (wrong.find(k_too_large) != std::string::npos)
        fail(node, "program instantiation failed: " + wrong.substr(0, 256));
      else if (node.text == "matches")
        fail(pattern, "invalid matches argument");
      else
        fail(node, "program instantiation failed: " + wrong);
      return;
    }
    expression_.regex_bytes += compiled.bytes;
    if (expression_.regex_bytes > k_program_regex_bytes_max)
      return fail(node,
                  "program instantiation failed: the regular expressions need more memory than the 4 MiB allowed");
    node.regex = compiled.regex.get();
    expression_.regexes.push_back({pattern.value.text(), std::move(compiled.regex)});
  }

  /// A literal format with a literal list is checked by the types of the elements.
  void visit_format(Node& node) {
    const Node& pattern = *node.operands[0];
    const Node& args = *node.operands[1];
    if (pattern.kind != NodeKind::literal || args.kind != NodeKind::list) return;
    if (const std::string wrong = check_format(pattern.value.text(), args); !wrong.empty()) fail(node, wrong);
  }

  static std::string check_format(std::string_view pattern, const Node& args) {
    std::size_t used = 0;
    for (std::size_t at = pattern.find('%'); at < pattern.size(); at = pattern.find('%', at + 1)) {
      ++at;
      if (at < pattern.size() && pattern[at] == '%') continue;
      while (at < pattern.size() && (pattern[at] == '.' || (pattern[at] >= '0' && pattern[at] <= '9'))) ++at;
      if (at >= pattern.size()) return "error during formatting: unexpected end of string";
      if (used == args.operands.size())
        return "error during formatting: index " + std::to_string(used) + " out of range";
      const Type& type = *args.operands[used++]->type;
      if (!clause_takes(pattern[at], type))
        return std::string("error during formatting: %") + pattern[at] + " cannot be used on " + type_text(type);
    }
    if (used != args.operands.size()) return "error during formatting: too many arguments supplied to string.format";
    return {};
  }

  static bool clause_takes(char clause, const Type& type) {
    if (is_dynamic(type)) return std::string_view("sdfeboxX").find(clause) != std::string_view::npos;
    const bool integer = type.kind == TypeKind::integer || type.kind == TypeKind::uinteger;
    const bool text = type.kind == TypeKind::string || type.kind == TypeKind::bytes;
    switch (clause) {
      case 's':
        return type.kind != TypeKind::object && type.kind != TypeKind::opaque;
      case 'd':
      case 'o':
        return integer;
      case 'f':
      case 'e':
        return integer || type.kind == TypeKind::real;
      case 'b':
        return integer || type.kind == TypeKind::boolean;
      case 'x':
      case 'X':
        return integer || text;
      default:
        return false;
    }
  }

  CompiledExpression& expression_;
  Limits limits_;
  RegexCache regexes_;
  Evaluation evaluation_;
  SyntaxError error_;
};

}  // namespace

SyntaxError fold_constants(CompiledExpression& expression) {
  SyntaxError error = Folding(expression).run();
  if (error.message.empty() && expression.arena.exhausted()) error = {0, "expression is too large"};
  return error;
}

}  // namespace berth::cel
