// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/policy.hpp>

namespace {
using namespace berth::testkit;
using Scores = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

const Answer k_refused = unresolvable("node(s) didn't match Pod's node affinity/selector");
const Answer k_added_refused = unresolvable("node(s) didn't match scheduler-enforced node affinity");
const char* const k_name = "metadata.name";

struct Case {
  const char* name;
  PodSpec pod;
  Strings labels;
  bool fits;
};
PodSpec requiring(std::vector<RequirementSpec> expressions, std::vector<RequirementSpec> fields = {}) {
  return {.required = std::vector<TermSpec>{{.expressions = std::move(expressions), .fields = std::move(fields)}}};
}
const std::vector<Case> k_cases = {
    {"NoSelection", {}, {}, true},
    {"SelectorMatches", {.node_selector = Strings{{"foo", "bar"}}}, {{"foo", "bar"}}, true},
    {"SelectorMisses", {.node_selector = Strings{{"foo", "bar"}}}, {{"foo", "baz"}}, false},
    {"SelectorKeyAbsent", {.node_selector = Strings{{"foo", "bar"}}}, {}, false},
    {"SelectorIsAnAnd", {.node_selector = Strings{{"a", "1"}, {"b", "2"}}}, {{"a", "1"}}, false},
    {"EmptySelector", {.node_selector = Strings{}}, {}, true},
    {"SelectorWithEmptyValue", {.node_selector = Strings{{"foo", ""}}}, {{"foo", ""}}, true},
    {"SelectorWithEmptyValueKeyAbsent", {.node_selector = Strings{{"foo", ""}}}, {}, false},
    {"InMatches", requiring({{"foo", "In", {"x", "bar"}}}), {{"foo", "bar"}}, true},
    {"InMisses", requiring({{"foo", "In", {"x", "y"}}}), {{"foo", "bar"}}, false},
    {"InKeyAbsent", requiring({{"foo", "In", {"bar"}}}), {}, false},
    {"NotInMatches", requiring({{"foo", "NotIn", {"x"}}}), {{"foo", "bar"}}, true},
    {"NotInMisses", requiring({{"foo", "NotIn", {"bar"}}}), {{"foo", "bar"}}, false},
    {"NotInKeyAbsent", requiring({{"foo", "NotIn", {"bar"}}}), {}, true},
    {"ExistsMatches", requiring({{"foo", "Exists"}}), {{"foo", ""}}, true},
    {"ExistsMisses", requiring({{"foo", "Exists"}}), {{"bar", ""}}, false},
    {"DoesNotExistMatches", requiring({{"foo", "DoesNotExist"}}), {}, true},
    {"DoesNotExistMisses", requiring({{"foo", "DoesNotExist"}}), {{"foo", ""}}, false},
    {"GtMatches", requiring({{"cores", "Gt", {"204"}}}), {{"cores", "0206"}}, true},
    {"GtIsStrict", requiring({{"cores", "Gt", {"206"}}}), {{"cores", "206"}}, false},
    {"GtNotANumber", requiring({{"cores", "Gt", {"1"}}}), {{"cores", "many"}}, false},
    {"GtWithSign", requiring({{"cores", "Gt", {"-5"}}}), {{"cores", "+3"}}, true},
    {"GtOutOfRange", requiring({{"cores", "Gt", {"1"}}}), {{"cores", "9223372036854775808"}}, false},
    {"LtMatches", requiring({{"cores", "Lt", {"300"}}}), {{"cores", "206"}}, true},
    {"LtKeyAbsent", requiring({{"cores", "Lt", {"300"}}}), {}, false},
    {"ExpressionsAreAnAnd", requiring({{"a", "Exists"}, {"b", "Exists"}}), {{"a", ""}}, false},
    {"TermsAreAnOr",
     {.required = std::vector<TermSpec>{{.expressions = {{"a", "Exists"}}}, {.expressions = {{"b", "Exists"}}}}},
     {{"b", ""}},
     true},
    {"NoTermsMatchNothing", {.required = std::vector<TermSpec>{}}, {{"a", ""}}, false},
    {"EmptyTermMatchesNothing", {.required = std::vector<TermSpec>{{}}}, {{"a", ""}}, false},
    {"InvalidTermMatchesNothing",
     {.required = std::vector<TermSpec>{{.expressions = {{"a", "Exists"}}, .error = "bad"}}},
     {{"a", ""}},
     false},
    {"InvalidTermDoesNotHideAGoodOne",
     {.required = std::vector<TermSpec>{{.expressions = {{"a", "Exists"}}, .error = "bad"},
                                        {.expressions = {{"a", "Exists"}}}}},
     {{"a", ""}},
     true},
    {"SelectorAndTerms",
     {.node_selector = Strings{{"foo", "bar"}}, .required = std::vector<TermSpec>{{.expressions = {{"a", "Exists"}}}}},
     {{"foo", "bar"}},
     false},
    {"NameMatches", requiring({}, {{k_name, "In", {"n"}}}), {}, true},
    {"NameMisses", requiring({}, {{k_name, "In", {"m"}}}), {}, false},
    {"NameNotIn", requiring({}, {{k_name, "NotIn", {"m"}}}), {}, true},
    {"NameAndExpression", requiring({{"a", "Exists"}}, {{k_name, "In", {"n"}}}), {}, false},
    {"OtherFieldsAreEmpty", requiring({}, {{"metadata.namespace", "In", {""}}}), {}, true},
    {"OtherFieldsHaveNoValue", requiring({}, {{"metadata.namespace", "In", {"x"}}}), {}, false},
};

class NodeAffinityTable : public testing::TestWithParam<Case> {};
TEST_P(NodeAffinityTable, Filters) {
  Policy policy(tested_library());
  Attempt attempt(policy, GetParam().pod, {{.name = "n", .labels = GetParam().labels}});
  const std::vector<Answer> want{GetParam().fits ? passes() : k_refused};
  if (attempt.pre_filter().code == BERTH_OK) {
    EXPECT_EQ(attempt.filter(), want) << "with columns";
  }
  Attempt without_pre_filter(policy, GetParam().pod, {{.name = "n", .labels = GetParam().labels}});
  EXPECT_EQ(without_pre_filter.filter(), want) << "without pre_filter";
}
INSTANTIATE_TEST_SUITE_P(All, NodeAffinityTable, testing::ValuesIn(k_cases),
                         [](const auto& instance) { return instance.param.name; });

/// One list of terms that all parse: usable as a preferred list.
bool is_term_list(const PodSpec& pod) {
  return !pod.node_selector && pod.required && !pod.required->empty() &&
         std::all_of(pod.required->begin(), pod.required->end(), [](const TermSpec& t) { return t.error.empty(); });
}

TEST(NodeAffinity, ScoresTermsAsItFiltersThem) {
  Policy policy(tested_library());
  for (const Case& row : k_cases) {
    if (!is_term_list(row.pod)) continue;
    SCOPED_TRACE(row.name);
    PodSpec pod = row.pod;
    pod.preferred.swap(pod.required);
    for (TermSpec& term : *pod.preferred) term.weight = 7;
    Attempt attempt(policy, pod, {{.name = "n", .labels = row.labels}});
    const Scores without_pre_score = attempt.score();
    ASSERT_EQ(attempt.pre_score(), Outcome{});
    EXPECT_EQ(attempt.score(), without_pre_score);
    EXPECT_EQ(attempt.score(), Scores{row.fits ? 7 : 0});
  }
}

TEST(NodeAffinity, IsSkippedWithoutAnySelection) {
  Policy policy(tested_library());
  const auto code = [&](const PodSpec& pod) { return Attempt(policy, pod, {{.name = "n"}}).pre_filter().code; };
  EXPECT_EQ(code({}), static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(code({.preferred = std::vector<TermSpec>{}}), static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(code({.node_selector = Strings{}}), static_cast<berth_code>(BERTH_OK));
  EXPECT_EQ(code({.required = std::vector<TermSpec>{}}), static_cast<berth_code>(BERTH_OK));
}

TEST(NodeAffinity, NarrowsToTheNodesThatEachTermNames) {
  struct Narrowing {
    const char* what;
    std::vector<TermSpec> terms;
    bool narrowed;
    Names left;
  };
  const Names all{"a", "b", "c"};
  const RequirementSpec in_a{k_name, "In", {"a"}}, in_b{k_name, "In", {"b"}};
  const std::vector<Narrowing> table = {
      {"one name", {{.fields = {in_a}}}, true, {"a"}},
      {"two terms, two names", {{.fields = {in_a}}, {.fields = {in_b}}}, true, {"a", "b"}},
      {"a term without a name", {{.fields = {in_a}}, {.expressions = {{"x", "Exists"}}}}, false, all},
      {"expressions are not considered", {{.expressions = {{"x", "Exists"}}, .fields = {in_a}}}, true, {"a"}},
      {"NotIn names no node", {{.fields = {{k_name, "NotIn", {"a"}}}}}, false, all},
      {"an unknown node", {{.fields = {{k_name, "In", {"z"}}}}}, true, {}},
      {"a conflict in one term and a name in another", {{.fields = {in_a, in_b}}, {.fields = {in_b}}}, true, {"b"}},
      {"two values do not parse, but name",
       {{.fields = {{k_name, "In", {"a", "c"}}}, .error = "must have one element"}},
       true,
       {"a", "c"}},
      {"no terms", {}, false, all},
  };
  Policy policy(tested_library());
  for (const Narrowing& row : table) {
    Attempt attempt(policy, {.required = row.terms}, {{.name = "a"}, {.name = "b"}, {.name = "c"}});
    EXPECT_EQ(attempt.pre_filter(), Outcome{}) << row.what;
    EXPECT_EQ(attempt.narrowed(), row.narrowed) << row.what;
    EXPECT_EQ(attempt.candidates(), row.left) << row.what;
  }
}

TEST(NodeAffinity, RefusesThePodWhoseNamesConflict) {
  Policy policy(tested_library());
  Attempt attempt(policy,
                  {.required = std::vector<TermSpec>{{.fields = {{k_name, "In", {"a"}}, {k_name, "In", {"b"}}}}}},
                  {{.name = "a"}, {.name = "b"}});
  EXPECT_EQ(attempt.pre_filter(), (Outcome{BERTH_UNRESOLVABLE, "pod affinity terms conflict"}));
}

TEST(NodeAffinity, ScoresTheWeightsOfMatchingTerms) {
  Policy policy(tested_library());
  Attempt attempt(
      policy,
      {.preferred = std::vector<TermSpec>{{.expressions = {{"foo", "In", {"bar"}}}, .weight = 2},
                                          {.expressions = {{"key", "Exists"}}, .weight = 4},
                                          {.expressions = {{"foo", "Exists"}, {"az", "In", {"az1"}}}, .weight = 5}}},
      {{.name = "1", .labels = {{"foo", "bar"}}},
       {.name = "2", .labels = {{"key", "value"}}},
       {.name = "3", .labels = {{"foo", "bar"}, {"key", "value"}, {"az", "az1"}}},
       {.name = "4"}});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.score(), (Scores{2, 4, 11, 0}));
  EXPECT_EQ(attempt.normalized(), (Scores{18, 36, 100, 0}));
}

TEST(NodeAffinity, LeavesAllScoresAtZeroWhenNothingMatches) {
  Policy policy(tested_library());
  Attempt attempt(policy, {.preferred = std::vector<TermSpec>{{.expressions = {{"foo", "Exists"}}, .weight = 2}}},
                  {{.name = "1"}, {.name = "2"}});
  ASSERT_EQ(attempt.pre_score(), Outcome{});
  EXPECT_EQ(attempt.normalized(), (Scores{0, 0}));
}

TEST(NodeAffinity, SkipsScoringOnlyWithoutAPreferredList) {
  Policy policy(tested_library());
  EXPECT_EQ(Attempt(policy, {}, {{.name = "n"}}).pre_score().code, static_cast<berth_code>(BERTH_SKIP));
  EXPECT_EQ(Attempt(policy, {.preferred = std::vector<TermSpec>{}}, {{.name = "n"}}).pre_score(), Outcome{});
}

TEST(NodeAffinity, FailsOnPreferredTermsThatDoNotParse) {
  const auto error = [](std::vector<TermSpec> terms) {
    Policy policy(tested_library());
    return Attempt(policy, {.preferred = terms}, {{.name = "n"}}).pre_score();
  };
  EXPECT_EQ(error({{.weight = 1, .error = "[0].matchExpressions[0].operator: bad"}}),
            (Outcome{BERTH_ERROR, "[0].matchExpressions[0].operator: bad"}));
  EXPECT_EQ(error({{.weight = 1, .error = "[[0].a: bad, [0].b: bad]"}, {.weight = 1, .error = "[1].c: bad"}}),
            (Outcome{BERTH_ERROR, "[[0].a: bad, [0].b: bad, [1].c: bad]"}));
}

const char* const k_added = R"({"addedAffinity": {
  "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a", "b"]}]}]},
  "preferredDuringSchedulingIgnoredDuringExecution": [
    {"weight": 3, "preference": {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["b"]}]}},
    {"weight": 0, "preference": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}]}})";

