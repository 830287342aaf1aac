// SPDX-License-Identifier: Apache-2.0
#include "model/uid.hpp"

#include <gtest/gtest.h>

#include <random>

#include "model/pod.hpp"

namespace berth::model {
namespace {

TEST(Uid, GivesBackEveryTextExactly) {
  for (const std::string_view text : {"", "u", "uid-1", "6b1f9a1c-0d3e-4b1a-9c55-0f8c1d2e3f40",
                                      "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-8000-000000000000",
                                      "ffffffff-ffff-ffff-bfff-ffffffffffff", "ffffffff-ffff-ffff-ffff-ffffffffffff",
                                      "6B1F9A1C-0D3E-4B1A-9C55-0F8C1D2E3F40", "6b1f9a1c-0d3e-4b1a-9c55-0f8c1d2e3f4",
                                      "6b1f9a1c-0d3e-4b1a-9c55-0f8c1d2e3f401", "6b1f9a1c00d3e-4b1a-9c55-0f8c1d2e3f40",
                                      "6b1f9a1c-0d3e-4b1a-9c55-0f8c1d2e3f4g", "0123456789abcdef0123456789abcdef"}) {
    const Uid uid(text);
    EXPECT_EQ(uid.text(), text);
    EXPECT_EQ(uid.empty(), text.empty()) << text;
    Uid copy = uid;
    EXPECT_TRUE(copy == uid && copy == text) << text;
    const Uid moved = std::move(copy);
    EXPECT_EQ(moved.text(), text);
    EXPECT_EQ(moved.hash(), uid.hash());
  }
}

TEST(Uid, AreEqualWhenTheirTextsAre) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  std::vector<std::string> texts{"", "u", "6b1f9a1c-0d3e-4b1a-9c55-0f8c1d2e3f40",
                                 "6b1f9a1c-0d3e-4b1a-0c55-0f8c1d2e3f40"};
  for (int i = 0; i < 200; ++i) {
    std::string text = texts[random() % texts.size()];
    if (!text.empty()) text[random() % text.size()] = "0123456789abcdefgA-"[random() % 19];
    texts.push_back(std::move(text));
  }
  for (const std::string& a : texts)
    for (const std::string& b : texts) {
      EXPECT_EQ(Uid(a) == Uid(b), a == b) << a << " " << b << " seed " << seed;
      if (a == b) {
        EXPECT_EQ(Uid(a).hash(), Uid(b).hash()) << a << " seed " << seed;
      }
    }
}

TEST(ResourceVersion, GivesBackEveryTextExactly) {
  for (const std::string_view text :
       {"", "0", "7", "007", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "12a", "v1"}) {
    const ResourceVersion version(text);
    EXPECT_EQ(version.text(), text);
    EXPECT_EQ(version.empty(), text.empty()) << text;
    const ResourceVersion copy = version;
    EXPECT_TRUE(copy == version && copy == text) << text;
    EXPECT_EQ(version == ResourceVersion("7"), text == "7");
  }
  EXPECT_EQ(ResourceVersion("812").number(), 812u);
  EXPECT_EQ(ResourceVersion("0812").number(), 0u) << "no server writes it so";
}

// 150,000 of them are in the memory of a big cluster's scheduler.
TEST(Pod, IsSmall) {
  EXPECT_LE(sizeof(Pod), 224u);
  EXPECT_EQ(sizeof(Uid), 16u);
  EXPECT_EQ(sizeof(ResourceVersion), 8u);
}

}  // namespace
}  // namespace berth::model
