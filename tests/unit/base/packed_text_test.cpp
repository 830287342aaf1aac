// SPDX-License-Identifier: Apache-2.0
#include "base/packed_text.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(PackedText, GivesBackWhatWasPutIn) {
  std::string all;
  for (int i = 0; i < 100'000; ++i) all += static_cast<char>(i * 31 >> 3);
  for (const std::string& text : {std::string(), std::string("x"), std::string(5000, 'a'), all})
    EXPECT_EQ(PackedText(text).text(), text);
}

TEST(PackedText, TakesLessThanTheText) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += R"({"name":"value","other":"thing"},)";
  EXPECT_LT(PackedText(text).packed_bytes(), text.size() / 5);
}

TEST(PackedText, CopiesAreEqualAndOnlyTheEmptyTextIsEmpty) {
  EXPECT_TRUE(PackedText().empty());
  EXPECT_TRUE(PackedText("").empty());
  const PackedText packed("text");
  const PackedText copy = packed;
  EXPECT_TRUE(copy == packed && packed == PackedText("text") && PackedText() == PackedText(""));
  EXPECT_TRUE(packed != PackedText("texs") && packed != PackedText());
  EXPECT_FALSE(copy.empty());
  EXPECT_EQ(copy.text(), "text");
}

}  // namespace
}  // namespace berth
