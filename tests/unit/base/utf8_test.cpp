// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Utf8, KnowsTheLengthOfASequence) {
  EXPECT_EQ(utf8_length("a\xC3"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA9x"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_length("\xED\x9F\xBF"), 3U) << "the last before the surrogates";
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4U) << "U+10FFFF";
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1U);
}

TEST(Utf8, RefusesWhatIsNone) {
  EXPECT_EQ(utf8_length(""), 0U);
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xE0\x9F\xBF",
                          "\xE2\x82", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFE", "\xFF"})
    EXPECT_EQ(utf8_length(bad), 0U) << testing::PrintToString(bad);
}

TEST(Utf8, FindsAndReplacesByteByByte) {
  EXPECT_EQ(find_invalid_utf8("ab\xC3\xA9"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("ab\xC3\xA9\xE2\x82"), 4U);
  EXPECT_EQ(valid_utf8("a\xFF\xE2\x82z\xC3\xA9"), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\xC3\xA9");
  EXPECT_EQ(valid_utf8(""), "");
}

}  // namespace
}  // namespace berth
