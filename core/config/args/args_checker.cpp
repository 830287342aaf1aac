// SPDX-License-Identifier: Apache-2.0
#include "config/args/args_checker.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

// A schema that refers to itself without descending into the value would never end.
constexpr std::size_t k_depth_max = 128;
// std::regex recurses once per character.
constexpr std::size_t k_matched_bytes_max = 1024;

bool is_of_type(const text::Value& value, std::string_view type) {
  if (type == "integer") return value.integer().has_value();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_sequence();
  if (type == "object") return value.is_mapping();
  return value.is_null();
}

std::string_view type_phrase(std::string_view type) {
  if (type == "integer") return "an integer";
  if (type == "number") return "a number";
  if (type == "string") return "a string";
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list";
  if (type == "object") return "an object";
  return "null";
}

/// "an integer or a string"; empty when the schema has no type or the value has one of them.
std::string missed_type(const text::Value& schema, const text::Value& value) {
  const text::Value* type = schema.find("type");
  if (type == nullptr) return {};
  if (type->is_string())
    return is_of_type(value, type->text()) ? std::string{} : std::string(type_phrase(type->text()));
  std::string phrase;
  for (const text::Value& one : type->elements()) {
    if (is_of_type(value, one.text())) return {};
    if (!phrase.empty()) phrase += " or ";
    phrase += type_phrase(one.text());
  }
  return phrase;
}

bool is_nullable(const text::Value& schema) {
  const text::Value* nullable = schema.find("nullable");
  return nullable != nullptr && nullable->boolean();
}

/// Below 0, 0 or above: exact where both are integers, which a double cannot promise beyond 2^53.
int compare(const text::Value& a, const text::Value& b) {
  if (const auto x = a.integer(), y = b.integer(); x && y) return *x < *y ? -1 : static_cast<int>(*x > *y);
  const double x = a.real().value_or(0), y = b.real().value_or(0);
  return x < y ? -1 : static_cast<int>(x > y);
}

std::string range_text(const text::Value& schema) {
  std::string out = "not in valid range ";
  if (const text::Value* least = schema.find("exclusiveMinimum"))
    out += fmt::format("({}, ", least->text());
  else if (const text::Value* minimum = schema.find("minimum"))
    out += fmt::format("[{}, ", minimum->text());
  else
    out += "(-inf, ";
  if (const text::Value* most = schema.find("exclusiveMaximum")) return out + fmt::format("{})", most->text());
  if (const text::Value* maximum = schema.find("maximum")) return out + fmt::format("{}]", maximum->text());
  return out + "inf)";
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string child_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// Members that say of which type the args are; they are no args.
bool is_envelope(std::string_view key) { return key == "apiVersion" || key == "kind"; }

std::vector<std::string> property_names(const text::Value& schema) {
  std::vector<std::string> names;
  if (const text::Value* properties = schema.find("properties"))
    for (const text::Member& property : properties->members()) names.emplace_back(property.key);
  return names;
}

/// Puts a separator in front of all but the first member or element.
class Joined {
 public:
  explicit Joined(std::string& out) : out_(out) {}
  void next() {
    if (std::exchange(any_, true)) out_ += ',';
  }
  void key(std::string_view name) {
    next();
    text::append_json_string(out_, name);
    out_ += ':';
  }

 private:
  std::string& out_;
  bool any_ = false;
};

}  // namespace

std::string ArgsChecker::complete(const text::Value& args, const Place& place) {
  std::string out;
  if (!args.is_mapping()) {
    source_.report(place, fmt::format("is {}, but must be an object", kind_name(args.kind())));
    return "{}";
  }
  const text::Value& schema = follow(root_);
  if (schema.is_mapping())
    check_mapping(schema, args, place, out);
  else
    out = text::to_json(args);
  check_alternatives(schema, args, place);
  return out;
}

const text::Value& ArgsChecker::follow(const text::Value& schema) const {
  const text::Value* at = &schema;
  for (std::size_t hops = 0; hops < k_depth_max; ++hops) {
    const text::Value* reference = at->find("$ref");
    if (reference == nullptr) break;
    at = resolve_reference(root_, reference->text());
  }
  return *at;
}

void ArgsChecker::invalid(const text::Value& schema, const text::Value& value, const Place& place,
                          std::string_view sentence, std::string advice) {
  const text::Value* message = schema.find("errorMessage");
  source_.report(place,
                 fmt::format("Invalid value: {}: {}", shown(value), message != nullptr ? message->text() : sentence),
                 std::move(advice));
}

bool ArgsChecker::counts_as_absent(const text::Value& schema, const text::Value& value) const {
  if (!value.is_null()) return false;
  const text::Value& followed = follow(schema);
  return !is_nullable(followed) && (followed.find("type") == nullptr || !missed_type(followed, value).empty());
}

bool ArgsChecker::passes(const text::Value& schema, const text::Value& value) {
  text::Diagnostics unheard;
  const Source silent{{}, unheard};
  ArgsChecker other(root_, silent);
  other.outermost_ = outermost_;
  other.depth_ = depth_;
  std::string unused;
  other.check(schema, value, {}, unused);
  return unheard.empty();
}

