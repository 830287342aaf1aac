// SPDX-License-Identifier: Apache-2.0
#include "config/args/args_schema.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "config/args/args_checker.hpp"
#include "config/read/names.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

/// What may stand behind a keyword.
enum class Operand : std::uint8_t {
  anything,
  schema,
  schemas,
  named_schemas,
  number,
  count,
  boolean,
  text,
  texts,
  list,
  type
};

struct Keyword {
  std::string_view name;
  Operand operand;
};
constexpr std::array k_keywords = {
    Keyword{"$comment", Operand::anything},
    Keyword{"$defs", Operand::named_schemas},
    Keyword{"$id", Operand::anything},
    Keyword{"$ref", Operand::text},
    Keyword{"$schema", Operand::anything},
    Keyword{"additionalProperties", Operand::schema},
    Keyword{"allOf", Operand::schemas},
    Keyword{"anyOf", Operand::schemas},
    Keyword{"const", Operand::anything},
    Keyword{"default", Operand::anything},
    Keyword{"deprecated", Operand::anything},
    Keyword{"description", Operand::anything},
    Keyword{"else", Operand::schema},
    Keyword{"enum", Operand::list},
    Keyword{"errorMessage", Operand::text},
    Keyword{"examples", Operand::anything},
    Keyword{"exclusiveMaximum", Operand::number},
    Keyword{"exclusiveMinimum", Operand::number},
    Keyword{"format", Operand::text},
    Keyword{"formatMaximum", Operand::text},
    Keyword{"formatMinimum", Operand::text},
    Keyword{"if", Operand::schema},
    Keyword{"items", Operand::schema},
    Keyword{"maxItems", Operand::count},
    Keyword{"maxLength", Operand::count},
    Keyword{"maximum", Operand::number},
    Keyword{"minItems", Operand::count},
    Keyword{"minLength", Operand::count},
    Keyword{"minimum", Operand::number},
    Keyword{"not", Operand::schema},
    Keyword{"nullable", Operand::boolean},
    Keyword{"oneOf", Operand::schemas},
    Keyword{"pattern", Operand::text},
    Keyword{"properties", Operand::named_schemas},
    Keyword{"required", Operand::texts},
    Keyword{"then", Operand::schema},
    Keyword{"title", Operand::anything},
    Keyword{"type", Operand::type},
    Keyword{"uniqueItems", Operand::boolean},
    Keyword{"x-kubernetes-list-map-keys", Operand::texts},
};

const Keyword* find_keyword(std::string_view name) {
  for (const Keyword& keyword : k_keywords)
    if (keyword.name == name) return &keyword;
  return nullptr;
}

/// Finds the first thing in a schema that berth does not understand.
class Lint {
 public:
  explicit Lint(const text::Value& root) : root_(root) {}

  std::optional<std::string> schema(const text::Value& value, const std::string& where) {
    if (value.is_boolean()) return std::nullopt;
    if (!value.is_mapping()) return fmt::format("{}: a schema is an object, true or false", shown_at(where));
    for (const text::Member& member : value.members()) {
      const std::string at = where + "/" + std::string(member.key);
      if (member.key.substr(0, 2) == "x-" && find_keyword(member.key) == nullptr) continue;
      const Keyword* keyword = find_keyword(member.key);
      if (keyword == nullptr) return fmt::format("{}: keyword \"{}\" is not known", at, member.key);
      if (auto trouble = operand(keyword->operand, member.value, at)) return trouble;
      if (auto trouble = meaning(member.key, member.value, at)) return trouble;
    }
    return std::nullopt;
  }

 private:
  static std::string shown_at(const std::string& where) { return where.empty() ? "/" : where; }

  std::optional<std::string> operand(Operand wanted, const text::Value& value, const std::string& at) {
    const auto must_be = [&](bool good, std::string_view what) -> std::optional<std::string> {
      if (good) return std::nullopt;
      return fmt::format("{}: must be {}", at, what);
    };
    switch (wanted) {
      case Operand::anything:
        return std::nullopt;
      case Operand::schema:
        return schema(value, at);
      case Operand::schemas:
        return all(value, at);
      case Operand::named_schemas:
        return named(value, at);
      case Operand::number:
        return must_be(value.real().has_value(), "a number");
      case Operand::count:
        return must_be(value.integer().value_or(-1) >= 0, "a count");
      case Operand::boolean:
        return must_be(value.is_boolean(), "true or false");
      case Operand::text:
        return must_be(value.is_string(), "a string");
      case Operand::list:
        return must_be(value.is_sequence() && !value.elements().empty(), "a list with elements");
      case Operand::texts:
        return must_be(are_texts(value), "a list of strings");
      case Operand::type:
        return must_be(value.is_string() || are_texts(value), "a type or a list of types");
    }
    return std::nullopt;
  }

