// SPDX-License-Identifier: Apache-2.0
// What `berth plugin bench` says of allocations, counted or not.
#include "app/verify/plugin_allocations.hpp"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

std::string json_of(const Result<std::vector<PointAllocations>>& points) {
  text::JsonWriter json;
  json.begin_object();
  write_allocations(points, json);
  return json.end_object().take();
}

TEST(PluginAllocations, AreAListWhereTheyWereCounted) {
  const Result<std::vector<PointAllocations>> counted(
      std::vector<PointAllocations>{{"example.com/A", "filter", 4, 8, 4, 96}});
  EXPECT_EQ(to_text(counted), "filter 0.5 (12 bytes)");
  EXPECT_EQ(
      json_of(counted),
      R"({"allocations":[{"plugin":"example.com/A","point":"filter","calls":8,"perCall":0.500,"bytesPerCall":12.0}]})");
}

TEST(PluginAllocations, AreNullWithTheReasonWhereTheyWereNot) {
  const Result<std::vector<PointAllocations>> failed(Error{"a sanitizer\ncounts"});
  EXPECT_EQ(to_text(failed), R"(not counted: a sanitizer\x0acounts)");
  EXPECT_EQ(json_of(failed), R"({"allocations":null,"allocationsNotCounted":"a sanitizer\\x0acounts"})");
  EXPECT_EQ(to_text(Result<std::vector<PointAllocations>>(Error{""})),
            "not counted: the process that counts said nothing");
}

}  // namespace
}  // namespace berth::app