TEST(NodeAffinity, AddsTheOperatorsTermsToThePods) {
  Policy policy(tested_library(), k_added);
  const std::vector<NodeSpec> nodes = {{.name = "1", .labels = {{"pool", "a"}}},
                                       {.name = "2", .labels = {{"pool", "b"}, {"foo", "bar"}}},
                                       {.name = "3", .labels = {{"pool", "c"}, {"foo", "bar"}}}};
  Attempt plain(policy, {}, nodes);
  ASSERT_EQ(plain.pre_filter(), Outcome{}) << "added required terms concern every pod";
  EXPECT_EQ(plain.filter(), (std::vector<Answer>{passes(), passes(), k_added_refused}));
  ASSERT_EQ(plain.pre_score(), Outcome{});
  EXPECT_EQ(plain.filter(), (std::vector<Answer>{passes(), passes(), k_added_refused}));
  EXPECT_EQ(plain.score(), (Scores{0, 3, 0}));

  Attempt own(policy,
              {.node_selector = Strings{{"foo", "bar"}},
               .preferred = std::vector<TermSpec>{{.expressions = {{"foo", "Exists"}}, .weight = 5}}},
              nodes);
  EXPECT_EQ(own.filter(), (std::vector<Answer>{k_refused, passes(), k_added_refused})) << "the added terms come first";
  ASSERT_EQ(own.pre_filter(), Outcome{});
  EXPECT_EQ(own.filter(), (std::vector<Answer>{k_refused, passes(), k_added_refused}));
  ASSERT_EQ(own.pre_score(), Outcome{});
  EXPECT_EQ(own.score(), (Scores{0, 8, 5}));
}

