// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <gtest/gtest.h>
#include <berth/json.hpp>

#include <vector>

namespace devices {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::vector<std::string> parts_of(std::string_view text, bool is_whole) {
  std::vector<std::string> parts;
  EXPECT_EQ(
      each_part(text, [&](auto name, auto value) { parts.push_back(std::string(name) + "=" + std::string(value)); }),
      is_whole)
      << text;
  return parts;
}

TEST(JsonText, HasPartsAsTheyAreWritten) {
  EXPECT_EQ(parts_of(R"( {"a" : 1.50, "b":"x,}\"" ,"c":[{"d":"]"}]} )", true),
            (std::vector<std::string>{"a=1.50", R"(b="x,}\"")", R"(c=[{"d":"]"}])"}));
  EXPECT_EQ(parts_of(R"([ 1 , "2", {}])", true), (std::vector<std::string>{"=1", "=\"2\"", "={}"}));
  EXPECT_EQ(member_of(R"({"a":1,"a":2})", "a").text, "2");
  EXPECT_EQ(member_of(R"({"\u0061":1})", "a").text, "");
  EXPECT_TRUE(member_of("{}", "a").is_known);
}

TEST(JsonText, ThatEndsEarlyIsNotGoneThrough) {
  for (const char* text : {"", "1", "{", R"({"a)", R"({"a":)", R"({"a":[1)", R"({"a":1)", R"(["\)", R"({"a" 1})"})
    parts_of(text, false);
  EXPECT_EQ(parts_of(R"({"a":1,"b":[)", false), (std::vector<std::string>{"a=1"}));
}

TEST(JsonText, IsAsDeepAsAServerReadsAtMost) {
  EXPECT_THROW(berth::Json::parse(nested(80)), berth::JsonError);
  const std::string deep = R"({"a":)" + nested(k_text_depth_max - 1) + R"(,"b":1})";
  EXPECT_EQ(member_of(deep, "b").text, "1");
  EXPECT_FALSE(member_of(R"({"a":)" + nested(k_text_depth_max) + R"(,"b":1})", "b").is_known);
}

TEST(JsonText, IsChangedInOneMember) {
  EXPECT_EQ(with_member_text("", "a", "1"), R"({"a":1})");
  EXPECT_EQ(with_member_text(R"({"a": [ 1 ],"b":2})", "b", "3"), R"({"a":[ 1 ],"b":3})");
  EXPECT_EQ(with_member_text(R"({"a":1,"b":)" + nested(80) + "}", "a", "2"), R"({"b":)" + nested(80) + R"(,"a":2})");
  EXPECT_THROW(with_member_text(R"({"a":1,"b":[)", "a", "2"), berth::JsonError);
}

}  // namespace
}  // namespace devices
