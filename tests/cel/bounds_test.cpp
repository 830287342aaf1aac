// SPDX-License-Identifier: Apache-2.0
/// Hostile expressions end soon, with an error, in bounded memory.
#include <gtest/gtest.h>

#include "berth/cel/cel.hpp"

namespace berth::cel {
namespace {

Device device_with(std::string_view text) {
  const Attribute attributes[] = {Attribute::of_string("text", text), Attribute::of_integer("one", 1)};
  return {"x", false, attributes, {}};
}

Outcome evaluate(Evaluator& evaluator, const std::string& expression, const Limits& limits = {}) {
  const Compiled compiled = Program::compile(expression);
  EXPECT_NE(compiled.program, nullptr) << expression.substr(0, 200) << ": " << compiled.error.text();
  if (compiled.program == nullptr) return {};
  return evaluator.evaluate(*compiled.program, device_with("aaaaaaaaaaaaaaaa"), limits);
}

std::string repeated(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

/// `cel.bind(a, FIRST, cel.bind(b, STEP of a, … LAST …))`
std::string nested_binds(const std::string& first, const std::string& step, int levels, const std::string& last) {
  std::string text = "cel.bind(v0, " + first + ", ";
  for (int i = 1; i <= levels; ++i) {
    std::string of_before = step;
    for (std::size_t at = 0; (at = of_before.find('$', at)) != std::string::npos;)
      of_before.replace(at, 1, "v" + std::to_string(i - 1));
    text += "cel.bind(v" + std::to_string(i) + ", " + of_before + ", ";
  }
  std::string end = last;
  for (std::size_t at = 0; (at = end.find('$', at)) != std::string::npos;)
    end.replace(at, 1, "v" + std::to_string(levels));
  return text + end + repeated(")", levels + 1);
}

TEST(CelBounds, DeepExpressionsDoNotCompile) {
  for (const std::string& expression :
       {repeated("(", 50'000) + "true", repeated("[", 50'000), repeated("!(", 5'000) + "true" + repeated(")", 5'000),
        "true" + repeated(" ? true : true", 5'000), "1" + repeated(" + 1", 5'000) + " == 1",
        "device" + repeated(".a", 5'000), "true == true" + repeated(" == true", 5'000), repeated("{1: ", 5'000),
        repeated("[1].all(x, ", 5'000), repeated("-", 90'000) + "1 == 'a'"})
    EXPECT_EQ(Program::compile(expression).program, nullptr) << expression.substr(0, 60);
}

TEST(CelBounds, LongExpressionsDoNotCompile) {
  EXPECT_EQ(Program::compile(std::string(100'001, ' ')).program, nullptr);
  EXPECT_EQ(Program::compile("true" + std::string(100'001, ' ')).program, nullptr);
  EXPECT_NE(Program::compile("true" + std::string(10'000, ' ')).program, nullptr);
}

TEST(CelBounds, ManyTermsCompile) {
  Evaluator evaluator;
  EXPECT_EQ(evaluate(evaluator, "false" + repeated(" || false", 5'000)).verdict, Verdict::no);
}

TEST(CelBounds, TypesThatDoubleAreRefusedWhileChecking) {
  const Compiled compiled = Program::compile(nested_binds("1", "{$: $}", 60, "true"));
  EXPECT_EQ(compiled.program, nullptr);
  EXPECT_NE(compiled.error.message.find("too large"), std::string::npos) << compiled.error.message;
}

TEST(CelBounds, CostEndsLoops) {
  Evaluator evaluator;
  const Outcome outcome = evaluate(evaluator, "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))");
  EXPECT_EQ(outcome.verdict, Verdict::error);
  EXPECT_EQ(outcome.error, "operation cancelled: actual cost limit exceeded");
  EXPECT_LT(outcome.cost, 1'100'000u);
}

TEST(CelBounds, MemoryEndsTextsThatDouble) {
  Evaluator evaluator;
  // Each level replaces every character by the whole text: the cost grows with the length, the result with its square.
  const Outcome outcome = evaluate(evaluator, nested_binds("'aaaaaaaaaaaaaaaa'", "$.replace('a', $)", 8, "$ == ''"));
  EXPECT_EQ(outcome.verdict, Verdict::error);
  EXPECT_NE(outcome.error, "");
}

TEST(CelBounds, MemoryEndsHugeRanges) {
  Evaluator evaluator;
  for (const char* size : {"10000000", "9223372036854775807", "100000000000"}) {
    const Outcome outcome = evaluate(evaluator, std::string("lists.range(") + size + ").size() == 0");
    EXPECT_EQ(outcome.verdict, Verdict::error) << size;
  }
}

void expect_out_of_steps(const std::string& expression, std::uint64_t steps) {
  Evaluator evaluator;
  Limits limits;
  limits.steps = steps;
  const Outcome outcome = evaluate(evaluator, expression, limits);
  EXPECT_EQ(outcome.verdict, Verdict::error);
  EXPECT_EQ(outcome.error, "evaluation takes more steps than allowed");
}

TEST(CelBounds, StepsEndComparisonsThatDouble) {
  // 2^40 elements by name, each list two references to the one before.
  expect_out_of_steps(nested_binds("[1, 2]", "[dyn($), dyn($)]", 40, "$ == $"), 1'000'000);
}

TEST(CelBounds, StepsEndComputedPatterns) {
  expect_out_of_steps("lists.range(10000).exists(i, 'b'.matches('(((a{9}){9}){9}' + string(i) + ')'))", 2'000'000);
}

TEST(CelBounds, StepsEndSearchesThatCostTooLittle) {
  // A long needle that differs in its last character, at every position of a long text.
  const std::string text =
      "cel.bind(t, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.replace('a', '" + repeated("a", 1000) + "'), ";
  expect_out_of_steps(text + "t.indexOf('" + repeated("a", 5000) + "b') == 0)", 100'000);
}

TEST(CelBounds, InterruptionIsAskedForEveryHundredIterations) {
  Evaluator evaluator;
  Limits limits;
  int asked = 0;
  limits.context = &asked;
  limits.interrupted = [](void* context) { return ++*static_cast<int*>(context) == 3; };
  const Outcome outcome = evaluate(evaluator, "lists.range(10000).all(x, x >= 0)", limits);
  EXPECT_EQ(outcome.error, "operation interrupted");
  EXPECT_EQ(asked, 3);
  EXPECT_LT(outcome.cost, 12'000u) << "the list, and 300 iterations";
}

TEST(CelBounds, EvaluatorIsUsableAfterEachFailure) {
  Evaluator evaluator;
  EXPECT_EQ(evaluate(evaluator, "lists.range(10000000).size() == 0").verdict, Verdict::error);
  EXPECT_EQ(evaluate(evaluator, "lists.range(10).size() == 10").verdict, Verdict::yes);
}

TEST(CelBounds, OddDevicesFailEveryExpressionInsteadOfTheProcess) {
  Evaluator evaluator;
  const Compiled compiled = Program::compile("true");
  const Attribute lists[] = {{"names", Attribute::Type::unsupported, 0, {}}};
  EXPECT_EQ(evaluator.evaluate(*compiled.program, Device("x", false, lists, {})).error,
            "attribute names: unsupported attribute value");
  const Attribute versions[] = {Attribute::of_version("ver", "1.2")};
  EXPECT_EQ(evaluator.evaluate(*compiled.program, Device("x", false, versions, {})).error,
            "attribute ver: parse semantic version: No Major.Minor.Patch elements found");
  const Capacity capacity[] = {{"memory", "much"}};
  EXPECT_EQ(evaluator.evaluate(*compiled.program, Device("x", false, {}, capacity)).verdict, Verdict::error);
}

// An evaluation that ended for want of steps was answered the second time, when its pattern was compiled already.
TEST(CelBounds, PatternsCostTheSameWhenTheyAreKnown) {
  const Compiled compiled = Program::compile("device.attributes['d'].text.find(device.attributes['d'].text) == ''");
  ASSERT_NE(compiled.program, nullptr) << compiled.error.text();
  const Attribute attributes[] = {
      Attribute::of_string("text", "(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa){1,100}")};
  const Device device("d", true, attributes, {});
  for (std::uint64_t steps = 10'000; steps < 2'000'000; steps += 10'000) {
    Limits limits;
    limits.steps = steps;
    Evaluator evaluator;
    const Verdict first = evaluator.evaluate(*compiled.program, device, limits).verdict;
    EXPECT_EQ(evaluator.evaluate(*compiled.program, device, limits).verdict, first) << steps;
  }
}

// Five patterns in turn do not fit into the cache: what is left of the evaluation before must not make the next cheaper.
TEST(CelBounds, MorePatternsThanAreKeptCostTheSame) {
  const Compiled compiled = Program::compile(
      "['a', 'b', 'c', 'd', 'e', 'a', 'b'].exists(x, device.attributes['d'].text.matches(x + '+')) || false");
  ASSERT_NE(compiled.program, nullptr) << compiled.error.text();
  const Attribute attributes[] = {Attribute::of_string("text", "zzz")};
  const Device device("d", true, attributes, {});
  bool was_stopped = false;
  bool was_answered = false;
  for (std::uint64_t steps = 10'000; steps < 400'000; steps += 1'000) {
    Limits limits;
    limits.steps = steps;
    Evaluator evaluator;
    const Verdict first = evaluator.evaluate(*compiled.program, device, limits).verdict;
    (first == Verdict::error ? was_stopped : was_answered) = true;
    for (int again = 0; again < 3; ++again)
      EXPECT_EQ(evaluator.evaluate(*compiled.program, device, limits).verdict, first) << steps;
  }
  EXPECT_TRUE(was_stopped && was_answered);
}

}  // namespace
}  // namespace berth::cel
