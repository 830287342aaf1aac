// SPDX-License-Identifier: Apache-2.0
/// Recursive descent over the grammar of cel-go. Depth is counted per grammar rule as its parser does, so that the same
/// expressions are refused as too deep.
#include "syntax/parser.hpp"

#include <algorithm>
#include <string>

#include "syntax/lexer.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_too_deep = "expression recursion limit exceeded: 250";

constexpr std::string_view k_reserved[] = {"as",        "break",  "const",  "continue", "else", "for",
                                           "function",  "if",     "import", "let",      "loop", "package",
                                           "namespace", "return", "var",    "void",     "while"};

bool is_reserved(std::string_view name) {
  return std::find(std::begin(k_reserved), std::end(k_reserved), name) != std::end(k_reserved);
}

/// Counts one grammar rule while in scope; push() counts a left-recursive step until then.
class RuleDepth {
 public:
  explicit RuleDepth(int& depth) : depth_(depth), before_(depth) { ++depth_; }
  RuleDepth(const RuleDepth&) = delete;
  RuleDepth& operator=(const RuleDepth&) = delete;
  ~RuleDepth() { depth_ = before_; }
  void push() { ++depth_; }
  bool too_deep() const { return depth_ > k_depth_max; }

 private:
  int& depth_;
  int before_;
};

int precedence_of(std::string_view op) {
  return op == "*" || op == "/" || op == "%" ? 2 : op == "+" || op == "-" ? 1 : 0;
}

