// SPDX-License-Identifier: Apache-2.0
#include "text/cbor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "text/parse.hpp"

namespace berth::text {
namespace {

/// Without the tag in front, in hexadecimal.
std::string cbor_of(const std::string& json) {
  Diagnostics problems;
  const auto documents = parse_json(json, "f", problems);
  EXPECT_EQ(problems.render(), "");
  const std::string bytes = to_cbor(documents.front().root());
  EXPECT_EQ(bytes.substr(0, 3), "\xd9\xd9\xf7");
  std::string out;
  for (std::size_t i = 3; i < bytes.size(); ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(bytes[i]));
    out += two.data();
  }
  return out;
}

// Integers and doubles are those of RFC 8949, appendix A.
TEST(Cbor, WritesNumbersInTheFewestBytes) {
  EXPECT_EQ(cbor_of("[0, 23, 24, 255, 256, 1000, 1000000, 1000000000000]"),
            "88"
            "00"
            "17"
            "1818"
            "18ff"
            "190100"
            "1903e8"
            "1a000f4240"
            "1b000000e8d4a51000");
  EXPECT_EQ(cbor_of("[-1, -24, -25, -100, -1000, -9223372036854775808]"),
            "86"
            "20"
            "37"
            "3818"
            "3863"
            "3903e7"
            "3b7fffffffffffffff");
  EXPECT_EQ(cbor_of("[1.1, -4.1]"),
            "82"
            "fb3ff199999999999a"
            "fbc010666666666666");
}

TEST(Cbor, WritesStringsAndKeysAsByteStrings) {
  EXPECT_EQ(cbor_of(R"({"a": "", "bc": ["x\n", true, false, null], "d": {}})"),
            "a3"
            "4161"
            "40"
            "426263"
            "84"
            "42780a"
            "f5"
            "f4"
            "f6"
            "4164"
            "a0");
  EXPECT_EQ(cbor_of("\"" + std::string(300, 'z') + "\"").substr(0, 8), "59012c7a");
}

}  // namespace
}  // namespace berth::text