  std::optional<std::string> all(const text::Value& list, const std::string& at) {
    if (!list.is_sequence() || list.elements().empty()) return fmt::format("{}: must be a list of schemas", at);
    for (std::size_t i = 0; i < list.elements().size(); ++i)
      if (auto trouble = schema(list.elements()[i], fmt::format("{}/{}", at, i))) return trouble;
    return std::nullopt;
  }

  std::optional<std::string> named(const text::Value& mapping, const std::string& at) {
    if (!mapping.is_mapping()) return fmt::format("{}: must be an object of schemas", at);
    for (const text::Member& member : mapping.members())
      if (auto trouble = schema(member.value, at + "/" + std::string(member.key))) return trouble;
    return std::nullopt;
  }

  static bool are_texts(const text::Value& list) {
    if (!list.is_sequence()) return false;
    for (const text::Value& element : list.elements())
      if (!element.is_string()) return false;
    return true;
  }

  std::optional<std::string> meaning(std::string_view key, const text::Value& value, const std::string& at) const {
    if (key == "type") {
      if (value.is_string() && !is_type_name(value.text()))
        return fmt::format("{}: \"{}\" is no type", at, value.text());
      for (const text::Value& element : value.elements())
        if (!is_type_name(element.text())) return fmt::format("{}: \"{}\" is no type", at, element.text());
    } else if (key == "format" && value.text() != "int32" && value.text() != "int64" && value.text() != "go-duration") {
      return fmt::format("{}: format \"{}\" is not known", at, value.text());
    } else if ((key == "formatMinimum" || key == "formatMaximum") && !parse_duration_ns(value.text())) {
      return fmt::format("{}: \"{}\" is no duration", at, value.text());
    } else if (key == "$ref" && resolve_reference(root_, value.text()) == nullptr) {
      return fmt::format("{}: \"{}\" leads nowhere; only \"#/$defs/<name>\" is supported", at, value.text());
    } else if (key == "pattern") {
      try {
        (void)std::regex(std::string(value.text()), std::regex::ECMAScript);
      } catch (const std::regex_error& error) {
        return fmt::format("{}: \"{}\" is no regular expression: {}", at, value.text(), error.what());
      }
    }
    return std::nullopt;
  }

  static bool is_type_name(std::string_view name) {
    constexpr std::array<std::string_view, 7> k_types = {"null",   "boolean", "integer", "number",
                                                         "string", "array",   "object"};
    for (const std::string_view type : k_types)
      if (type == name) return true;
    return false;
  }

  const text::Value& root_;
};

}  // namespace

const text::Value* resolve_reference(const text::Value& root, std::string_view reference) noexcept {
  constexpr std::string_view k_prefix = "#/$defs/";
  if (reference.substr(0, k_prefix.size()) != k_prefix) return nullptr;
  const text::Value* definitions = root.find("$defs");
  return definitions != nullptr ? definitions->find(reference.substr(k_prefix.size())) : nullptr;
}

Result<ArgsSchema> ArgsSchema::parse(std::string_view text) {
  text::Diagnostics diagnostics;
  std::vector<text::Document> documents = text::parse(text, "", diagnostics);
  if (diagnostics.empty() && documents.size() == 1)
    text::report_duplicates(documents.front(), documents.front().root(), diagnostics);
  if (!diagnostics.empty()) {
    const text::Diagnostic& first = diagnostics.all().front();
    return Error{fmt::format("{} at {}:{}", first.message, first.position.line, first.position.column)};
  }
  if (documents.size() != 1) return Error{"holds no schema"};
  const text::Value& root = documents.front().root();
  if (auto trouble = Lint(root).schema(root, "")) return Error{std::move(*trouble)};
  return ArgsSchema(std::move(documents.front()));
}

std::string ArgsSchema::complete(const text::Value* args, const Place& place, const Source& source) const {
  static const std::vector<text::Document> nothing = [] {
    text::Diagnostics none;
    return text::parse_json("{}", "", none);
  }();
  ArgsChecker checker(document_.root(), source);
  return checker.complete(args != nullptr ? *args : nothing.front().root(), place);
}

}  // namespace berth::config
