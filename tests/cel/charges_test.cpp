// SPDX-License-Identifier: Apache-2.0
/// What takes long is charged for: steps stand for time, so that no selector takes more than some hundred milliseconds, however
/// little it costs as CEL counts. What takes memory is counted likewise.
#include <gtest/gtest.h>

#include "berth/cel/cel.hpp"

namespace berth::cel {
namespace {

std::string times_over(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}
std::string letters(int count) { return "'" + std::string(static_cast<std::size_t>(count), 'a') + "'"; }
std::string ones(int count) { return "[" + times_over("1,", count) + "1]"; }

Outcome evaluate_on_bare_device(Evaluator& evaluator, const std::string& expression, const Limits& limits = {}) {
  const Compiled compiled = Program::compile(expression);
  EXPECT_NE(compiled.program, nullptr) << expression.substr(0, 200) << ": " << compiled.error.text();
  if (compiled.program == nullptr) return {};
  return evaluator.evaluate(*compiled.program, Device("x", false, {}, {}), limits);
}

struct Charge {
  const char* what;
  std::string expression;
  std::uint64_t steps_min;
};

/// Each is evaluated once. `steps_min` is about what it takes at worst, in units of five nanoseconds, some of them an eighth.
std::vector<Charge> charges() {
  const std::string version = "'1.2.3-" + times_over("a.", 3900) + "a'";
  return {
      {"a pattern that no automaton is made of", "!" + letters(2000) + ".matches('(a?){100}a{100}b')", 2000 * 500},
      {"the same, found", letters(2000) + ".find('(a?){100}a{100}b') == ''", 2000 * 500},
      {"the same, found often", letters(500) + ".findAll('a(a?){100}b|a').size() == 500", 500 * 250 * 300},
      {"long versions that are one", "[semver(" + version + ")].all(v, v.compareTo(v) == 0)", 7800},
      {"long versions that are equal", "[semver(" + version + ")].all(v, v == v)", 7800},
      {"texts put together before an error",
       "[" + ones(999) + ".map(x, dyn('" + std::string(64, 'a') + "')) + [dyn(1)]].all(t, t.join('') == '' || true)",
       2000},
      {"a format with an error at its end",
       "dyn('%s%s%s%s%d').format([" + letters(1000) + ", " + letters(1000) + ", " + letters(1000) + ", " +
           letters(1000) + ", dyn('a')]) == '' || true",
       250},
      {"many digits", "dyn('" + times_over("%.999f", 50) + "').format([1.5]) == '' || true", 1000},
      {"constants", "[1].all(x, " + times_over("false || ", 1000) + "true)", 1000},
      {"lists of constants", "[1].all(x, [x, " + times_over("1, ", 1000) + "1].size() == 1002)", 1000},
      {"keys that differ at their ends",
       "[" + letters(7000) +
           "].all(k, [lists.range(100).transformMapEntry(i, v, {k + string(1000 + v): v})].all(t, "
           "t[k + '1099'] == 99))",
       100 * 7000 / 64},
      {"a text read whole for one of CEL's units", "['" + std::string(8000, '1') + "'].all(t, double(t) > 0.0 || true)",
       8000},
      {"a URL with many parameters",
       "[url('http://a/?" + times_over("a=b&", 2000) + "')].all(u, u.getQuery().size() == 1)", 100'000},
      {"an order of long texts",
       "[" + letters(7000) + "].all(k, [lists.range(100).map(v, k + string(1300 - v))].all(t, t.sort().size() == 100))",
       100 * 7000 / 32},
  };
}

TEST(CelCharges, StepsStandForWhatTakesLong) {
  for (const Charge& charge : charges()) {
    Evaluator evaluator;
    Limits limits;
    limits.steps = 1'000'000'000;
    const Outcome outcome = evaluate_on_bare_device(evaluator, charge.expression, limits);
    EXPECT_EQ(outcome.verdict, Verdict::yes) << charge.what << ": " << outcome.error;
    EXPECT_GE(outcome.steps - 4 * outcome.cost, charge.steps_min) << charge.what;
    // As many again, and one less than that is not enough.
    limits.steps = outcome.steps - 4 * outcome.cost;
    EXPECT_EQ(evaluate_on_bare_device(evaluator, charge.expression, limits).verdict, Verdict::yes) << charge.what;
    --limits.steps;
    EXPECT_EQ(evaluate_on_bare_device(evaluator, charge.expression, limits).stop, Stop::steps) << charge.what;
  }
}

// 85 matches of 0.6 s each, of 8 KB; and a search of hours among texts of megabytes that few bytes make.
TEST(CelCharges, WhatHasNoStepsIsNotBegun) {
  const std::string megabytes = "cel.bind(t, '" + std::string(32, 'a') + "'.replace('a', " + letters(1000) +
                                ").replace('a', '" + std::string(32, 'a') + "'), ";
  for (const std::string& expression :
       {ones(84) + ".all(x, !" + letters(7900) + ".matches('((a?){9}){99}((a?){9}){99}((a?){9}){99}((a?){9}){99}b'))",
        megabytes + "cel.bind(u, '" + std::string(32, 'a') + "'.replace('a', " + letters(1000) +
            ") + 'b', t.indexOf(u) < 0))"}) {
    Evaluator evaluator;
    const Outcome outcome = evaluate_on_bare_device(evaluator, expression);
    EXPECT_EQ(outcome.stop, Stop::steps) << expression.substr(0, 60) << ": " << outcome.error;
    EXPECT_LE(outcome.steps, Limits().steps + 4 * outcome.cost);
  }
}

TEST(CelCharges, InterruptionIsAskedForBetweenMatches) {
  std::string expression = "true";
  for (int i = 0; i < 20; ++i) expression += " && !" + letters(2000) + ".matches('(a?){100}a{100}b')";
  Evaluator evaluator;
  Limits limits;
  int asked = 0;
  limits.context = &asked;
  limits.interrupted = [](void* context) { return ++*static_cast<int*>(context) == 3; };
  const Outcome outcome = evaluate_on_bare_device(evaluator, expression, limits);
  EXPECT_EQ(outcome.error, "operation interrupted");
  EXPECT_EQ(outcome.stop, Stop::interrupted);
  EXPECT_EQ(asked, 3);
}

TEST(CelCharges, CompilingIsChargedByWhatItTakes) {
  const std::uint64_t plain = Program::compile("device.driver.matches('a')").steps;
  EXPECT_GE(plain, 5'000u);
  EXPECT_GE(Program::compile(R"(device.driver.matches(r'\pL\pL\pL\pL'))").steps, plain + 4 * 15'000) << "their ranges";
  EXPECT_GE(Program::compile("device.driver.matches('a{500}')").steps, plain + 500 * 60) << "its instructions";
  EXPECT_GE(Program::compile("device.driver.matches('a') &&&").steps, 26u) << "what does not compile";
}

TEST(CelCharges, LargePatternsDoNotCompile) {
  for (const std::string pattern : {R"(\pL{89})", R"((((a{9}){9}){9}){9})"}) {
    const Compiled compiled = Program::compile("device.driver.matches(r'" + pattern + "')");
    EXPECT_EQ(compiled.program, nullptr) << pattern;
    EXPECT_LT(compiled.steps, 1'000'000u) << pattern;
  }
  const Compiled classes = Program::compile("device.driver.matches(r'" + times_over("\\pL", 3'000) + "')");
  EXPECT_EQ(classes.program, nullptr);
  EXPECT_LT(classes.steps, 2'000'000u) << "not read at all";
}

TEST(CelCharges, PatternsOfASelectorHaveFourMebibytes) {
  const auto with_patterns = [](int count) {
    std::string expression = "true";
    for (int i = 0; i < count; ++i) expression += " && !device.driver.matches('a" + std::to_string(i) + "')";
    return Program::compile(expression);
  };
  const Compiled some = with_patterns(50);
  ASSERT_NE(some.program, nullptr);
  EXPECT_GE(some.program->bytes(), 50u * 32 * 1024) << "so far they grow when they are matched";
  const Compiled many = with_patterns(200);
  EXPECT_EQ(many.program, nullptr);
  EXPECT_NE(many.error.text().find("more memory than the 4 MiB"), std::string::npos) << many.error.text();
  // One that is there twice counts once.
  EXPECT_NE(Program::compile("true" + times_over(" && !device.driver.matches('a')", 200)).program, nullptr);
}

TEST(CelCharges, TheCacheIsBoundedByWhatProgramsTake) {
  ProgramCache cache;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(cache.get("device.driver.matches('a" + std::to_string(i) + "')").program, nullptr);
    ASSERT_LE(cache.bytes(), ProgramCache::k_bytes_max);
  }
  EXPECT_LT(cache.size(), 600u);
  EXPECT_GT(cache.size(), 200u);
}

}  // namespace
}  // namespace berth::cel
