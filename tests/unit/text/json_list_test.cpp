// SPDX-License-Identifier: Apache-2.0
#include "text/json_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace berth::text {
namespace {

struct Split {
  std::optional<std::string> rest;
  std::vector<std::string> items;
};

/// Reads the text in pieces of `piece` bytes.
Split split(std::string_view text, std::size_t piece = 1 << 20, const JsonListLimits& limits = {}) {
  Split out;
  out.rest = split_json_list(
      [&](char* to, std::size_t room) {
        const std::size_t size = text.copy(to, std::min(room, piece));
        text.remove_prefix(size);
        return size;
      },
      [&](std::string_view item) {
        out.items.emplace_back(item);
        return true;
      },
      limits);
  return out;
}

TEST(JsonList, TakesItemsOutOfTheRest) {
  const std::string_view text =
      "\xef\xbb\xbf \n{ \"a\" : [1,{\"items\":[{}]}],\"items\" :\t[ {\"k\":\"}]\\\"\\\\\"} ,\r\n"
      "{\"items\":[{}]},{} ] , \"kind\":\"List\", \"b\": -1.5e3 , \"c\":true}\n";
  // Wherever a chunk ends.
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Split out = split(text, piece);
    ASSERT_TRUE(out.rest) << piece;
    EXPECT_EQ(*out.rest,
              " \n{ \"a\" : [1,{\"items\":[{}]}],\"items\" :\t[] , \"kind\":\"List\", \"b\": -1.5e3 , \"c\":true}\n");
    EXPECT_EQ(out.items, (std::vector<std::string>{"{\"k\":\"}]\\\"\\\\\"}", "{\"items\":[{}]}", "{}"}));
  }
}

TEST(JsonList, TakesAnEmptyList) { EXPECT_EQ(split("{\"items\":[ \n]}").rest, "{\"items\":[]}"); }

TEST(JsonList, LeavesOtherTextsAlone) {
  for (const std::string_view text : {"",
                                      " ",
                                      "a: b",
                                      "[]",
                                      "{}",
                                      "{a: b}",
                                      "{\"a\":1}",
                                      "{\"items\":null}",
                                      "{\"items\":{}}",
                                      "{\"items\":[1]}",
                                      "{\"items\":[null]}",
                                      "{\"items\":[[]]}",
                                      "{\"items\":[{},]}",
                                      "{\"items\":[,{}]}",
                                      "{\"items\":[{} {}]}",
                                      "{\"items\":[{}]",
                                      "{\"items\":[{}",
                                      "{\"items\":[{\"a",
                                      "{\"items\":[{\"a\\",
                                      "{\"items\":[{}],}",
                                      "{\"items\":[{}],\"items\":[{}]}",
                                      "{\"items\":[{}]} x",
                                      "{\"items\":[{}]}{}",
                                      "{\"items\" [{}]}",
                                      "{\"\\u0069tems\":[{}]}"})
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) EXPECT_FALSE(split(text, piece).rest) << text;
}

TEST(JsonList, StopsAtItsLimits) {
  const std::string_view text = "{\"kind\":\"List\",\"items\":[{\"a\":\"0123456789\"}]}";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) {
    EXPECT_TRUE(split(text, piece, {18, 26}).rest);
    EXPECT_FALSE(split(text, piece, {17, 26}).rest);
    EXPECT_FALSE(split(text, piece, {18, 25}).rest);
  }
}

TEST(JsonList, StopsWhenAnItemIsRefused) {
  std::string_view text = "{\"items\":[{},{},{}]}";
  int items = 0;
  const auto rest = split_json_list(
      [&](char* to, std::size_t room) {
        const std::size_t size = text.copy(to, room);
        text.remove_prefix(size);
        return size;
      },
      [&](std::string_view) { return ++items < 2; });
  EXPECT_FALSE(rest);
  EXPECT_EQ(items, 2);
}

TEST(JsonList, ReadsItemsAtTheirDepth) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(static_cast<std::size_t>(levels - 1), '[') +
           std::string(static_cast<std::size_t>(levels - 1), ']') + "}";
  };
  EXPECT_TRUE(read_json_item(nested(k_max_depth - k_depth_of_items), "f"));
  EXPECT_FALSE(read_json_item(nested(k_max_depth - k_depth_of_items + 1), "f"));
  EXPECT_FALSE(read_json_item("{\"a\":}", "f"));
  EXPECT_FALSE(read_json_item("{} {}", "f"));
  EXPECT_EQ(read_json_item("{\"a\":\"b\"}", "f")->root().text_at("a"), "b");
}

}  // namespace
}  // namespace berth::text
