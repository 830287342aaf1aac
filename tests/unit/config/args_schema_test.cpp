// SPDX-License-Identifier: Apache-2.0
#include "config/args/args_schema.hpp"

#include <gtest/gtest.h>

#include "text/parse.hpp"

namespace berth::config {
namespace {

struct Outcome {
  std::string json;
  std::string problems;
};

Outcome complete(std::string_view schema_text, std::string_view args_text) {
  const Result<ArgsSchema> schema = ArgsSchema::parse(schema_text);
  EXPECT_TRUE(schema.ok()) << schema_text << ": " << (schema ? "" : schema.error().message);
  if (!schema) return {};
  text::Diagnostics problems;
  const Source source{"f", problems};
  const auto documents = text::parse(args_text, "f", problems);
  EXPECT_TRUE(problems.empty()) << problems.render();
  const text::Value* args = documents.empty() ? nullptr : &documents.front().root();
  std::string json = schema->complete(args, {{1, 1}, "args"}, source);
  return {std::move(json), problems.render()};
}

struct Case {
  std::string_view name, schema, args;
  std::string_view problem;  // empty: accepted
  std::string_view json;     // compared when accepted
};

class ArgsSchemaCase : public testing::TestWithParam<Case> {};

TEST_P(ArgsSchemaCase, AcceptsOrRefuses) {
  const Case& c = GetParam();
  const Outcome outcome = complete(c.schema, c.args);
  EXPECT_EQ(outcome.problems, c.problem.empty() ? "" : std::string(c.problem) + "\n");
  if (c.problem.empty()) {
    EXPECT_EQ(outcome.json, c.json);
  }
}

constexpr std::string_view k_n = R"({"properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}}})";
constexpr std::string_view k_shape = R"({"type": "object",
  "properties": {
    "type": {"type": "string", "enum": ["Least", "Ratio"]},
    "shape": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/point"}}},
  "if": {"properties": {"type": {"const": "Ratio"}}, "required": ["type"]},
  "then": {"required": ["shape"]},
  "else": {"properties": {"shape": false}},
  "$defs": {"point": {"type": "object", "additionalProperties": false, "required": ["at"],
                       "properties": {"at": {"type": "integer"}, "weight": {"type": "integer", "default": 1}}}}})";