TEST(NodeAffinity, RefusesAddedTermsThatDoNotParse) {
  const auto error = [](const char* args) {
    try {
      Policy policy(tested_library(), args);
      return Outcome{};
    } catch (const CallError& e) {
      return e.outcome;
    }
  };
  const std::string required = "parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: ";
  const std::string preferred = "parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: ";
  EXPECT_EQ(error(R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
              {}, {"matchExpressions": [{"key": "foo", "operator": "Foo"}]}]}}})"),
            (Outcome{BERTH_BAD_ARGS,
                     required + R"(nodeSelectorTerms[1].matchExpressions[0].operator: Unsupported value: "Foo": )"
                                R"(supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")"}));
  EXPECT_EQ(error(R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
              {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}]}}})"),
            (Outcome{BERTH_BAD_ARGS, required + R"(nodeSelectorTerms[0].matchFields[0].values: Invalid value: )"
                                                R"(["a","b"]: must have one element)"}));
  EXPECT_EQ(
      error(R"({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference":
              {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["x"]}, {"key": "a", "operator": "In"}]}}]}})"),
      (Outcome{BERTH_BAD_ARGS,
               preferred +
                   R"([[0].matchExpressions[0].values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value )"
                   R"(must be an integer, [0].matchExpressions[1].values: Invalid value: null: for 'in', )"
                   R"('notin' operators, values set can't be empty])"}));
  const Outcome bad_label =
      error(R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
              {"matchExpressions": [{"key": "a/b/c", "operator": "In", "values": ["-x"]}]}]}}})");
  EXPECT_NE(bad_label.text.find(R"(matchExpressions[0].key: Invalid value: "a/b/c": )"), std::string::npos);
  EXPECT_NE(bad_label.text.find(R"(matchExpressions[0].values[0][a/b/c]: Invalid value: "-x": a valid label must)"),
            std::string::npos);
  EXPECT_EQ(error(R"({"addedAffinity": 5})").code, static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_EQ(error(R"({"addedAffinity": )").code, static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_EQ(error("{}"), Outcome{});
}

TEST(NodeAffinity, WakesPodsWhenANodeStartsToMatch) {
  const PodSpec waiting{.node_selector = Strings{{"foo", "bar"}}};
  const NodeSpec match{.name = "n", .labels = {{"foo", "bar"}}};
  const NodeSpec other{.name = "n", .labels = {{"foo", "baz"}}};
  Policy policy(tested_library());
  const auto wakes = [&](std::uint32_t actions, std::optional<NodeSpec> before, std::optional<NodeSpec> after) {
    return policy.wakes({.actions = actions, .old_node = before, .new_node = after}, waiting);
  };
  EXPECT_TRUE(wakes(BERTH_ACTION_ADD, {}, match));
  EXPECT_FALSE(wakes(BERTH_ACTION_ADD, {}, other));
  EXPECT_TRUE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, other, match));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, match, match));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_LABEL, match, other));
  EXPECT_FALSE(wakes(BERTH_ACTION_UPDATE_NODE_TAINT, other, match)) << "not an interest";
}

