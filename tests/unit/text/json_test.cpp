// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "text/parse.hpp"

namespace berth::text {
namespace {

std::string refused(std::string_view text) {
  Diagnostics problems;
  EXPECT_TRUE(parse_json(text, "f.json", problems).empty()) << text;
  return problems.render();
}

TEST(Json, WritesBackWhatItRead) {
  const std::string_view texts[] = {
      "{}",
      "[]",
      "[[],{}]",
      R"({"a":{"b":[1,-2.5,1e3,true,false,null,"x"]}})",
      R"({"a":1,"b":""})",
      "\"root\"",
      "12",
      "true",
      "null",
      R"(["\"\\\n\r\tü€𝄞\u0001"])",
  };
  for (const std::string_view text : texts) {
    Diagnostics problems;
    const auto documents = parse_json(text, "f", problems);
    ASSERT_EQ(documents.size(), 1u) << text << problems.render();
    EXPECT_EQ(to_json(documents[0].root()), text);
  }
}

TEST(Json, WritesNothingThatIsNoUtf8) {
  std::string out;
  append_json_string(out, "a\xff\"\xc3");
  append_json_string(out, "\xc3\xa4");
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\\\"\xEF\xBF\xBD\"\"\xc3\xa4\"");
}

TEST(Json, UnescapesStrings) {
  Diagnostics problems;
  const auto documents = parse_json(R"({"k\u00e9y": "a\/b\ud834\udd1e\u0041"})", "f", problems);
  ASSERT_EQ(documents.size(), 1u) << problems.render();
  EXPECT_EQ(documents[0].root().members()[0].key, "k\u00e9y");
  EXPECT_EQ(documents[0].root().find("k\u00e9y")->text(), "a/b\U0001d11eA");
}

TEST(Json, KnowsWhereKeysAndValuesStand) {
  Diagnostics problems;
  const auto documents = parse_json("{\"a\": 1,\n  \"b\" : [ true,\n\n null ], \"c\":{\"d\":\"x\"}\n}", "f", problems);
  ASSERT_EQ(documents.size(), 1u);
  const Value& root = documents[0].root();
  EXPECT_EQ(root.position(), (Position{1, 1}));
  EXPECT_EQ(root.members()[1].key_position, (Position{2, 3}));
  EXPECT_EQ(root.find("a")->position(), (Position{1, 7}));
  EXPECT_EQ(root.find("b")->position(), (Position{2, 9}));
  EXPECT_EQ(root.find("b")->elements()[1].position(), (Position{4, 2}));
  EXPECT_EQ(root.find_path("c.d")->position(), (Position{4, 19}));
}

