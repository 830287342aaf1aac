// SPDX-License-Identifier: Apache-2.0
#include "base/bitmap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace berth::bitmap {
namespace {

std::vector<std::uint64_t> drawn(std::mt19937_64& random, std::size_t words) {
  std::vector<std::uint64_t> out(words);
  for (std::uint64_t& word : out) word = random() & random();
  return out;
}

TEST(Bitmap, CountsAndKeepsBitsAsOneByOne) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t words = seed - 1;  // none, and more than a vector of the processor holds
    std::vector<std::uint64_t> a = drawn(random, words);
    const std::vector<std::uint64_t> b = drawn(random, words), before = a;
    std::size_t in_a = 0, in_both = 0;
    for (std::size_t i = 0; i < words * 64; ++i) {
      in_a += test(a.data(), i) ? 1 : 0;
      in_both += test(a.data(), i) && test(b.data(), i) ? 1 : 0;
    }
    EXPECT_EQ(count(a.data(), words), in_a);
    EXPECT_EQ(count_common(a.data(), b.data(), words), in_both);
    EXPECT_EQ(keep_common(a.data(), b.data(), words), in_both);
    for (std::size_t i = 0; i < words * 64; ++i)
      ASSERT_EQ(test(a.data(), i), test(before.data(), i) && test(b.data(), i)) << i;
  }
}

}  // namespace
}  // namespace berth::bitmap