bool is_relation(const Token& token) {
  if (token.kind != TokenKind::punctuation) return false;
  static constexpr std::string_view k_relations[] = {"<", "<=", ">=", ">", "==", "!=", "in"};
  return std::find(std::begin(k_relations), std::end(k_relations), token.text) != std::end(k_relations);
}

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, Arena& arena, Tree& tree) : tokens_(tokens), arena_(arena), tree_(tree) {}

  SyntaxError run() {
    tree_.root = parse_expression();
    if (tree_.root != nullptr && current().kind != TokenKind::end) fail("Syntax error: extraneous input");
    if (tree_.root != nullptr && tree_.root->height > k_depth_max) fail("max recursion depth exceeded");
    return error_;
  }

 private:
  const Token& current() const { return tokens_[at_]; }
  bool is(std::string_view punctuation) const {
    return current().kind == TokenKind::punctuation && current().text == punctuation;
  }
  bool accept(std::string_view punctuation) {
    if (!is(punctuation)) return false;
    ++at_;
    return true;
  }
  bool expect(std::string_view punctuation) {
    if (accept(punctuation)) return true;
    fail("Syntax error: unexpected input");
    return false;
  }
  Node* fail(std::string_view message) { return fail(current().offset, message); }
  Node* fail(std::uint32_t offset, std::string_view message) {
    if (error_.message.empty()) error_ = {offset, message};
    return nullptr;
  }
  Node* fail_with(std::string text, std::uint32_t offset) {
    const std::string_view kept = arena_.copy(text);
    return fail(offset, kept.empty() ? "expression is too large" : kept);
  }

  Node* make(NodeKind kind, std::uint32_t offset, std::string_view text = {}) {
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.offset = offset;
    node.text = text;
    return &node;
  }
  /// `steps`: what the node adds to the depth that cel-go's visitor counts.
  Node* make(NodeKind kind, std::uint32_t offset, std::string_view text, std::vector<Node*> operands, int steps) {
    Node* node = make(kind, offset, text);
    int height = 0;
    for (const Node* operand : operands) height = std::max<int>(height, operand->height);
    node->height = static_cast<std::uint16_t>(std::min(height + steps, 1000));
    node->operands = std::move(operands);
    return node;
  }

  Node* parse_expression() {
    RuleDepth depth(expression_depth_);
    if (depth.too_deep()) return fail(k_too_deep);
    const std::uint32_t offset = current().offset;
    Node* node = parse_chain(false);
    if (node != nullptr && accept("?")) {
      Node* then = parse_chain(false);
      if (then == nullptr || !expect(":")) return nullptr;
      Node* otherwise = parse_expression();
      if (otherwise == nullptr) return nullptr;
      node = make(NodeKind::conditional, offset, "_?_:_", {node, then, otherwise}, 0);
    }
    if (node != nullptr) node->height = static_cast<std::uint16_t>(node->height + 1);
    return node;
  }

  /// `a || b || c`, or one level below, `a && b && c`.
  Node* parse_chain(bool conjunction) {
    const std::uint32_t offset = current().offset;
    Node* node = conjunction ? parse_relation() : parse_chain(true);
    const std::string_view op = conjunction ? "&&" : "||";
    if (node == nullptr || !is(op)) return node;
    std::vector<Node*> operands{node};
    while (accept(op)) {
      operands.push_back(conjunction ? parse_relation() : parse_chain(true));
      if (operands.back() == nullptr) return nullptr;
    }
    return make(conjunction ? NodeKind::logic_and : NodeKind::logic_or, offset, op, std::move(operands), 1);
  }

  Node* parse_relation() {
    RuleDepth depth(relation_depth_);
    if (depth.too_deep()) return fail(k_too_deep);
    Node* node = parse_calculation(1);
    while (node != nullptr && is_relation(current())) {
      depth.push();
      if (depth.too_deep()) return fail(k_too_deep);
      const Token& op = tokens_[at_++];
      Node* right = parse_calculation(1);
      if (right == nullptr) return nullptr;
      node = make(NodeKind::call, op.offset, relation_name(op.text), {node, right}, 1);
    }
    return node;
  }

  static std::string_view relation_name(std::string_view op) {
    if (op == "<") return "_<_";
    if (op == "<=") return "_<=_";
    if (op == ">") return "_>_";
    if (op == ">=") return "_>=_";
    if (op == "==") return "_==_";
    return op == "!=" ? "_!=_" : "@in";
  }

  static std::string_view calculation_name(char op) {
    switch (op) {
      case '+':
        return "_+_";
      case '-':
        return "_-_";
      case '*':
        return "_*_";
      case '/':
        return "_/_";
      default:
        return "_%_";
    }
  }

  Node* parse_calculation(int precedence) {
    RuleDepth depth(calculation_depth_);
    if (depth.too_deep()) return fail(k_too_deep);
    Node* node = parse_unary();
    while (node != nullptr && current().kind == TokenKind::punctuation && precedence_of(current().text) >= precedence) {
      depth.push();
      if (depth.too_deep()) return fail(k_too_deep);
      const Token& op = tokens_[at_++];
      Node* right = parse_calculation(precedence_of(op.text) + 1);
      if (right == nullptr) return nullptr;
      node = make(NodeKind::call, op.offset, calculation_name(op.text[0]), {node, right}, 1);
    }
    return node;
  }

  /// Signs cancel in pairs, without a look at the type.
  Node* parse_unary() {
    const std::uint32_t offset = current().offset;
    const bool minus = is("-");
    if (!minus && !is("!")) return parse_member(false);
    int count = 0;
    while (accept(minus ? "-" : "!")) ++count;
    if (minus && count == 1 && current().is_number && !current().value.is(Kind::uinteger)) return parse_member(true);
    Node* node = parse_member(false);
    if (node == nullptr || count % 2 == 0) return node;
    return make(NodeKind::call, offset, minus ? "-_" : "!_", {node}, 1);
  }

  Node* parse_member(bool negative) {
    RuleDepth depth(member_depth_);
    if (depth.too_deep()) return fail(k_too_deep);
    Node* node = parse_primary(negative);
    while (node != nullptr && (is(".") || is("["))) {
      depth.push();
      if (depth.too_deep()) return fail(k_too_deep);
      node = is(".") ? parse_selection(node) : parse_index(node);
    }
    return node;
  }

  Node* parse_selection(Node* operand) {
    const std::uint32_t offset = current().offset;
    ++at_;
    const bool optional = accept("?");
    if (current().kind != TokenKind::identifier) return fail("Syntax error: no viable alternative");
    const std::string_view name = tokens_[at_++].text;
    if (!optional && is("(")) return parse_call(name, offset, operand);
    Node* node = make(NodeKind::select, offset, name, {operand}, 1);
    node->optional = optional;
    return node;
  }

  Node* parse_index(Node* operand) {
    const std::uint32_t offset = current().offset;
    ++at_;
    const bool optional = accept("?");
    Node* key = parse_expression();
    if (key == nullptr || !expect("]")) return nullptr;
    Node* node = make(NodeKind::index, offset, "_[_]", {operand, key}, 1);
    node->optional = optional;
    return node;
  }

  Node* parse_call(std::string_view name, std::uint32_t offset, Node* target) {
    std::vector<Node*> operands;
    if (target != nullptr) operands.push_back(target);
    ++at_;
    if (!is(")")) {
      do {
        operands.push_back(parse_expression());
        if (operands.back() == nullptr) return nullptr;
      } while (accept(","));
    }
    if (!expect(")")) return nullptr;
    Node* node = make(NodeKind::call, offset, name, std::move(operands), target != nullptr ? 1 : 0);
    node->is_method = target != nullptr;
    const SyntaxError wrong = expand_macro(*node, arena_);
    return wrong.message.empty() ? node : fail(wrong.offset, wrong.message);
  }

  Node* parse_primary(bool negative) {
    const Token& token = current();
    if (token.kind == TokenKind::literal) return parse_literal(negative);
    if (accept("(")) {
      Node* node = parse_expression();
      return node != nullptr && expect(")") ? node : nullptr;
    }
    if (is("[")) return parse_list();
    if (is("{")) return parse_entries(make(NodeKind::map, token.offset), false);
    const bool absolute = accept(".");
    if (current().kind != TokenKind::identifier) return fail("Syntax error: mismatched input");
    if (looks_like_message()) return parse_message();
    const std::string_view name = tokens_[at_++].text;
    if (is_reserved(name)) return fail_with("reserved identifier: " + std::string(name), token.offset);
    if (is("(")) return parse_call(name, token.offset, nullptr);
    Node* node = make(NodeKind::identifier, token.offset, name);
    node->absolute = absolute;
    return node;
  }

  Node* parse_literal(bool negative) {
    const Token& token = tokens_[at_++];
    Node* node = make(NodeKind::literal, token.offset);
    node->value = negative ? parse_number(token.text, true) : token.value;
    node->constant = true;
    return node->value.is_error() ? fail(token.offset, node->value.text()) : node;
  }

  Node* parse_list() {
    Node* node = make(NodeKind::list, current().offset);
    ++at_;
    int height = 0;
    while (!is("]")) {
      node->optional_operands.push_back(accept("?"));
      node->operands.push_back(parse_expression());
      if (node->operands.back() == nullptr) return nullptr;
      height = std::max<int>(height, node->operands.back()->height);
      if (!accept(",")) break;
    }
    node->height = static_cast<std::uint16_t>(height);
    return expect("]") ? node : nullptr;
  }

  /// The braces of a map, or of a message, whose keys are names.
  Node* parse_entries(Node* node, bool names) {
    ++at_;
    int height = 0;
    while (!is("}")) {
      node->optional_operands.push_back(accept("?"));
      if (names) {
        if (current().kind != TokenKind::identifier) return fail("Syntax error: mismatched input");
        node->variables.push_back(tokens_[at_++].text);
      } else {
        node->operands.push_back(parse_expression());
        if (node->operands.back() == nullptr) return nullptr;
        height = std::max<int>(height, node->operands.back()->height);
      }
      if (!expect(":")) return nullptr;
      node->operands.push_back(parse_expression());
      if (node->operands.back() == nullptr) return nullptr;
      height = std::max<int>(height, node->operands.back()->height);
      if (!accept(",")) break;
    }
    node->height = static_cast<std::uint16_t>(height);
    return expect("}") ? node : nullptr;
  }

  bool looks_like_message() const {
    std::size_t i = at_ + 1;
    while (tokens_[i].kind == TokenKind::punctuation && tokens_[i].text == "." &&
           tokens_[i + 1].kind == TokenKind::identifier)
      i += 2;
    return tokens_[i].kind == TokenKind::punctuation && tokens_[i].text == "{";
  }

  Node* parse_message() {
    const std::uint32_t offset = current().offset;
    std::string name(tokens_[at_++].text);
    while (accept(".")) name.append(".").append(tokens_[at_++].text);
    return parse_entries(make(NodeKind::message, offset, arena_.copy(name)), true);
  }

  const std::vector<Token>& tokens_;
  Arena& arena_;
  Tree& tree_;
  std::size_t at_ = 0;
  SyntaxError error_;
  int expression_depth_ = 0, relation_depth_ = 0, calculation_depth_ = 0, member_depth_ = 0;
};

}  // namespace

SyntaxError parse(std::string_view text, Arena& arena, Tree& tree) {
  if (text.size() > k_expression_bytes_max) return {0, "expression is longer than 100000 bytes"};
  const Tokens tokens = tokenize(text, arena);
  if (!tokens.error.message.empty()) return {tokens.error.offset, tokens.error.message};
  SyntaxError error = Parser(tokens.tokens, arena, tree).run();
  if (error.message.empty() && arena.exhausted()) error = {0, "expression is too large"};
  return error;
}

}  // namespace berth::cel