void ArgsChecker::check(const text::Value& given, const text::Value& value, const Place& place, std::string& out) {
  const text::Value& schema = follow(given);
  if (++depth_ > k_depth_max) {
    source_.report(place, "is nested too deeply");
    out += "null";
  } else if (const std::string wanted = missed_type(schema, value);
             !wanted.empty() && !(value.is_null() && is_nullable(schema))) {
    source_.report(
        place, fmt::format("Invalid value: {}: is {}, but must be {}", shown(value), kind_name(value.kind()), wanted));
    out += "null";
  } else {
    if (schema.is_boolean() && !schema.boolean()) invalid(schema, value, place, "may not be set");
    check_scalar(schema, value, place);
    if (value.is_mapping())
      check_mapping(schema, value, place, out);
    else if (value.is_sequence())
      check_sequence(schema, value, place, out);
    else if (const auto integer = value.integer())
      out += std::to_string(*integer);  // "1e3" and "2.0" in the form that every plugin can read
    else
      out += text::to_json(value);
    check_alternatives(schema, value, place);
  }
  --depth_;
}

void ArgsChecker::check_scalar(const text::Value& schema, const text::Value& value, const Place& place) {
  const text::Value* constant = schema.find("const");
  if (constant != nullptr && text::to_json(*constant) != text::to_json(value))
    invalid(schema, value, place, "must be " + text::to_json(*constant));
  if (const text::Value* choices = schema.find("enum")) {
    std::vector<std::string> names;
    bool found = false;
    for (const text::Value& choice : choices->elements()) {
      found = found || text::to_json(choice) == text::to_json(value);
      names.emplace_back(choice.is_string() ? std::string(choice.text()) : text::to_json(choice));
    }
    if (!found)
      source_.report(place,
                     fmt::format("Unsupported value: {}: supported values: {}", shown(value), quoted_list(names)),
                     did_you_mean(value.text(), names));
  }
  if (value.is_number()) check_range(schema, value, place);
  if (value.is_string()) check_string(schema, value, place);
  check_format(schema, value, place);
}

void ArgsChecker::check_range(const text::Value& schema, const text::Value& value, const Place& place) {
  const auto violates = [&](std::string_view keyword, int sign, bool exclusive) {
    const text::Value* bound = schema.find(keyword);
    if (bound == nullptr) return false;
    const int order = compare(value, *bound) * sign;
    return order < 0 || (exclusive && order == 0);
  };
  if (violates("minimum", 1, false) || violates("exclusiveMinimum", 1, true) || violates("maximum", -1, false) ||
      violates("exclusiveMaximum", -1, true))
    invalid(schema, value, place, range_text(schema));
}

void ArgsChecker::check_string(const text::Value& schema, const text::Value& value, const Place& place) {
  const auto length = static_cast<std::int64_t>(code_points(value.text()));
  if (const text::Value* least = schema.find("minLength"); least != nullptr && length < least->integer().value_or(0))
    invalid(schema, value, place, length == 0 ? "can not be empty" : "is shorter than " + std::string(least->text()));
  if (const text::Value* most = schema.find("maxLength"); most != nullptr && length > most->integer().value_or(0))
    invalid(schema, value, place, "is longer than " + std::string(most->text()));
  if (const text::Value* pattern = schema.find("pattern")) {
    const std::string text(value.text());
    if (text.size() > k_matched_bytes_max)
      invalid(schema, value, place, fmt::format("is longer than {} bytes", k_matched_bytes_max));
    else if (!std::regex_search(text, std::regex(std::string(pattern->text()), std::regex::ECMAScript)))
      invalid(schema, value, place, fmt::format("must match {}", pattern->text()));
  }
}

void ArgsChecker::check_format(const text::Value& schema, const text::Value& value, const Place& place) {
  const text::Value* format = schema.find("format");
  if (format == nullptr) return;
  if (format->text() != "go-duration") {
    if (!value.is_number()) return;
    const auto number = value.integer();
    const bool narrow = format->text() == "int32";
    if (!number || (narrow && (*number < std::numeric_limits<std::int32_t>::min() ||
                               *number > std::numeric_limits<std::int32_t>::max())))
      invalid(schema, value, place, fmt::format("does not fit into {}", format->text()));
    return;
  }
  if (!value.is_string()) return;
  const auto ns = parse_duration_ns(value.text());
  if (!ns) return invalid(schema, value, place, "is no duration", "such as \"15s\", \"1m30s\" or \"300ms\"");
  const text::Value* least = schema.find("formatMinimum");
  const text::Value* most = schema.find("formatMaximum");
  if (least != nullptr && *ns < parse_duration_ns(least->text()))
    invalid(schema, value, place, "must be at least " + std::string(least->text()));
  if (most != nullptr && *ns > parse_duration_ns(most->text()))
    invalid(schema, value, place, "must be at most " + std::string(most->text()));
}

