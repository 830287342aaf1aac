// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/json.hpp>

namespace {
using berth::Json;

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = Json::parse(R"( {"n": null, "t": true, "i": -42, "d": 1.5e2, "s": "a\"b\\\n\u00e9\ud83d\ude00",
                                     "a": [1, [], {}], "o": {"x": "y"}} )");
  EXPECT_TRUE(json["n"].is_null());
  EXPECT_TRUE(json["t"].boolean("t"));
  EXPECT_EQ(json["i"].integer("i"), -42);
  EXPECT_EQ(json["d"].number("d"), 150.0);
  EXPECT_EQ(json["s"].string("s"), "a\"b\\\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(json["a"].items().size(), 3u);
  EXPECT_EQ(json["o"]["x"].string("x"), "y");
  EXPECT_TRUE(json["missing"]["deeper"].is_null());
  EXPECT_TRUE(json.contains("n"));
  EXPECT_FALSE(json.contains("missing"));
}

TEST(Json, TakesTheLastOfEqualKeys) { EXPECT_EQ(Json::parse(R"({"a": 1, "a": 2})")["a"].integer("a"), 2); }

TEST(Json, ReplacesLoneSurrogates) {
  EXPECT_EQ(Json::parse(R"("\ud83dx")").string("s"), "\xef\xbf\xbdx");
  EXPECT_EQ(Json::parse(R"("\ud83d\u0041")").string("s"),
            "\xef\xbf\xbd"
            "A");
}

TEST(Json, RefusesWhatIsNotJson) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  for (const std::string& text :
       std::vector<std::string>{"",       " ",    "{",   "[1,", "[1 2]", "{\"a\"}", "{\"a\":}",   "{a:1}",   "tru",
                                "01",     "-",    "1.",  "1e",  "+1",    "\"",      "\"\\",       "\"\\u12", "\"\\x\"",
                                "\"\n\"", "[1]]", "nul", "'a'", "\x01",  deep,      "{\"a\":1,}", "[,]"}) {
    EXPECT_THROW((void)Json::parse(text), berth::JsonError) << text;
  }
}

TEST(Json, NamesTheValueOfTheWrongKind) {
  const Json json = Json::parse(R"({"weight": "x", "big": 9223372036854775808, "part": 1.5})");
  try {
    (void)json["weight"].integer("args.weight");
    FAIL() << "no error";
  } catch (const berth::BadArgs& e) {
    EXPECT_STREQ(e.what(), "args.weight: must be a number");
  }
  EXPECT_THROW((void)json["big"].integer("big"), berth::BadArgs);
  EXPECT_THROW((void)json["part"].integer("part"), berth::BadArgs);
  EXPECT_EQ(json["absent"].integer_or("absent", 7), 7);
  EXPECT_EQ(json["absent"].string_or("absent", "x"), "x");
  EXPECT_TRUE(json["absent"].array("absent").empty());
}

}  // namespace