TEST(NodeAffinity, WakesPodsWhoseTermsDoNotParse) {
  const PodSpec waiting{.required = std::vector<TermSpec>{{.expressions = {{"a", "Exists"}}, .error = "bad"}}};
  Policy policy(tested_library());
  EXPECT_TRUE(policy.wakes({.new_node = NodeSpec{.name = "n"}}, waiting));
}

TEST(NodeAffinity, DoesNotWakePodsForNodesOutsideTheAddedAffinity) {
  Policy policy(tested_library(), k_added);
  EXPECT_FALSE(policy.wakes({.new_node = NodeSpec{.labels = {{"pool", "c"}}}}, {}));
  EXPECT_TRUE(policy.wakes({.new_node = NodeSpec{.labels = {{"pool", "a"}}}}, {}));
}

TEST(NodeAffinity, JudgesManyNodesByDistinctLabels) {
  std::vector<NodeSpec> nodes(300);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].labels = {{"host", nodes[i].name}, {"cores", std::to_string(i)}};
  }
  Policy policy(tested_library());
  Attempt attempt(policy, requiring({{"cores", "Gt", {"99"}}, {"cores", "Lt", {"110"}}, {"host", "NotIn", {"n105"}}}),
                  nodes);
  ASSERT_EQ(attempt.pre_filter(), Outcome{});
  const std::vector<Answer> answers = attempt.filter();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(answers[i], i > 99 && i < 110 && i != 105 ? passes() : k_refused) << i;
  }
}

}  // namespace
