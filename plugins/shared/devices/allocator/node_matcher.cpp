// SPDX-License-Identifier: Apache-2.0
#include "node_matcher.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth::dra {
namespace {

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// A name of at most 63 characters that starts and ends with a letter or digit.
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  const auto is_good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (;;) {
    const std::string_view part = text.substr(0, text.find('.'));
    if (part.empty() || !is_good(part.front()) || !is_good(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [&](char c) { return is_good(c) || c == '-'; })) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_name(key);
  return is_subdomain(key.substr(0, slash)) && is_name(key.substr(slash + 1));
}

bool is_label_value(std::string_view value) { return value.empty() || is_name(value); }

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

NodeLabels::NodeLabels(const Node& node) : node_name_(node.name) {
  by_key_.reserve(node.labels.size());
  for (const Label& label : node.labels) by_key_.push_back(&label);
  std::sort(by_key_.begin(), by_key_.end(), [](const Label* a, const Label* b) { return a->key < b->key; });
}

const std::string* NodeLabels::value(std::string_view key) const {
  const auto found = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                      [](const Label* label, std::string_view wanted) { return label->key < wanted; });
  return found != by_key_.end() && (*found)->key == key ? &(*found)->value : nullptr;
}

NodeMatcher::NodeMatcher(const NodeChoice& choice) : node_name_(choice.node_name), all_nodes_(choice.all_nodes) {
  if (node_name_.empty() && !all_nodes_ && choice.selector) error_ = compile(*choice.selector);
}

std::string NodeMatcher::compile(const NodeSelector& selector) {
  for (const NodeSelectorTerm& term : selector.terms) {
    std::vector<Requirement> compiled;
    for (const NodeRequirement& wanted : term.match_expressions) {
      Requirement requirement{wanted.key, Operation::in, &wanted.values, 0, false};
      const std::size_t count = wanted.values.size();
      const bool compares = wanted.operation == "Gt" || wanted.operation == "Lt";
      if (wanted.operation == "In" || wanted.operation == "NotIn") {
        if (count == 0) return wanted.key + ": for 'in', 'notin' operators, values set can't be empty";
        if (wanted.operation == "NotIn") requirement.operation = Operation::not_in;
      } else if (wanted.operation == "Exists" || wanted.operation == "DoesNotExist") {
        if (count != 0) return wanted.key + ": values set must be empty for exists and does not exist";
        requirement.operation = wanted.operation == "Exists" ? Operation::exists : Operation::does_not_exist;
      } else if (compares) {
        const auto bound = count == 1 ? whole_number(wanted.values[0]) : std::nullopt;
        if (!bound) return wanted.key + ": for 'Gt', 'Lt' operators, exactly one value is required, an integer";
        requirement.bound = *bound;
        requirement.operation = wanted.operation == "Gt" ? Operation::greater : Operation::less;
      } else {
        return '"' + wanted.operation + "\" is not a valid node selector operator";
      }
      if (!is_label_key(wanted.key)) return '"' + wanted.key + "\" is not a label key";
      for (const std::string& value : wanted.values)
        if (!is_label_value(value)) return wanted.key + ": \"" + value + "\" is not a label value";
      compiled.push_back(requirement);
    }
    for (const NodeRequirement& wanted : term.match_fields) {
      if (wanted.operation != "In" && wanted.operation != "NotIn")
        return '"' + wanted.operation + "\" is not a valid node selector operator for fields";
      if (wanted.values.size() != 1) return wanted.key + ": must have one element";
      compiled.push_back(
          {wanted.key, wanted.operation == "In" ? Operation::in : Operation::not_in, &wanted.values, 0, true});
    }
    if (!compiled.empty()) terms_.push_back(std::move(compiled));
  }
  return {};
}

bool NodeMatcher::holds(const Requirement& requirement, const NodeLabels& node) {
  const auto has = [&](std::string_view value) {
    return std::find(requirement.values->begin(), requirement.values->end(), value) != requirement.values->end();
  };
  if (requirement.is_field) {
    if (node.node_name().empty()) return true;
    const std::string_view value = requirement.key == "metadata.name" ? node.node_name() : std::string_view();
    return has(value) == (requirement.operation == Operation::in);
  }
  const std::string* value = node.value(requirement.key);
  switch (requirement.operation) {
    case Operation::in:
      return value != nullptr && has(*value);
    case Operation::not_in:
      return value == nullptr || !has(*value);
    case Operation::exists:
      return value != nullptr;
    case Operation::does_not_exist:
      return value == nullptr;
    case Operation::greater:
    case Operation::less:
      break;
  }
  const auto number = value == nullptr ? std::nullopt : whole_number(*value);
  if (!number) return false;
  return requirement.operation == Operation::greater ? *number > requirement.bound : *number < requirement.bound;
}

bool NodeMatcher::matches(const NodeLabels& node) const {
  if (!node_name_.empty()) return node_name_ == node.node_name();
  if (all_nodes_) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const std::vector<Requirement>& term) {
    return std::all_of(term.begin(), term.end(), [&](const Requirement& each) { return holds(each, node); });
  });
}

}  // namespace berth::dra
