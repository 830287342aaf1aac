// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decode/names.hpp"
#include "decode/selectors/selector_decoder.hpp"
#include "decoding.hpp"

namespace berth::decode {
namespace {

using model::Operator;
using Kind = model::Selector::Kind;

model::Selector selector(Decoding& in, std::string_view yaml) {
  const auto pod = in.with_spec("topologySpreadConstraints: [{labelSelector: " + std::string(yaml) + "}]");
  return pod->spec->spread.empty() ? model::Selector{} : pod->spec->spread[0].selector;
}

TEST(LabelSelector, AbsentSelectsNothingAndEmptyEverything) {
  Decoding in;
  EXPECT_EQ(selector(in, "null").kind, Kind::nothing);
  EXPECT_EQ(selector(in, "{}").kind, Kind::match);
  EXPECT_TRUE(selector(in, "{}").requirements.empty());
}

TEST(LabelSelector, JoinsLabelsAndExpressions) {
  Decoding in;
  const model::Selector got =
      selector(in,
               "{matchLabels: {a: x, b: ''}, matchExpressions: [{key: c, operator: NotIn, values: [p, q]},"
               " {key: d, operator: Exists}, {key: e/f, operator: DoesNotExist, values: []}]}");
  ASSERT_EQ(got.kind, Kind::match) << got.error;
  ASSERT_EQ(got.requirements.size(), 5u);
  const auto has = [&](std::string_view key, Operator op, std::vector<Symbol> values) {
    for (const model::Requirement& r : got.requirements)
      if (r.key == in(key)) return r.op == op && r.values == values;
    return false;
  };
  EXPECT_TRUE(has("a", Operator::in, {in("x")}));
  EXPECT_TRUE(has("b", Operator::in, {k_empty_symbol}));
  EXPECT_TRUE(has("c", Operator::not_in, {in("p"), in("q")}));
  EXPECT_TRUE(has("d", Operator::exists, {}));
  EXPECT_TRUE(has("e/f", Operator::does_not_exist, {}));
}

TEST(LabelSelector, SaysInUpstreamsWordsWhyItIsInvalid) {
  struct Case {
    std::string_view yaml, want;
  };
  const std::string name_words =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
      "(e.g. 'MyName',  or "
      "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const std::string bad_key = "key: Invalid value: \"-a\": name part " + name_words;
  const Case cases[] = {
      {"{matchExpressions: [{key: a, operator: Gt, values: ['1']}]}", "\"Gt\" is not a valid label selector operator"},
      {"{matchExpressions: [{key: a, operator: in, values: [x]}]}", "\"in\" is not a valid label selector operator"},
      {"{matchExpressions: [{key: a}]}", "\"\" is not a valid label selector operator"},
      {"{matchExpressions: [{key: a, operator: In}]}",
       "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
      {"{matchExpressions: [{key: a, operator: NotIn, values: []}]}",
       "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
      {"{matchExpressions: [{key: a, operator: Exists, values: [x]}]}",
       "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"},
      {"{matchLabels: {-a: x}}", bad_key},
      {"{matchExpressions: [{key: b, operator: Exists}, {key: -a, operator: Exists}, {key: c, operator: Bad}]}",
       bad_key},
  };
  for (const Case& c : cases) {
    Decoding in;
    const model::Selector got = selector(in, c.yaml);
    EXPECT_EQ(got.kind, Kind::invalid) << c.yaml;
    EXPECT_EQ(got.error, c.want);
    EXPECT_TRUE(got.requirements.empty());
  }
}

TEST(Names, OfLabelsAreValidatedAsKubernetesDoes) {
  for (const std::string_view good : {"a", "A.b-c_d", "x/y", "a.b.c/y", "1"}) EXPECT_TRUE(is_label_key(good)) << good;
  struct Case {
    std::string key;
    std::string_view start;
  };
  const Case cases[] = {
      {"", "name part must be non-empty; name part must consist of"},
      {"/a", "prefix part must be non-empty"},
      {"a/", "name part must be non-empty; name part must consist of"},
      {"a/b/c", "a valid label key must consist of"},
      {"A/b", "prefix part a lowercase RFC 1123 subdomain must consist of lower case"},
      {"a..b/c", "prefix part a lowercase RFC 1123 subdomain"},
      {std::string(64, 'a'), "name part must be no more than 63 bytes"},
      {std::string(254, 'a') + "/b", "prefix part must be no more than 253 bytes"},
      {"a b", "name part must consist of"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(label_key_error(c.key).substr(0, c.start.size()), c.start) << label_key_error(c.key);
  EXPECT_EQ(label_value_error(std::string(64, 'a')), "must be no more than 63 bytes");
  EXPECT_TRUE(is_label_value(""));
  EXPECT_NE(label_value_error("-").size(), 0u);
}

model::NodeSelection node_selection(Decoding& in, std::string_view terms) {
  return in
      .with_spec("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
                 std::string(terms) + "}}}")
      ->node_selection;
}

TEST(NodeSelection, TellsAbsentFromEmpty) {
  Decoding in;
  const model::NodeSelection none = in.with_spec("hostNetwork: false")->node_selection;
  EXPECT_FALSE(none.has_selector || none.has_required || none.has_preferred);
  const model::NodeSelection empty =
      in.with_spec(
            "nodeSelector: {}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {},"
            " preferredDuringSchedulingIgnoredDuringExecution: []}}")
          ->node_selection;
  EXPECT_TRUE(empty.has_selector && empty.has_required && empty.has_preferred);
  EXPECT_TRUE(empty.required.empty());
}

TEST(NodeSelection, DropsEmptyTermsExceptWhereNamesWouldNarrow) {
  Decoding in;
  const auto dropped =
      node_selection(in, "[{}, {matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: []}]");
  EXPECT_TRUE(dropped.has_required);
  ASSERT_EQ(dropped.required.size(), 1u);
  EXPECT_EQ(dropped.required[0].error, "");
  const auto kept = node_selection(in, "[{}, {matchFields: [{key: metadata.name, operator: In, values: [n]}]}]");
  ASSERT_EQ(kept.required.size(), 2u);
  EXPECT_EQ(kept.required[0].fields.size(), 1u);
  EXPECT_NE(kept.required[1].error, "");
  EXPECT_TRUE(node_selection(in, "[{}]").required.empty());
}

TEST(NodeSelection, KeepsTermsThatDoNotParseWithTheirFields) {
  Decoding in;
  const auto got =
      node_selection(in,
                     "[{matchExpressions: [{key: gen, operator: Gt, values: [abc]}, {key: a, operator: Weird}]},"
                     " {matchFields: [{key: metadata.name, operator: In, values: [n, m]}, {key: x, operator: Exists}]},"
                     " {matchExpressions: [{key: gen, operator: Lt, values: ['007']}]}]");
  ASSERT_EQ(got.required.size(), 3u);
  EXPECT_EQ(got.required[0].error,
            "[nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, "
            "the value must be an "
            "integer, nodeSelectorTerms[0].matchExpressions[1].operator: Unsupported value: \"Weird\": supported "
            "values: \"In\", \"NotIn\", "
            "\"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"]");
  EXPECT_EQ(got.required[1].error,
            "[nodeSelectorTerms[1].matchFields[0].values: Invalid value: [\"n\",\"m\"]: must have one element, "
            "nodeSelectorTerms[1].matchFields[1].operator: Unsupported value: \"Exists\": supported values: \"In\", "
            "\"NotIn\"]");
  EXPECT_EQ(got.required[1].fields[0].values, (std::vector<Symbol>{in("n"), in("m")}));
  EXPECT_EQ(got.required[2].error, "");
  EXPECT_EQ(got.required[2].expressions[0].number, 7);
}

TEST(NodeSelection, SkipsPreferredTermsWithoutWeightOrPreference) {
  Decoding in;
  const model::NodeSelection got =
      in.with_spec(
            "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, "
            "preference: {matchExpressions: [{key: a,"
            " operator: Bad}]}}, {weight: 5, preference: {}}, {weight: 7, preference: {matchExpressions: "
            "[{key: a, operator: In}]}}]}}")
          ->node_selection;
  ASSERT_EQ(got.preferred.size(), 1u);
  EXPECT_EQ(got.preferred[0].weight, 7);
  EXPECT_EQ(got.preferred[0].error,
            "[2].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set "
            "can't be empty");
}

TEST(GoIntegers, AreReadAsParseIntDoes) {
  EXPECT_EQ(parse_go_integer("+5"), 5);
  EXPECT_EQ(parse_go_integer("-007"), -7);
  EXPECT_EQ(parse_go_integer("9223372036854775807"), 9223372036854775807);
  for (const std::string_view bad : {"", "+", "-", "+-5", " 5", "5 ", "1_0", "0x1", "9223372036854775808", "1.0"})
    EXPECT_EQ(parse_go_integer(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace berth::decode
