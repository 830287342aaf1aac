// SPDX-License-Identifier: Apache-2.0
#include "added_affinity.hpp"

#include <berth/names.hpp>

namespace node_affinity {
namespace {

using Errors = std::vector<std::string>;

std::uint32_t operator_of(std::string_view word) {
  constexpr std::string_view k_words[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  for (std::uint32_t op = BERTH_OP_IN; op <= BERTH_OP_LT; ++op) {
    if (word == k_words[op - BERTH_OP_IN]) return op;
  }
  return 0;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// A list as the bad value of a field error: JSON.
std::string json_list(const berth::Json& values) {
  if (values.is_null()) return "null";
  std::string out = "[";
  for (std::size_t i = 0; i < values.items().size(); ++i) {
    out += (i == 0 ? "" : ",") + quoted(values.items()[i].string("values"));
  }
  return out + "]";
}

std::string sentence(const Errors& problems) {
  std::string out;
  for (const std::string& problem : problems) out += (out.empty() ? "" : "; ") + problem;
  return out;
}

std::string join(const Errors& errors) {
  if (errors.size() == 1) return errors[0];
  std::string out = "[";
  for (std::size_t i = 0; i < errors.size(); ++i) out += (i == 0 ? "" : ", ") + errors[i];
  return out + "]";
}

void check_expression(const berth::Json& json, std::uint32_t op, const std::string& path, Errors& errors) {
  const std::string key = json["key"].string_or("key", "");
  const berth::Json& list = json["values"];
  const auto& values = list.items();
  if (const std::string error = sentence(berth::qualified_name_problems(key)); !error.empty()) {
    errors.push_back(path + ".key: Invalid value: " + quoted(key) + ": " + error);
  }
  const auto refuse_values = [&](const char* rule) {
    errors.push_back(path + ".values: Invalid value: " + json_list(list) + ": " + rule);
  };
  if ((op == BERTH_OP_IN || op == BERTH_OP_NOT_IN) && values.empty()) {
    refuse_values("for 'in', 'notin' operators, values set can't be empty");
  }
  if ((op == BERTH_OP_EXISTS || op == BERTH_OP_DOES_NOT_EXIST) && !values.empty()) {
    refuse_values("values set must be empty for exists and does not exist");
  }
  const bool compares = op == BERTH_OP_GT || op == BERTH_OP_LT;
  if (compares && values.size() != 1) refuse_values("for 'Gt', 'Lt' operators, exactly one value is required");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& value = values[i].string("values");
    const std::string at = path + ".values[" + std::to_string(i) + "]";
    if (compares && !berth::parse_integer(value)) {
      errors.push_back(at + ": Invalid value: " + quoted(value) +
                       ": for 'Gt', 'Lt' operators, the value must be an integer");
    }
    if (const std::string error = sentence(berth::label_value_problems(value)); !error.empty()) {
      errors.push_back(at + "[" + key + "]: Invalid value: " + quoted(value) + ": " + error);
    }
  }
}

void check_field(const berth::Json& json, const std::string& path, Errors& errors) {
  if (json["values"].items().size() != 1) {
    errors.push_back(path + ".values: Invalid value: " + json_list(json["values"]) + ": must have one element");
  }
}

}  // namespace

std::span<const berth::Requirement> AddedAffinity::read_requirements(const berth::Json& json, const std::string& path,
                                                                     bool fields, berth::Intern intern,
                                                                     Errors& errors) {
  std::vector<berth::Requirement>& out = requirements_.emplace_back();
  for (std::size_t i = 0; i < json.items().size(); ++i) {
    const berth::Json& item = json.items()[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    const std::string word = item["operator"].string_or(at + ".operator", "");
    const std::uint32_t op = operator_of(word);
    if (op == 0 || (fields && op != BERTH_OP_IN && op != BERTH_OP_NOT_IN)) {
      errors.push_back(at + ".operator: Unsupported value: " + quoted(word) + ": supported values: " +
                       (fields ? R"("In", "NotIn")" : R"("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")"));
      continue;
    }
    fields ? check_field(item, at, errors) : check_expression(item, op, at, errors);
    std::vector<berth::Id>& values = values_.emplace_back();
    for (const berth::Json& value : item["values"].items()) values.push_back(intern(value.string(at + ".values")));
    berth::Requirement requirement{};
    requirement.key = intern(item["key"].string_or(at + ".key", ""));
    requirement.op = op;
    requirement.values = values.data();
    requirement.value_count = static_cast<std::uint32_t>(values.size());
    if ((op == BERTH_OP_GT || op == BERTH_OP_LT) && values.size() == 1) {
      requirement.number = berth::parse_integer(item["values"].items()[0].string(at)).value_or(0);
    }
    out.push_back(requirement);
  }
  return out;
}

std::optional<berth::NodeTerm> AddedAffinity::read_term(const berth::Json& json, const std::string& path,
                                                        berth::Intern intern, Errors& errors) {
  const berth::Json& expressions = json["matchExpressions"];
  const berth::Json& fields = json["matchFields"];
  if (expressions.items().empty() && fields.items().empty()) return std::nullopt;
  const auto e = read_requirements(expressions, path + "matchExpressions", false, intern, errors);
  const auto f = read_requirements(fields, path + "matchFields", true, intern, errors);
  berth::NodeTerm term{};
  term.expressions = e.data();
  term.expression_count = static_cast<std::uint32_t>(e.size());
  term.fields = f.data();
  term.field_count = static_cast<std::uint32_t>(f.size());
  return term;
}

AddedAffinity::AddedAffinity(const berth::Json& args, berth::Intern intern) {
  const berth::Json& added = args["addedAffinity"].object("addedAffinity");
  const berth::Json& required = added["requiredDuringSchedulingIgnoredDuringExecution"];
  const berth::Json& preferred = added["preferredDuringSchedulingIgnoredDuringExecution"];
  if (!required.is_null()) {
    Errors errors;
    has_required_ = true;
    const auto& terms = required["nodeSelectorTerms"].array("nodeSelectorTerms");
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto term = read_term(terms[i], "nodeSelectorTerms[" + std::to_string(i) + "].", intern, errors);
      if (term) required_.push_back(*term);
    }
    if (!errors.empty()) {
      throw berth::BadArgs("parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: " + join(errors));
    }
  }
  if (!preferred.items().empty()) {
    Errors errors;
    has_preferred_ = true;
    for (std::size_t i = 0; i < preferred.items().size(); ++i) {
      const berth::Json& item = preferred.items()[i];
      const std::int64_t weight = item["weight"].integer_or("weight", 0);
      if (weight == 0) continue;
      auto term = read_term(item["preference"], "[" + std::to_string(i) + "].", intern, errors);
      if (!term) continue;
      term->weight = static_cast<std::int32_t>(weight);
      preferred_.push_back(*term);
    }
    if (!errors.empty()) {
      throw berth::BadArgs("parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: " + join(errors));
    }
  }
}

}  // namespace node_affinity