const Case k_cases[] = {
    {"integer", k_n, "{n: 5}", "", R"({"n":5})"},
    {"integer_with_an_exponent", k_n, R"({"n": 4e0})", "", R"({"n":4})"},
    {"integer_out_of_range", k_n, "{n: 6}", "f:1:5: args.n: Invalid value: 6: not in valid range [1, 5]", ""},
    {"fraction", k_n, "{n: 1.5}", "f:1:5: args.n: Invalid value: 1.5: is a number, but must be an integer", ""},
    {"text", k_n, "{n: '1'}", R"(f:1:5: args.n: Invalid value: "1": is a string, but must be an integer)", ""},
    {"null_is_absent", k_n, "{n: null}", "", "{}"},
    {"no_args", k_n, "", "", "{}"},
    {"open_range", R"({"properties": {"n": {"exclusiveMinimum": 0}}})", "{n: 0}",
     "f:1:5: args.n: Invalid value: 0: not in valid range (0, inf)", ""},
    {"range_beyond_a_double", R"({"properties": {"n": {"maximum": 9007199254740992}}})", "{n: 9007199254740993}",
     "f:1:5: args.n: Invalid value: 9007199254740993: not in valid range (-inf, 9007199254740992]", ""},
    {"default", R"({"properties": {"a": {"default": [1]}, "b": {"type": "string"}}})", "{b: x}", "",
     R"({"a":[1],"b":"x"})"},
    {"default_of_a_null", R"({"properties": {"a": {"type": "integer", "default": 3}}})", "{a: ~}", "", R"({"a":3})"},
    {"defaults_inside_a_default", R"({"properties": {"a": {"default": {}, "properties": {"b": {"default": 2}}}}})",
     "{}", "", R"({"a":{"b":2}})"},
    {"nullable_keeps_null", R"({"properties": {"a": {"type": "integer", "nullable": true, "default": 3}}})",
     "{a: null}", "", R"({"a":null})"},
    {"null_type_keeps_null", R"({"properties": {"a": {"type": ["integer", "null"]}}})", "{a: null}", "",
     R"({"a":null})"},
    {"several_types", R"({"properties": {"a": {"type": ["integer", "string"]}}})", "{a: true}",
     "f:1:5: args.a: Invalid value: true: is a boolean, but must be an integer or a string", ""},
    {"enum", R"({"properties": {"a": {"enum": ["System", "List"]}}})", "{a: system}",
     R"(f:1:5: args.a: Unsupported value: "system": supported values: "System", "List" (did you mean "System"?))", ""},
    {"required", R"({"required": ["a", "b"]})", "{a: 1}", "f:1:1: args.b: Required value", ""},
    {"required_null", R"({"required": ["a"]})", "{a: null}", "f:1:1: args.a: Required value", ""},
    {"unknown_field", R"({"properties": {"shape": {}}, "additionalProperties": false})", "{shap: 1}",
     R"(f:1:2: args: unknown field "shap" (did you mean "shape"?))", ""},
    {"additional_properties", R"({"additionalProperties": {"type": "integer"}})", "{a: 1, b: x}",
     R"(f:1:11: args.b: Invalid value: "x": is a string, but must be an integer)", ""},
    {"open_object", R"({"properties": {}})", "{a: [1, {b: 2}]}", "", R"({"a":[1,{"b":2}]})"},
    {"pattern", R"({"properties": {"a": {"pattern": "^[a-z]+$"}}})", "{a: A}",
     R"(f:1:5: args.a: Invalid value: "A": must match ^[a-z]+$)", ""},
    {"pattern_found_anywhere", R"({"properties": {"a": {"pattern": "b"}}})", "{a: abc}", "", R"({"a":"abc"})"},
    {"empty_string", R"({"properties": {"a": {"minLength": 1}}})", "{a: ''}",
     R"(f:1:5: args.a: Invalid value: "": can not be empty)", ""},
    {"length_counts_characters", R"({"properties": {"a": {"maxLength": 2}}})", "{a: äö}", "", R"({"a":"äö"})"},
    {"unique_items", R"({"properties": {"a": {"uniqueItems": true}}})", "{a: [x, y, x]}",
     R"(f:1:12: args.a[2]: Duplicate value: "x")", ""},
    {"unique_by_key", R"({"properties": {"a": {"x-kubernetes-list-map-keys": ["name"]}}})",
     "{a: [{name: x, w: 1}, {name: x}]}", R"(f:1:23: args.a[1]: Duplicate value: "x")", ""},
    {"element", R"({"properties": {"a": {"items": {"type": "string"}}}})", "{a: [x, 2]}",
     "f:1:9: args.a[1]: Invalid value: 2: is a number, but must be a string", ""},
    {"item_count", R"({"properties": {"a": {"minItems": 1}}})", "{a: []}",
     "f:1:5: args.a: Invalid value: []: must have at least 1 elements", ""},
    {"error_message", R"({"properties": {"a": {"minimum": 0, "errorMessage": "must be zero or positive"}}})", "{a: -1}",
     "f:1:5: args.a: Invalid value: -1: must be zero or positive", ""},
    {"forbidden", R"({"properties": {"a": {"not": {}, "errorMessage": "remove it"}}})", "{a: 1}",
     "f:1:5: args.a: Invalid value: 1: remove it", ""},
    {"duration", R"({"properties": {"a": {"format": "go-duration", "formatMinimum": "1s"}}})", "{a: 900ms}",
     R"(f:1:5: args.a: Invalid value: "900ms": must be at least 1s)", ""},
    {"no_duration", R"({"properties": {"a": {"format": "go-duration"}}})", "{a: soon}",
     R"(f:1:5: args.a: Invalid value: "soon": is no duration (such as "15s", "1m30s" or "300ms"))", ""},
    {"int32", R"({"properties": {"a": {"type": "integer", "format": "int32"}}})", "{a: 3000000000}",
     "f:1:5: args.a: Invalid value: 3000000000: does not fit into int32", ""},
    {"any_of", R"({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})", "{c: 1}",
     R"(f:1:1: args: Invalid value: {"c":1}: meets none of the allowed forms)", ""},
    {"one_of", R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})", "{a: 1, b: 1}",
     R"(f:1:1: args: Invalid value: {"a":1,"b":1}: must meet exactly one of the allowed forms)", ""},
    {"all_of", R"({"allOf": [{"required": ["a"]}, {"properties": {"a": {"maximum": 1}}}]})", "{a: 2}",
     "f:1:5: args.a: Invalid value: 2: not in valid range (-inf, 1]", ""},
    {"envelope_is_no_arg", R"({"properties": {"kind": {"type": "string"}}, "additionalProperties": false})",
     "{apiVersion: v, kind: K}", "", "{}"},
    {"if_then", k_shape, "{type: Ratio}", "f:1:1: args.shape: Required value", ""},
    {"if_else", k_shape, "{type: Least, shape: [{at: 1}]}",
     R"(f:1:22: args.shape: Invalid value: [{"at":1}]: may not be set)", ""},
    {"reference_with_default", k_shape, "{type: Ratio, shape: [{at: 1}, {at: 2, weight: 0}]}", "",
     R"({"type":"Ratio","shape":[{"at":1,"weight":1},{"at":2,"weight":0}]})"},
    {"reference_checked", k_shape, "{type: Ratio, shape: [{at: x}]}",
     R"(f:1:28: args.shape[0].at: Invalid value: "x": is a string, but must be an integer)", ""},
    {"args_that_are_no_object", k_n, "[1]", "f:1:1: args: is a list, but must be an object", ""},
};