TEST(Json, RefusesMalformedTextWithItsPlace) {
  struct Case {
    std::string_view json, want;
  };
  const Case cases[] = {
      {"", "f.json:1:1: malformed JSON: ends where a value should stand\n"},
      {"{\"a\":1", "f.json:1:7: malformed JSON: ends where ',' or '}' should stand\n"},
      {"{\n\"a\":1,}", "f.json:2:7: malformed JSON: a key in double quotes should stand here\n"},
      {"[1,]", "f.json:1:4: malformed JSON: a value should stand here\n"},
      {"[1 2]", "f.json:1:4: malformed JSON: ',' or ']' should stand here\n"},
      {"{\"a\" 1}", "f.json:1:6: malformed JSON: ':' should stand here\n"},
      {"{a:1}", "f.json:1:2: malformed JSON: a key in double quotes should stand here\n"},
      {"[01]", "f.json:1:2: malformed JSON: a value should stand here\n"},
      {"[1.]", "f.json:1:2: malformed JSON: a value should stand here\n"},
      {"[+1]", "f.json:1:2: malformed JSON: a value should stand here\n"},
      {"[nul]", "f.json:1:2: malformed JSON: a value should stand here\n"},
      {"[trues]", "f.json:1:2: malformed JSON: a value should stand here\n"},
      {"[\"a\nb\"]", "f.json:1:4: malformed JSON: control character in a string\n"},
      {"[\"open]", "f.json:1:2: malformed JSON: string without an end\n"},
      {"[\"\\x\"]", "f.json:1:3: malformed JSON: unknown escape sequence in a string\n"},
      {"[\"\\ud800\"]", "f.json:1:3: malformed JSON: unknown escape sequence in a string\n"},
      {"[\"\xff\"]", "f.json:1:3: malformed JSON: not UTF-8\n"},
      {"{} {}", "f.json:1:4: malformed JSON: text after the end of the value\n"},
      {"1 2", "f.json:1:3: malformed JSON: text after the end of the value\n"},
      {"[1]]", "f.json:1:4: malformed JSON: text after the end of the value\n"},
      {"{\"a\":1]", "f.json:1:7: malformed JSON: ',' or '}' should stand here\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(refused(c.json), c.want);
}

TEST(Json, BoundsNesting) {
  Diagnostics problems;
  EXPECT_EQ(parse_json(std::string(100, '[') + std::string(100, ']'), "f", problems).size(), 1u) << problems.render();
  EXPECT_NE(refused(std::string(101, '[') + std::string(101, ']')).find("nested deeper than 100 levels"),
            std::string::npos);
  EXPECT_NE(refused(std::string(200'000, '[')).find("nested deeper than 100 levels"), std::string::npos);
}

// encoding/json, decode.go (unquoteBytes).
TEST(GoJson, ReadsTextThatIsNoUtf8AsGoDoes) {
  struct Case {
    std::string_view text, want;
  };
  const Case cases[] = {
      {"[\"a\xff\xfez\"]", "[\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"]"},
      {"{\"\xc0\x80\":1}", "{\"\xEF\xBF\xBD\xEF\xBF\xBD\":1}"},
      {R"(["\ud800","\udc00x","\ud800A","\\ud800"])",
       "[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBDx\",\"\xEF\xBF\xBD"
       "A\",\"\\\\ud800\"]"},
      {R"(["\ud83d\ude00\ud83d"])", "[\"\xF0\x9F\x98\x80\xEF\xBF\xBD\"]"},
      {R"({"a":1})", R"({"a":1})"},
  };
  for (const Case& c : cases) {
    Diagnostics problems;
    const auto documents = parse_go_json(c.text, "f", problems);
    ASSERT_EQ(documents.size(), 1u) << c.text << problems.render();
    EXPECT_TRUE(problems.empty()) << problems.render();
    EXPECT_EQ(to_json(documents[0].root()), c.want);
  }
  Diagnostics problems;
  for (const std::string_view bad : {"", "{\"a\":tru}", "\xff{}", "[1", R"(["\ud8"])"})
    EXPECT_TRUE(parse_go_json(bad, "f", problems).empty()) << bad;
  EXPECT_EQ(problems.size(), 5u);
}

TEST(GoJson, LeavesOutWhatIsTooDeep) {
  const std::string deep = std::string(2000, '[') + std::string(2000, ']');
  Diagnostics problems;
  const auto documents = parse_go_json("{\"a\":1,\"b\":{\"c\":" + deep + "},\"d\":2}", "f", problems);
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_NE(problems.render().find("nested deeper than 100 levels"), std::string::npos);
  EXPECT_EQ(documents[0].root().find("d")->text(), "2");
}

TEST(Parse, TakesYamlInBracesAndNamesTheJsonFaultOtherwise) {
  Diagnostics problems;
  ASSERT_EQ(parse("{a: b}", "f", problems).size(), 1u);
  ASSERT_EQ(parse("\xef\xbb\xbf  {\"a\": 1}", "f", problems).size(), 1u);
  ASSERT_EQ(parse("a: 1\n---\nb: 2\n", "f", problems).size(), 2u);
  EXPECT_TRUE(problems.empty()) << problems.render();
  EXPECT_TRUE(parse("{\"a\": ", "f", problems).empty());
  EXPECT_EQ(problems.render(), "f:1:7: malformed JSON: ends where a value should stand\n");
}

}  // namespace
}  // namespace berth::text
