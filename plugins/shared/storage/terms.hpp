// SPDX-License-Identifier: Apache-2.0
/// Selectors that stand in storage objects: node terms of volumes, label selectors of claims and capacities, topologies
/// of classes. Parsed from JSON, judged against texts one by one or against all nodes of a snapshot at once.
///
/// Source: kubernetes v1.36 component-helpers/scheduling/corev1/nodeaffinity, apimachinery/pkg/labels.
#pragma once
#include <berth/names.hpp>
#include <berth/plugin.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace storage {

struct Requirement {
  std::string key;
  std::uint32_t op = BERTH_OP_IN;
  std::vector<std::string> values;
  std::int64_t number = 0;  // Gt, Lt
  friend bool operator==(const Requirement&, const Requirement&) = default;
};
/// AND of its requirements. An invalid one matches nothing.
struct Term {
  std::vector<Requirement> all;
  bool invalid = false;
  friend bool operator==(const Term&, const Term&) = default;
};
/// OR of its terms; absent: everything matches.
using Terms = std::optional<std::vector<Term>>;

inline std::optional<std::int64_t> integer_of(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One entry of matchExpressions. False when a selector must not be built from it. Gt and Lt are for nodes only.
inline bool parse_requirement(const berth::Json& json, bool of_nodes, Requirement& out) {
  out.key = json["key"].string_or("key", "");
  const std::string op = json["operator"].string_or("operator", "");
  for (const berth::Json& value : json["values"].items()) out.values.push_back(value.string("values"));
  const bool valued = !out.values.empty();
  if (op == "In" || op == "NotIn") {
    out.op = op == "In" ? BERTH_OP_IN : BERTH_OP_NOT_IN;
    if (!valued) return false;
  } else if (op == "Exists" || op == "DoesNotExist") {
    out.op = op == "Exists" ? BERTH_OP_EXISTS : BERTH_OP_DOES_NOT_EXIST;
    if (valued) return false;
  } else if (of_nodes && (op == "Gt" || op == "Lt")) {
    out.op = op == "Gt" ? BERTH_OP_GT : BERTH_OP_LT;
    if (out.values.size() != 1) return false;
    const auto number = integer_of(out.values.front());
    if (!number) return false;
    out.number = *number;
  } else {
    return false;
  }
  return berth::qualified_name_problems(out.key).empty() &&
         std::all_of(out.values.begin(), out.values.end(),
                     [](const std::string& value) { return berth::label_value_problems(value).empty(); });
}

/// nodeAffinity.required of a volume. Null: everything. matchFields never restrict, as volumes are held against labels
/// only; they still make a term, and must be well-formed.
inline Terms parse_node_terms(const berth::Json& required) {
  if (!required.is_object()) return std::nullopt;
  std::vector<Term> terms;
  for (const berth::Json& json : required["nodeSelectorTerms"].items()) {
    const auto& expressions = json["matchExpressions"].items();
    const auto& fields = json["matchFields"].items();
    if (expressions.empty() && fields.empty()) continue;
    Term& term = terms.emplace_back();
    for (const berth::Json& expression : expressions)
      term.invalid |= !parse_requirement(expression, true, term.all.emplace_back());
    for (const berth::Json& field : fields) {
      const std::string op = field["operator"].string_or("operator", "");
      term.invalid |= (op != "In" && op != "NotIn") || field["values"].items().size() != 1;
    }
  }
  return terms;
}

/// A LabelSelector: nothing when absent (`json` null).
inline Term parse_label_selector(const berth::Json& json) {
  Term term;
  term.invalid = !json.is_object();
  for (const auto& [key, value] : json["matchLabels"].members()) {
    Requirement& r = term.all.emplace_back();
    r.key = key;
    r.values.push_back(value.string(key));
    term.invalid |= !berth::qualified_name_problems(key).empty() || !berth::label_value_problems(r.values[0]).empty();
  }
  for (const berth::Json& expression : json["matchExpressions"].items())
    term.invalid |= !parse_requirement(expression, false, term.all.emplace_back());
  return term;
}

/// allowedTopologies of a class: no terms match everything.
inline Terms parse_topologies(const berth::Json& json) {
  if (json.items().empty()) return std::nullopt;
  std::vector<Term> terms;
  for (const berth::Json& entry : json.items()) {
    Term term;
    for (const berth::Json& expression : entry["matchLabelExpressions"].items()) {
      Requirement& r = term.all.emplace_back();
      r.key = expression["key"].string_or("key", "");
      for (const berth::Json& value : expression["values"].items()) r.values.push_back(value.string("values"));
      term.invalid |= r.values.empty() || !berth::qualified_name_problems(r.key).empty();
    }
    if (!term.all.empty()) terms.push_back(std::move(term));
  }
  return terms;
}

/// value_of(key) -> std::optional<std::string_view>.
template <class ValueOf>
bool matches(const Requirement& r, ValueOf&& value_of) {
  const std::optional<std::string_view> value = value_of(r.key);
  const auto listed = [&] { return std::find(r.values.begin(), r.values.end(), *value) != r.values.end(); };
  switch (r.op) {
    case BERTH_OP_IN:
      return value && listed();
    case BERTH_OP_NOT_IN:
      return !value || !listed();
    case BERTH_OP_EXISTS:
      return value.has_value();
    case BERTH_OP_DOES_NOT_EXIST:
      return !value;
    default:
      break;
  }
  const auto number = value ? integer_of(*value) : std::nullopt;
  return number && (r.op == BERTH_OP_GT ? *number > r.number : *number < r.number);
}
template <class ValueOf>
bool matches(const Term& term, ValueOf&& value_of) {
  return !term.invalid &&
         std::all_of(term.all.begin(), term.all.end(), [&](const Requirement& r) { return matches(r, value_of); });
}
template <class ValueOf>
bool matches(const Terms& terms, ValueOf&& value_of) {
  return !terms || std::any_of(terms->begin(), terms->end(), [&](const Term& term) { return matches(term, value_of); });
}

/// Nodes by slot, as cycle.nodes().
using NodeBits = std::vector<std::uint64_t>;
inline bool test(const NodeBits& bits, berth::Slot slot) noexcept {
  return slot / 64 < bits.size() && (bits[slot / 64] >> (slot & 63) & 1u) != 0;
}

/// Judges all nodes of a snapshot at once. [cycle]
class NodeJudge {
 public:
  NodeJudge(berth::Labels labels, berth::Intern intern) : labels_(labels), intern_(intern) {}

  NodeBits all(const berth::Cycle& cycle) const { return {cycle.nodes().begin(), cycle.nodes().end()}; }
  NodeBits matching(const berth::Cycle& cycle, const Term& term) const {
    if (term.invalid) return NodeBits(cycle.nodes().size(), 0);
    NodeBits bits = all(cycle);
    NodeBits one(bits.size());
    for (const Requirement& r : term.all) {
      std::vector<berth::Id> values;
      for (const std::string& value : r.values) values.push_back(intern_.for_cycle(value));
      const berth::Requirement requirement{
          intern_.for_cycle(r.key), r.op, values.data(), static_cast<std::uint32_t>(values.size()), 0, r.number};
      labels_.match(cycle, requirement, one);
      for (std::size_t w = 0; w < bits.size(); ++w) bits[w] &= one[w];
    }
    return bits;
  }
  NodeBits matching(const berth::Cycle& cycle, const Terms& terms) const {
    if (!terms) return all(cycle);
    NodeBits bits(cycle.nodes().size(), 0);
    for (const Term& term : *terms) {
      const NodeBits one = matching(cycle, term);
      for (std::size_t w = 0; w < bits.size(); ++w) bits[w] |= one[w];
    }
    return bits;
  }

 private:
  berth::Labels labels_;
  berth::Intern intern_;
};

}  // namespace storage