void ArgsChecker::check_sequence(const text::Value& schema, const text::Value& value, const Place& place,
                                 std::string& out) {
  const auto count = static_cast<std::int64_t>(value.elements().size());
  if (const text::Value* least = schema.find("minItems"); least != nullptr && count < least->integer().value_or(0))
    invalid(schema, value, place, fmt::format("must have at least {} elements", least->text()));
  if (const text::Value* most = schema.find("maxItems"); most != nullptr && count > most->integer().value_or(0))
    invalid(schema, value, place, fmt::format("must have at most {} elements", most->text()));
  check_repetition(schema, value, place);
  const text::Value* items = schema.find("items");
  Joined joined(out);
  out += '[';
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    joined.next();
    const text::Value& element = value.elements()[i];
    if (items != nullptr)
      check(*items, element, {element.position(), fmt::format("{}[{}]", place.path, i)}, out);
    else
      out += text::to_json(element);
  }
  out += ']';
}

void ArgsChecker::check_repetition(const text::Value& schema, const text::Value& value, const Place& place) {
  const text::Value* unique = schema.find("uniqueItems");
  const text::Value* keys = schema.find("x-kubernetes-list-map-keys");
  if ((unique == nullptr || !unique->boolean()) && keys == nullptr) return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    const text::Value& element = value.elements()[i];
    std::string identity;
    if (keys == nullptr) {
      identity = text::to_json(element);
    } else {
      Joined joined(identity);
      for (const text::Value& key : keys->elements()) {
        const text::Value* part = element.find(key.text());
        joined.next();
        identity += part != nullptr ? text::to_json(*part) : "null";
      }
    }
    if (!seen.insert(identity).second)
      source_.report({element.position(), fmt::format("{}[{}]", place.path, i)}, "Duplicate value: " + identity);
  }
}

void ArgsChecker::check_unknown(const text::Value& schema, const text::Member& member, const Place& place,
                                std::string& out) {
  const text::Value* additional = schema.find("additionalProperties");
  if (additional != nullptr && additional->is_boolean() && !additional->boolean()) {
    const std::vector<std::string> known = property_names(schema);
    std::string advice = did_you_mean(member.key, known);
    if (advice.empty() && !known.empty()) advice = "known here: " + quoted_list(known);
    source_.report({member.key_position, place.path}, "unknown field " + quoted(member.key), std::move(advice));
    out += "null";
  } else if (additional != nullptr && additional->is_mapping()) {
    check(*additional, member.value, {member.value.position(), child_path(place.path, member.key)}, out);
  } else {
    out += text::to_json(member.value);
  }
}

void ArgsChecker::check_mapping(const text::Value& schema, const text::Value& value, const Place& place,
                                std::string& out) {
  const bool outermost = std::exchange(outermost_, false);
  const text::Value* properties = schema.find("properties");
  Joined joined(out);
  out += '{';
  if (properties != nullptr) {
    for (const text::Member& property : properties->members()) {
      if (outermost && is_envelope(property.key)) continue;
      const text::Value* member = value.find(property.key);
      const std::string path = child_path(place.path, property.key);
      if (member != nullptr && !counts_as_absent(property.value, *member)) {
        joined.key(property.key);
        check(property.value, *member, {member->position(), path}, out);
      } else if (const text::Value* initial = follow(property.value).find("default")) {
        joined.key(property.key);
        check(property.value, *initial, {place.position, path}, out);
      }
    }
  }
  for (const text::Member& member : value.members()) {
    if (properties != nullptr && properties->find(member.key) != nullptr) continue;
    if (outermost && is_envelope(member.key)) continue;
    joined.key(member.key);
    check_unknown(schema, member, place, out);
  }
  out += '}';
  if (const text::Value* required = schema.find("required")) {
    for (const text::Value& name : required->elements()) {
      const text::Value* member = value.find(name.text());
      if (member == nullptr || member->is_null())
        source_.report({place.position, child_path(place.path, name.text())}, "Required value");
    }
  }
}

void ArgsChecker::check_alternatives(const text::Value& schema, const text::Value& value, const Place& place) {
  const auto passing = [&](const text::Value& list) {
    return std::count_if(list.elements().begin(), list.elements().end(),
                         [&](const text::Value& one) { return passes(one, value); });
  };
  std::string unused;
  if (const text::Value* all = schema.find("allOf"))
    for (const text::Value& one : all->elements()) check(one, value, place, unused);
  if (const text::Value* any = schema.find("anyOf"); any != nullptr && passing(*any) == 0)
    invalid(schema, value, place, "meets none of the allowed forms");
  if (const text::Value* one = schema.find("oneOf"); one != nullptr && passing(*one) != 1)
    invalid(schema, value, place, "must meet exactly one of the allowed forms");
  if (const text::Value* refused = schema.find("not"); refused != nullptr && passes(*refused, value))
    invalid(schema, value, place, "may not be set like this");
  if (const text::Value* condition = schema.find("if")) {
    const text::Value* branch = schema.find(passes(*condition, value) ? "then" : "else");
    if (branch != nullptr) check(*branch, value, place, unused);
  }
}

}  // namespace berth::config
