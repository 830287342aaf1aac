// SPDX-License-Identifier: Apache-2.0
/// Every recorded expression on every recorded device: whether it compiles, its verdict, its cost.
#include <gtest/gtest.h>

#include "vectors.hpp"

namespace berth::cel {
namespace {

const Recording& recording() {
  static const Recording read = read_recording(BERTH_SOURCE_DIR "/tests/cel/vectors.json.gz");
  return read;
}

std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::yes ? "true" : verdict == Verdict::no ? "false" : "error";
}

/// These stop early in a map, which upstream walks in random order: their cost was luck.
bool has_random_cost(const Vector& vector) {
  return vector.id == "attr-047" || vector.id == "attr-088" || vector.id == "real-018";
}

TEST(CelConformance, RecordingIsWhole) {
  EXPECT_EQ(recording().vectors.size(), 1042u);
  EXPECT_EQ(recording().devices.size(), 5u);
}

TEST(CelConformance, SameExpressionsCompile) {
  for (const Vector& vector : recording().vectors) {
    const Compiled compiled = Program::compile(vector.expression);
    EXPECT_EQ(compiled.program != nullptr, vector.compiles)
        << vector.id << ' ' << vector.expression.substr(0, 300) << "\n  " << compiled.error.text();
    EXPECT_EQ(compiled.program == nullptr, !compiled.error.message.empty()) << vector.id;
  }
}

TEST(CelConformance, SameVerdictsAtTheSameCost) {
  Evaluator evaluator;
  std::size_t compared = 0;
  std::size_t costs = 0;
  for (const Vector& vector : recording().vectors) {
    const Compiled compiled = Program::compile(vector.expression);
    if (compiled.program == nullptr) continue;
    for (const auto& [device, expected] : vector.results) {
      const Outcome outcome = evaluator.evaluate(*compiled.program, recording().devices.at(device));
      EXPECT_EQ(name_of(outcome.verdict), expected.result)
          << vector.id << " on " << device << ": " << vector.expression.substr(0, 300) << "\n  " << outcome.error
          << " / " << expected.error;
      if (expected.cost && !has_random_cost(vector)) {
        EXPECT_EQ(outcome.cost, *expected.cost)
            << vector.id << " on " << device << ": " << vector.expression.substr(0, 300) << "\n  " << outcome.error;
        ++costs;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 4000u);
  EXPECT_GT(costs, 3500u);
}

/// Texts are what users see of a failure; those of the standard library of Go are not all reproduced.
TEST(CelConformance, CommonErrorsHaveTheSameText) {
  Evaluator evaluator;
  std::size_t errors = 0;
  std::size_t same = 0;
  for (const Vector& vector : recording().vectors) {
    const Compiled compiled = Program::compile(vector.expression);
    if (compiled.program == nullptr) continue;
    for (const auto& [device, expected] : vector.results) {
      if (expected.result != "error") continue;
      const Outcome outcome = evaluator.evaluate(*compiled.program, recording().devices.at(device));
      ++errors;
      same += outcome.error == expected.error;
      if (expected.error.rfind("no such key: ", 0) == 0 || expected.error == "division by zero" ||
          expected.error.rfind("CEL result of type ", 0) == 0) {
        EXPECT_EQ(outcome.error, expected.error) << vector.id << " on " << device << ": " << vector.expression;
      } else if (outcome.error != expected.error) {
        RecordProperty(vector.id + "-" + device, std::string(outcome.error) + " / " + expected.error);
      }
    }
  }
  EXPECT_GT(same * 100, errors * 97) << same << " of " << errors;
}

}  // namespace
}  // namespace berth::cel
