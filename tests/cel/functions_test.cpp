// SPDX-License-Identifier: Apache-2.0
/// Selectors of every kind on a few devices: selectors.tsv has one per line: device, outcome (true, false, E for an error when
/// evaluated, X for one when compiled), cost unless it depends on the order of a map, expression.
#include <gtest/gtest.h>

#include <fstream>

#include "berth/cel/cel.hpp"

namespace berth::cel {
namespace {

Device device_called(char name) {
  const std::string_view driver = "dra.example.com";
  switch (name) {
    case 'G': {
      const Attribute attributes[] = {Attribute::of_string("model", "a100-SXM4"),
                                      Attribute::of_integer("index", 3),
                                      Attribute::of_boolean("ok", true),
                                      Attribute::of_boolean("bad", false),
                                      Attribute::of_version("ver", "1.2.3"),
                                      Attribute::of_version("pre", "1.2.3-rc.1+b7"),
                                      Attribute::of_integer("dra.example.com/dup", 1),
                                      Attribute::of_string("other.example.com/kind", "x")};
      const Capacity capacity[] = {{"memory", "40Gi"}, {"half", "1500m"}, {"other.example.com/slots", "7"}};
      return {driver, false, attributes, capacity};
    }
    case 'M':
      return {driver, true, {}, {}};
    case 'L': {
      const Attribute attributes[] = {{"names", Attribute::Type::unsupported, 0, {}}};
      return {driver, false, attributes, {}};
    }
    case 'V': {
      const Attribute attributes[] = {Attribute::of_version("ver", "1.2")};
      return {driver, false, attributes, {}};
    }
    default:
      return {driver, false, {}, {}};
  }
}

std::string outcome_of(const std::string& expression, const Device& device, std::string& cost) {
  const Compiled compiled = Program::compile(expression);
  if (compiled.program == nullptr) return "X";
  Evaluator evaluator;
  const Outcome outcome = evaluator.evaluate(*compiled.program, device);
  if (!cost.empty()) cost = std::to_string(outcome.cost);
  return outcome.verdict == Verdict::yes ? "true" : outcome.verdict == Verdict::no ? "false" : "E";
}

TEST(CelFunctions, SelectorsDoAsRecorded) {
  std::ifstream file(BERTH_SOURCE_DIR "/tests/cel/selectors.tsv");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const std::size_t outcome_at = line.find('\t') + 1;
    const std::size_t cost_at = line.find('\t', outcome_at) + 1;
    const std::size_t expression_at = line.find('\t', cost_at) + 1;
    const std::string expression = line.substr(expression_at);
    const std::string recorded_cost = line.substr(cost_at, expression_at - cost_at - 1);
    std::string cost = recorded_cost;
    EXPECT_EQ(outcome_of(expression, device_called(line[0]), cost), line.substr(outcome_at, cost_at - outcome_at - 1))
        << line;
    EXPECT_EQ(cost, recorded_cost) << line;
    ++count;
  }
  EXPECT_GT(count, 250);
}

bool is_true(const std::string& expression) {
  std::string cost;
  return outcome_of(expression, device_called('G'), cost) == "true";
}

TEST(CelFunctions, TextsAreCountedInCodePoints) {
  EXPECT_TRUE(is_true(R"('aüb'.indexOf('b') == 2 && 'aüb'.substring(1, 2) == 'ü' && 'aüb'.charAt(1) == 'ü')"));
  EXPECT_TRUE(
      is_true(R"('aüb'.split('') == ['a', 'ü', 'b'] && 'a-b-c'.split('-', 2) == ['a', 'b-c'] && ''.split('') == [])"));
  EXPECT_TRUE(is_true(
      R"('ab'.replace('', '-') == '-a-b-' && 'aaa'.replace('a', 'b', 2) == 'bba' && ''.replace('', 'x') == 'x')"));
  EXPECT_TRUE(is_true(R"('\u00a0 x\t'.trim() == 'x' && 'abcabc'.lastIndexOf('c', 4) == 2)"));
}

TEST(CelFunctions, WhatCannotBeHashedEndsTheWholeEvaluation) {
  std::string cost;
  for (const char* membership : {R"(device.attributes["dra.example.com"].ver in ["1.2.3"])",
                                 R"(device.attributes["dra.example.com"].ver in {"1.2.3": true})",
                                 R"({"a": true}[dyn(device.attributes["dra.example.com"].ver)])"})
    EXPECT_EQ(outcome_of(std::string(membership) + " || true", device_called('G'), cost), "E") << membership;
}

TEST(CelFunctions, NumbersAreWrittenAsGoDoes) {
  EXPECT_TRUE(is_true(R"(string(1.0) == '1' && string(0.1) == '0.1' && string(-2.5e-7) == '-2.5e-07')"));
  EXPECT_TRUE(is_true(R"('%d %s %.2f %e %b %o %x %X %%'.format([7, 'a', 1.5, 1.5, 5, 8, 255, 'hi']) ==
                         '7 a 1.50 1.500000e+00 101 10 ff 6869 %')"));
}

TEST(CelFunctions, TimesFollowTheCalendarAndTheZone) {
  EXPECT_TRUE(is_true(
      R"(timestamp('2024-02-29T23:30:00Z').getDayOfYear() == 59 && timestamp('2024-02-29T23:30:00Z').getDayOfWeek() == 4)"));
  EXPECT_TRUE(is_true(R"(timestamp('2024-02-29T23:30:00Z').getDate('+01:00') == 1)"));
  EXPECT_TRUE(is_true(R"(string(timestamp('2024-02-29T23:30:00.5+01:00')) == '2024-02-29T22:30:00.5Z')"));
  EXPECT_TRUE(is_true(R"(string(duration('1h1.5s')) == '3601.5s' && duration('90m').getHours() == 1)"));
}

TEST(CelFunctions, QuantitiesAreExact) {
  EXPECT_TRUE(is_true(R"(quantity('0.1').add(quantity('0.2')) == quantity('300m'))"));
  EXPECT_TRUE(is_true(R"(quantity('9223372036854775807').add(1).isGreaterThan(quantity('9223372036854775807')))"));
  EXPECT_TRUE(is_true(R"(quantity('0.0000000001') == quantity('1n') && quantity('1.5Gi') == quantity('1536Mi'))"));
  EXPECT_TRUE(is_true(
      R"(quantity('1e1000').isGreaterThan(quantity('1E')) && quantity('16Ei') == quantity('9223372036854775807'))"));
}

TEST(CelFunctions, AddressesAreCanonical) {
  EXPECT_TRUE(is_true(
      R"(string(ip('2001:db8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1' && ip.isCanonical('::1') && !isIP('1.2.3'))"));
  EXPECT_TRUE(is_true(
      R"(cidr('10.1.0.0/16').containsCIDR('10.1.2.0/24') && !cidr('10.1.2.0/24').containsCIDR('10.1.0.0/16'))"));
  EXPECT_TRUE(is_true(
      R"(ip('fe80::1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast() && ip('8.8.8.8').isGlobalUnicast())"));
}

TEST(CelFunctions, PatternsAreThoseOfGo) {
  EXPECT_TRUE(is_true(
      R"('ab12'.matches('(?<letters>[a-z]+)(?P<digits>[0-9]+)') && 'aXbXc'.findAll('X*') == ['', 'X', 'X', ''])"));
  EXPECT_EQ(Program::compile(R"('a'.matches('\\C'))").program, nullptr);
  EXPECT_EQ(Program::compile(R"('a'.matches('(a)\\1'))").program, nullptr);
}

}  // namespace
}  // namespace berth::cel
