// SPDX-License-Identifier: Apache-2.0
#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

struct Pair {
  std::string_view bytes, encoded;
};
// RFC 4648, section 10, and both ends of the alphabet.
constexpr Pair k_pairs[] = {{"", ""},
                            {"f", "Zg=="},
                            {"fo", "Zm8="},
                            {"foo", "Zm9v"},
                            {"foob", "Zm9vYg=="},
                            {"fooba", "Zm9vYmE="},
                            {"foobar", "Zm9vYmFy"},
                            {"\xff\xff\xfe", "///+"},
                            {std::string_view("\0\0", 2), "AAA="}};

TEST(Base64, EncodesAsInTheStandard) {
  for (const Pair& pair : k_pairs) EXPECT_EQ(encode_base64(pair.bytes), pair.encoded);
}

TEST(Base64, DecodesWhatItEncodes) {
  for (const Pair& pair : k_pairs) EXPECT_EQ(decode_base64(pair.encoded), std::string(pair.bytes));
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(decode_base64(encode_base64(all)), all);
}

TEST(Base64, SkipsWhiteSpace) { EXPECT_EQ(decode_base64(" Zm9v\nYm\tFy\r\n"), "foobar"); }

TEST(Base64, RefusesTextThatIsNotPaddedBase64) {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zm9v-", "Zm9*", "Zg==Zg==", "=Zg=", "Zm_v"})
    EXPECT_FALSE(decode_base64(text)) << text;
}

}  // namespace
}  // namespace berth
