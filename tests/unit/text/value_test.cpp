// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/utf8.hpp"
#include "text/parse.hpp"

namespace berth::text {
namespace {

TEST(Value, ReadsIntegersThatAreExact) {
  struct Case {
    std::string_view text;
    std::optional<std::int64_t> want;
  };
  const Case cases[] = {
      {"0", 0},
      {"-0", 0},
      {"12", 12},
      {"-7", -7},
      {"1e3", 1000},
      {"1.5e1", 15},
      {"2.0", 2},
      {"2.5", std::nullopt},
      {"1E+2", 100},
      {"100e-2", 1},
      {"1e-1", std::nullopt},
      {"0e99999999", 0},
      {"1e19", std::nullopt},
      {"1e999999999999", std::nullopt},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"9223372036854775808", std::nullopt},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"-9223372036854775809", std::nullopt},
      {"1.00000000000000000000000000000", 1},
      {"9223372036854775807.0", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808.0", std::numeric_limits<std::int64_t>::min()},
      {"1000000e-6", 1},
  };
  for (const Case& c : cases) {
    Diagnostics problems;
    const auto documents = parse_json(c.text, "f", problems);
    ASSERT_EQ(documents.size(), 1u) << c.text;
    EXPECT_EQ(documents[0].root().integer(), c.want) << c.text;
  }
}

TEST(Value, ReadsReals) {
  Diagnostics problems;
  const auto documents = parse_json("[0.5, -1e3, 1e999, \"0.5\"]", "f", problems);
  const auto elements = documents.at(0).root().elements();
  EXPECT_EQ(elements[0].real(), 0.5);
  EXPECT_EQ(elements[1].real(), -1000.0);
  EXPECT_EQ(elements[2].real(), std::nullopt);
  EXPECT_EQ(elements[3].real(), std::nullopt);
  EXPECT_EQ(elements[3].integer(), std::nullopt);
}

TEST(Value, FindsTheLastMemberAndDescends) {
  Diagnostics problems;
  const auto documents = parse_json(R"({"a":{"b":{"c":1}},"a":{"b":{"c":2},"n":null}})", "f", problems);
  const Value& root = documents.at(0).root();
  EXPECT_EQ(root.find_path("a.b.c")->text(), "2");
  EXPECT_TRUE(root.find_path("a.n")->is_null());
  EXPECT_EQ(root.find_path("a.n.x"), nullptr);
  EXPECT_EQ(root.find_path("a.x.y"), nullptr);
  EXPECT_EQ(root.find_path(""), &root);
  EXPECT_TRUE(root.elements().empty());
}

TEST(Document, MovesWithoutMovingItsValues) {
  Diagnostics problems;
  auto documents = parse_json(R"(["text that is longer than a small string"])", "f", problems);
  Document first = std::move(documents.at(0));
  const Value* root = &first.root();
  Document second;
  second = std::move(first);
  EXPECT_EQ(&second.root(), root);
  EXPECT_EQ(second.root().elements()[0].text(), "text that is longer than a small string");
  EXPECT_TRUE(first.root().is_null());  // NOLINT: a moved-from document is empty, not broken
  EXPECT_TRUE(Document().root().is_null());
}

TEST(Diagnostics, RenderOneLineEachWithWhatIsKnown) {
  Diagnostics problems;
  problems.add("a.yaml", {3, 7}, "spec.x", "is no number", "write 1");
  problems.add("b.yaml", {}, "", "cannot be read");
  problems.add("", {}, "flag", "is wrong");
  EXPECT_EQ(problems.render(), "a.yaml:3:7: spec.x: is no number (write 1)\nb.yaml: cannot be read\nflag: is wrong\n");
}

TEST(MergeJson, MergesAsRfc7396Does) {
  struct Case {
    std::string_view target, patch, want;
  };
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"(["a"])", R"({"a":1})", R"({"a":1})"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
  };
  for (const Case& c : cases) {
    Diagnostics problems;
    const auto target = parse_json(c.target, "t", problems);
    const auto patch = parse_json(c.patch, "p", problems);
    EXPECT_EQ(merge_json(&target.at(0).root(), patch.at(0).root()), c.want) << c.target << " + " << c.patch;
  }
}

TEST(ToJson, LetsTheLastDuplicateWinInLargeMappingsToo) {
  std::string json = "{";
  for (int i = 0; i < 100; ++i) json += "\"k" + std::to_string(i) + "\":0,";
  json += "\"k5\":1}";
  Diagnostics problems;
  const std::string out = to_json(parse_json(json, "f", problems).at(0).root());
  EXPECT_EQ(out.find("\"k5\":0"), std::string::npos);
  EXPECT_NE(out.find("\"k5\":1"), std::string::npos);
}

TEST(Diagnostics, AreShownUpToAHundredLinesAndToALimitOfBytes) {
  Diagnostics many, large;
  for (std::uint32_t i = 1; i <= 5'000; ++i) many.add("f.yaml", {i, 1}, "", "wrong");
  const std::string lines = many.render();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 101);
  EXPECT_NE(lines.find("f.yaml:100:1: wrong\nand 4900 more\n"), std::string::npos) << lines.substr(lines.size() - 200);
  EXPECT_EQ(many.size(), 5'000u);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\xc3\xa9";
  large.add("f.yaml", {}, "", text);
  large.add("f.yaml", {}, "", "second");
  EXPECT_LT(large.render().size(), 66'000u);
  EXPECT_EQ(find_invalid_utf8(large.render()), std::string_view::npos) << "cut within a character";
  EXPECT_NE(large.render().find("…\nand 1 more\n"), std::string::npos);
}

TEST(Diagnostics, EscapeControlCharacters) {
  Diagnostics problems;
  problems.add("a.yaml", {1, 2}, "fields.\x1b[2J", "first line\nsecond\r\x7f");
  EXPECT_EQ(problems.render(), "a.yaml:1:2: fields.\\x1b[2J: first line\nsecond\\x0d\\x7f\n");
}

}  // namespace
}  // namespace berth::text
