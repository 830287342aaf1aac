// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "berth/cel/cel.hpp"

namespace berth::cel {

/// The example of the documentation, compiled with this program.
std::string example(const Device& device);

namespace {

TEST(CelProgram, ErrorsSayWhere) {
  const CompileError error = Program::compile("true &&\n  'ü' == nope").error;
  EXPECT_EQ(error.line, 2u);
  EXPECT_EQ(error.column, 10u);
  EXPECT_EQ(error.text(), "compilation failed: ERROR: <input>:2:10: undeclared reference to 'nope' (in container '')");
  EXPECT_EQ(Program::compile("1").error.text(), "must evaluate to bool or the unknown type, not int");
}

TEST(CelProgram, KeepsItsText) {
  std::shared_ptr<const Program> program;
  {
    const std::string text = "device.driver == 'gpu.example.com'";
    program = Program::compile(text).program;
  }
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->text(), "device.driver == 'gpu.example.com'");
  Evaluator evaluator;
  EXPECT_EQ(evaluator.evaluate(*program, Device("gpu.example.com", false, {}, {})).verdict, Verdict::yes);
}

TEST(CelProgram, ThreadsShareProgramsAndDevices) {
  const auto program = Program::compile("device.attributes['d'].x in ['a', 'b'] && 'ab'.matches('^a' + 'b')").program;
  ASSERT_NE(program, nullptr);
  const Attribute attributes[] = {Attribute::of_string("x", "b")};
  const Device device("d", false, attributes, {});
  std::vector<std::thread> threads;
  std::atomic<int> matches = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Evaluator evaluator;
      for (int round = 0; round < 50; ++round) matches += evaluator.evaluate(*program, device).verdict == Verdict::yes;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(matches, 200);
}

TEST(CelProgramCache, CompilesATextOnce) {
  ProgramCache cache;
  const auto first = cache.get("true").program;
  EXPECT_EQ(cache.get("true").program, first);
  EXPECT_FALSE(cache.get("nope").error.message.empty());
  EXPECT_FALSE(cache.get("nope").error.message.empty());
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_GE(cache.bytes(), 8 + first->bytes());
  EXPECT_LE(cache.bytes(), 1024 + first->bytes());
}

TEST(CelProgramCache, DropsWhatWasUsedLongestAgo) {
  ProgramCache cache(2);
  const auto kept = cache.get("true").program;
  cache.get("false");
  cache.get("true");
  cache.get("!true");
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.get("true").program, kept);
}

TEST(CelProgramCache, IsBoundedInBytes) {
  constexpr std::size_t bytes_max = 256 * 1024;
  ProgramCache cache(1000, bytes_max);
  for (int i = 0; i < 100; ++i) cache.get("true || " + std::to_string(i) + " == 1");
  EXPECT_LE(cache.bytes(), bytes_max);
  EXPECT_LT(cache.size(), 100u);
  EXPECT_GT(cache.size(), 1u);
  EXPECT_NE(cache.get("true" + std::string(bytes_max, ' ').substr(0, 90'000)).program, nullptr);
  EXPECT_LE(cache.bytes(), bytes_max);
}

TEST(CelDocumentation, ExampleIsThatOfTheReadme) {
  const auto text_of = [](const std::string& path) {
    std::ifstream file(BERTH_SOURCE_DIR + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string source = text_of("/tests/cel/example.cpp");
  source.erase(0, source.find('\n') + 1);  // the licence
  EXPECT_NE(text_of("/sdk/README.md").find(source), std::string::npos)
      << "sdk/README.md must have tests/cel/example.cpp word for word";
  const Attribute attributes[] = {Attribute::of_string("model", "A100")};
  EXPECT_EQ(example(Device("gpu.example.com", false, attributes, {})), "yes");
  EXPECT_EQ(example(Device("gpu.example.com", false, {}, {})), "no such key: model");
  EXPECT_EQ(example(Device("nic.example.com", false, {}, {})), "no");
}

}  // namespace
}  // namespace berth::cel