INSTANTIATE_TEST_SUITE_P(ArgsSchema, ArgsSchemaCase, testing::ValuesIn(k_cases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ArgsSchema, ReportsEveryMistake) {
  const Outcome outcome = complete(
      R"({"properties": {"a": {"type": "integer"}, "b": {"enum": ["x"]}}, "required": ["c"], "additionalProperties": false})",
      "{a: one, b: y, d: 1}");
  EXPECT_EQ(std::count(outcome.problems.begin(), outcome.problems.end(), '\n'), 4) << outcome.problems;
}

TEST(ArgsSchema, OutputDoesNotDependOnTheOrderOfTheArgs) {
  constexpr std::string_view k_schema = R"({"properties": {"a": {}, "b": {}}})";
  EXPECT_EQ(complete(k_schema, "{b: 1, a: 2}").json, complete(k_schema, "{a: 2, b: 1}").json);
}

TEST(ArgsSchema, EndsOnAReferenceToItself) {
  const Outcome outcome = complete(R"({"properties": {"a": {"$ref": "#/$defs/x"}},
                                       "$defs": {"x": {"allOf": [{"$ref": "#/$defs/x"}]}}})",
                                   "{a: 1}");
  EXPECT_NE(outcome.problems.find("nested too deeply"), std::string::npos);
}

TEST(ArgsSchema, RefusesAVeryLongStringInsteadOfMatchingIt) {
  const Outcome outcome =
      complete(R"({"properties": {"a": {"pattern": "^(a+)+$"}}})", "{a: '" + std::string(100'000, 'a') + "'}");
  EXPECT_NE(outcome.problems.find("is longer than 1024 bytes"), std::string::npos);
}

struct BadSchema {
  std::string_view text, message;
};

TEST(ArgsSchema, RefusesSchemasThatItCannotHonour) {
  const BadSchema cases[] = {
      {R"({"type": "int"})", R"(/type: "int" is no type)"},
      {R"({"properties": {"a": {"multipleOf": 2}}})", R"(/properties/a/multipleOf: keyword "multipleOf" is not known)"},
      {R"({"properties": {"a": {"pattern": "["}}})", "/properties/a/pattern: \"[\" is no regular expression"},
      {R"({"$ref": "http://x"})", R"(/$ref: "http://x" leads nowhere)"},
      {R"({"items": 7})", "/items: a schema is an object, true or false"},
      {R"({"minimum": "1"})", "/minimum: must be a number"},
      {R"({"enum": []})", "/enum: must be a list with elements"},
      {R"({"format": "email"})", R"(/format: format "email" is not known)"},
      {R"({"type": "object", "type": "array"})", "stands here a second time"},
      {R"({"type": )", ""},
      {"", "holds no schema"},
  };
  for (const BadSchema& c : cases) {
    const Result<ArgsSchema> schema = ArgsSchema::parse(c.text);
    ASSERT_FALSE(schema.ok()) << c.text;
    EXPECT_NE(schema.error().message.find(c.message), std::string::npos) << c.text << ": " << schema.error().message;
  }
}

}  // namespace
}  // namespace berth::config
