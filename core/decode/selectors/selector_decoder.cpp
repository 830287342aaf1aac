// SPDX-License-Identifier: Apache-2.0
#include "decode/selectors/selector_decoder.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "decode/names.hpp"
#include "decode/selectors/labels.hpp"

namespace berth::decode {
namespace {

using model::Operator;

enum class Quoting : std::uint8_t {
  go,    // strconv.Quote for what occurs in names; bytes beyond ASCII are printable there and stay
  json,  // encoding/json, its HTML-safe escapes included
};

std::string quoted(std::string_view text, Quoting quoting = Quoting::go) {
  const bool go = quoting == Quoting::go;
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (byte < 0x20 || (go ? byte == 0x7f : c == '<' || c == '>' || c == '&')) {
      out += go ? fmt::format("\\x{:02x}", byte) : fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// A list as the bad value of a field error.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go (ErrorBody).
std::string json_list(const std::vector<std::string_view>& values, bool given) {
  if (!given) return "null";
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ",") + quoted(values[i], Quoting::json);
  return out + "]";
}

/// One requirement as written.
struct Written {
  std::string_view key, op;
  std::vector<std::string_view> values;
  bool has_values = false;
};

Written read_requirement(const Cursor& cursor) {
  Written written;
  const Cursor key = cursor.child("key");
  const Cursor op = cursor.child("operator");
  const Cursor values = cursor.sequence("values");
  written.key = key.string_or({});
  written.op = op.string_or({});
  written.has_values = values.present();
  values.each([&](const Cursor& value) { written.values.push_back(value.string_or({})); });
  return written;
}

std::optional<Operator> operator_of(std::string_view word) noexcept {
  if (word == "In") return Operator::in;
  if (word == "NotIn") return Operator::not_in;
  if (word == "Exists") return Operator::exists;
  if (word == "DoesNotExist") return Operator::does_not_exist;
  if (word == "Gt") return Operator::gt;
  if (word == "Lt") return Operator::lt;
  return std::nullopt;
}

/// Errors of a requirement, in upstream's order. `path` is "" or ends in '.'.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/labels/selector.go (NewRequirement).
std::vector<std::string> errors_of(const Written& written, Operator op, std::string_view path) {
  std::vector<std::string> errors;
  if (!is_label_key(written.key))
    errors.push_back(
        fmt::format("{}key: Invalid value: {}: {}", path, quoted(written.key), label_key_error(written.key)));
  const auto bad_values = [&](std::string_view words) {
    errors.push_back(
        fmt::format("{}values: Invalid value: {}: {}", path, json_list(written.values, written.has_values), words));
  };
  const bool compares = op == Operator::gt || op == Operator::lt;
  if ((op == Operator::in || op == Operator::not_in) && written.values.empty())
    bad_values("for 'in', 'notin' operators, values set can't be empty");
  if ((op == Operator::exists || op == Operator::does_not_exist) && !written.values.empty())
    bad_values("values set must be empty for exists and does not exist");
  if (compares && written.values.size() != 1) bad_values("for 'Gt', 'Lt' operators, exactly one value is required");
  // Each error names key and value: of many bad values the first are enough.
  constexpr std::size_t k_errors_max = 32;
  for (std::size_t i = 0; compares && i < written.values.size() && errors.size() < k_errors_max; ++i)
    if (!parse_go_integer(written.values[i]))
      errors.push_back(
          fmt::format("{}values[{}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer", path,
                      i, quoted(written.values[i])));
  for (std::size_t i = 0; i < written.values.size() && errors.size() < k_errors_max; ++i)
    if (!is_label_value(written.values[i]))
      errors.push_back(fmt::format("{}values[{}][{}]: Invalid value: {}: {}", path, i, written.key,
                                   quoted(written.values[i]), label_value_error(written.values[i])));
  return errors;
}

model::Requirement make_requirement(const Written& written, Operator op, SymbolTable& symbols) {
  model::Requirement requirement;
  requirement.key = symbols.intern(written.key);
  requirement.op = op;
  for (const std::string_view value : written.values) requirement.values.push_back(symbols.intern(value));
  if ((op == Operator::gt || op == Operator::lt) && written.values.size() == 1)
    requirement.number = parse_go_integer(written.values[0]).value_or(0);
  return requirement;
}

/// Returns the errors.
std::vector<std::string> read_expressions(const Cursor& list, std::string_view path, SymbolTable& symbols,
                                          model::NodeTerm& term) {
  std::vector<std::string> errors;
  std::size_t index = 0;
  list.each([&](const Cursor& cursor) {
    const Written written = read_requirement(cursor);
    const std::string at = fmt::format("{}matchExpressions[{}].", path, index++);
    const std::optional<Operator> op = operator_of(written.op);
    if (!op) {
      errors.push_back(fmt::format(
          R"({}operator: Unsupported value: {}: supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")",
          at, quoted(written.op)));
      return;
    }
    const std::vector<std::string> own = errors_of(written, *op, at);
    errors.insert(errors.end(), own.begin(), own.end());
    term.expressions.push_back(make_requirement(written, *op, symbols));
  });
  return errors;
}

/// Fields know In and NotIn with exactly one value. What is listed stays listed: names narrow a search even when they
/// do not parse. Returns the errors.
std::vector<std::string> read_fields(const Cursor& list, std::string_view path, SymbolTable& symbols,
                                     model::NodeTerm& term) {
  std::vector<std::string> errors;
  std::size_t index = 0;
  list.each([&](const Cursor& cursor) {
    const Written written = read_requirement(cursor);
    const std::string at = fmt::format("{}matchFields[{}].", path, index++);
    const std::optional<Operator> op = operator_of(written.op);
    if (op != Operator::in && op != Operator::not_in) {
      errors.push_back(
          fmt::format(R"({}operator: Unsupported value: {}: supported values: "In", "NotIn")", at, quoted(written.op)));
    } else if (written.values.size() != 1) {
      errors.push_back(fmt::format("{}values: Invalid value: {}: must have one element", at,
                                   json_list(written.values, written.has_values)));
    }
    if (op) term.fields.push_back(make_requirement(written, *op, symbols));
  });
  return errors;
}

struct ReadTerm {
  model::NodeTerm term;
  bool empty = false;
};

ReadTerm read_term(const Cursor& cursor, std::string_view path, SymbolTable& symbols) {
  ReadTerm read;
  const Cursor expressions = cursor.sequence("matchExpressions");
  const Cursor fields = cursor.sequence("matchFields");
  read.empty = (!expressions.present() || expressions.value().elements().empty()) &&
               (!fields.present() || fields.value().elements().empty());
  std::vector<std::string> errors = read_expressions(expressions, path, symbols, read.term);
  for (std::string& error : read_fields(fields, path, symbols, read.term)) errors.push_back(std::move(error));
  read.term.error = aggregate(errors);
  return read;
}

std::vector<model::NodeTerm> read_required(const Cursor& required, SymbolTable& symbols) {
  std::vector<model::NodeTerm> terms;
  bool has_empty = false;
  std::size_t index = 0;
  const Cursor list = required.sequence("nodeSelectorTerms");
  list.each([&](const Cursor& cursor) {
    ReadTerm read = read_term(cursor, fmt::format("nodeSelectorTerms[{}].", index++), symbols);
    if (read.empty) {
      has_empty = true;
    } else {
      terms.push_back(std::move(read.term));
    }
  });
  // An empty term matches nothing and is dropped, but one thing about it shows: a list in which every term names nodes
  // by field narrows the search to these nodes, and an empty term names none. There it stays, as a term that cannot
  // match.
  const bool narrows = !terms.empty() && std::all_of(terms.begin(), terms.end(),
                                                     [](const model::NodeTerm& t) { return !t.fields.empty(); });
  if (has_empty && narrows) {
    model::NodeTerm empty;
    empty.error = "a term without matchExpressions and matchFields matches no node";
    terms.push_back(std::move(empty));
  }
  return terms;
}

std::vector<model::NodeTerm> read_preferred(const Cursor& list, SymbolTable& symbols) {
  std::vector<model::NodeTerm> terms;
  std::size_t index = 0;
  list.each([&](const Cursor& cursor) {
    const std::string path = fmt::format("[{}].", index++);
    const Cursor weight = cursor.child("weight");
    const Cursor preference = cursor.mapping("preference");
    ReadTerm read = read_term(preference, path, symbols);
    read.term.weight = weight.integer32().value_or(0);
    if (read.term.weight != 0 && !read.empty) terms.push_back(std::move(read.term));
  });
  return terms;
}

}  // namespace

std::optional<std::int64_t> parse_go_integer(std::string_view text) noexcept {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string aggregate(const std::vector<std::string>& errors) {
  std::vector<std::string_view> distinct;
  std::unordered_set<std::string_view> said;
  for (const std::string& error : errors)
    if (said.insert(error).second) distinct.push_back(error);
  if (distinct.empty()) return {};
  if (distinct.size() == 1) return std::string(distinct[0]);
  return fmt::format("[{}]", fmt::join(distinct, ", "));
}

model::Selector decode_label_selector(const Cursor& selector, SymbolTable& symbols) {
  model::Selector out;
  if (!selector.present()) return out;
  out.kind = model::Selector::Kind::match;
  const auto refuse = [&](std::string error) {
    if (out.kind == model::Selector::Kind::invalid) return;
    out.kind = model::Selector::Kind::invalid;
    out.error = std::move(error);
  };
  const auto add = [&](const Written& written, Operator op) {
    const std::vector<std::string> errors = errors_of(written, op, "");
    if (!errors.empty()) refuse(aggregate(errors));
    out.requirements.push_back(make_requirement(written, op, symbols));
  };
  const Cursor labels = selector.mapping("matchLabels");
  labels.each_member([&](std::string_view key, const Cursor& value) {
    add({key, "In", {value.string_or({})}, true}, Operator::in);
  });
  // A map has no order; the sorted one makes equal selectors equal.
  std::sort(out.requirements.begin(), out.requirements.end(),
            [](const model::Requirement& a, const model::Requirement& b) { return a.key < b.key; });
  const Cursor expressions = selector.sequence("matchExpressions");
  expressions.each([&](const Cursor& cursor) {
    Written written = read_requirement(cursor);
    written.has_values = !written.values.empty();  // LabelSelectorAsSelector copies the list: an empty one becomes nil
    const std::optional<Operator> op = operator_of(written.op);
    if (!op || *op == Operator::gt || *op == Operator::lt) {
      refuse(fmt::format("{} is not a valid label selector operator", quoted(written.op)));
    } else {
      add(written, *op);
    }
  });
  if (out.kind == model::Selector::Kind::invalid) out.requirements.clear();
  return out;
}

void merge_label_keys(model::Selector& selector, const std::vector<Symbol>& keys, const model::Labels& labels,
                      model::Operator op) {
  if (selector.kind != model::Selector::Kind::match) return;
  for (const Symbol key : keys)
    if (const Symbol value = find_label(labels, key); value != k_no_symbol)
      selector.requirements.push_back({.key = key, .op = op, .values = {value}});
}

model::NodeSelection decode_node_selection(const Cursor& spec, SymbolTable& symbols) {
  model::NodeSelection selection;
  const Cursor selector = spec.mapping("nodeSelector");
  selection.has_selector = selector.present();
  selection.selector = decode_labels(selector, symbols);
  const Cursor affinity = spec.mapping("affinity");
  const Cursor node_affinity = affinity.mapping("nodeAffinity");
  const Cursor required = node_affinity.mapping("requiredDuringSchedulingIgnoredDuringExecution");
  selection.has_required = required.present();
  selection.required = read_required(required, symbols);
  const Cursor preferred = node_affinity.sequence("preferredDuringSchedulingIgnoredDuringExecution");
  selection.has_preferred = preferred.present();
  selection.preferred = read_preferred(preferred, symbols);
  return selection;
}

}  // namespace berth::decode
