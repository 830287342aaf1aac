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

// A Json that ends with the expression owns what it is asked for. Each of these would refer to freed memory otherwise.
template <class T>
concept LendsToConstants = requires(const T&& constant) {
  std::move(constant).items();
}
|| requires(const T&& constant) { std::move(constant).members(); }
|| requires(const T&& constant) { std::move(constant).array("a"); }
|| requires(const T&& constant) { std::move(constant).object("o"); }
|| requires(const T&& constant) { std::move(constant).string("s"); }
|| requires(const T&& constant) { std::move(constant).number_text(); }
|| requires(const T&& constant) { std::move(constant)["k"]; };
template <class T>
concept LendsToTemporaries = requires(T made) {
  {&std::move(made).items()};
}
|| requires(T made) { {&std::move(made).members()}; }
|| requires(T made) { {&std::move(made).array("a")}; }
|| requires(T made) { {&std::move(made).object("o")}; }
|| requires(T made) { {&std::move(made).string("s")}; }
|| requires(T made) { {&std::move(made)["k"]}; }
|| requires(T made) { {&std::move(made).items()[0]}; }
|| requires(T made) { {&std::move(made).items().front()}; }
|| requires(T made) { {&std::move(made).array("a").back()}; }
|| requires(T made) { {&std::move(made).members()[0]}; }
|| requires(T made) { std::move(made).items().begin(); }
|| requires(T made) { std::move(made).members().end(); };
static_assert(!LendsToConstants<Json>, "a view of a constant that ends with the expression compiles");
static_assert(!LendsToTemporaries<Json>, "the address of what ends with the expression can be taken");
static_assert(std::is_same_v<decltype(Json::parse("").number_text()), std::string>);
static_assert(std::is_reference_v<decltype(std::declval<const Json&>().items())>, "a Json that stays is copied");

TEST(Json, OwnsWhatItGivesWhenItEndsWithTheExpression) {
  const std::string text =
      R"({"a": ["a text that is too long to be kept in place", "b"], "n": 12, "o": {"k": {"deep": [1]}}})";
  std::string seen;
  for (const Json& item : Json::parse(text)["a"].items()) seen += item.string("item") + ";";
  for (const Json& item : Json::parse(text)["a"].array("a")) seen += item.string("item") + ";";
  for (const auto& [name, value] : Json::parse(text).members()) seen += name + (value.is_array() ? "[] " : " ");
  EXPECT_EQ(seen,
            "a text that is too long to be kept in place;b;a text that is too long to be kept in place;b;a[] n o ");
  // Elements of a list that ends with the expression, and what is asked of them.
  const Json& first = Json::parse(text)["a"].items()[0];
  const std::string& second =
      Json::parse(R"([["x", "a text that is too long to be kept in place"]])").items().front().items()[1].string("s");
  const auto& member = Json::parse(text).members().front();
  for (const Json& item : Json::parse(text).members()[0].second.items()) seen += item.string("item").substr(0, 1);
  for (const Json& item :
       Json::parse(R"([[1], ["a text that is too long to be kept in place"]])").items().back().array("b"))
    seen += item.string("item");
  EXPECT_EQ(first.string("a"), "a text that is too long to be kept in place");
  EXPECT_EQ(second, "a text that is too long to be kept in place");
  EXPECT_EQ(member.first + std::to_string(member.second.items().size()), "a2");
  EXPECT_TRUE(seen.ends_with("o aba text that is too long to be kept in place")) << seen;
  const std::vector<Json> kept = Json::parse(text)["a"].items();
  EXPECT_EQ(kept.size(), 2u);
  const Json& deep = Json::parse(text)["o"]["k"].object("k");
  const std::string& name =
      Json::parse(R"({"name": "a text that is too long to be kept in place"})")["name"].string("name");
  EXPECT_EQ(deep["deep"].items().size(), 1u);
  EXPECT_EQ(name.size(), 43u);
  EXPECT_EQ(Json::parse(text)["n"].number_text(), "12");
  EXPECT_EQ(Json::parse(text)["o"].number_text(), "");
  EXPECT_TRUE(Json::parse(text)["absent"]["deeper"].is_null());
  EXPECT_THROW((void)Json::parse(text)["n"].array("n"), berth::JsonError);
  EXPECT_THROW((void)Json::parse(text)["n"].object("n"), berth::JsonError);
  EXPECT_THROW((void)Json::parse(text)["n"].string("n"), berth::JsonError);
}

}  // namespace
