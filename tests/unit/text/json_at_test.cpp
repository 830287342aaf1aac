// SPDX-License-Identifier: Apache-2.0
#include "text/json_at.hpp"

#include <gtest/gtest.h>

namespace berth::text {
namespace {

TEST(JsonAt, GivesThePartAsItIsWritten) {
  const std::string json = R"( {"a": {"b" : [1, {"c": "\u003c}\"]"}] ,"d":true}, "b":{"c":2}, "e": 3 })";
  EXPECT_EQ(json_at(json, "a.b"), R"([1, {"c": "\u003c}\"]"}])");
  EXPECT_EQ(json_at(json, "b"), R"({"c":2})");
  EXPECT_EQ(json_at(json, "b.c"), "2");
  EXPECT_EQ(json_at(json, "a"), R"({"b" : [1, {"c": "\u003c}\"]"}] ,"d":true})");
}

TEST(JsonAt, GivesNothingForWhatIsNotThere) {
  for (const char* path : {"x", "a.x", "a.b.c", "c"}) EXPECT_EQ(json_at(R"({"a":{"b":[{"c":1}]}})", path), "") << path;
}

TEST(JsonAt, GivesTheLastOfTheSameName) { EXPECT_EQ(json_at(R"({"a":{"b":1},"a":{"b":2}})", "a.b"), "2"); }

TEST(JsonAt, EndsWhereTheTextEnds) {
  for (const char* json : {"", "{", R"({"a)", R"({"a")", R"({"a":)", R"({"a":[)", R"({"a":"\)"}) json_at(json, "a");
}

}  // namespace
}  // namespace berth::text
