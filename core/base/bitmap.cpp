// SPDX-License-Identifier: Apache-2.0
#include "base/bitmap.hpp"

#include "base/vector_clones.hpp"

namespace berth::bitmap {

BERTH_HOST_VECTOR_CLONES std::size_t count(const std::uint64_t* words, std::size_t word_count) noexcept {
  std::size_t n = 0;
  for (std::size_t w = 0; w < word_count; ++w) n += static_cast<std::size_t>(std::popcount(words[w]));
  return n;
}

BERTH_HOST_VECTOR_CLONES std::size_t keep_common(std::uint64_t* a, const std::uint64_t* b,
                                                 std::size_t word_count) noexcept {
  std::size_t n = 0;
  for (std::size_t w = 0; w < word_count; ++w) {
    a[w] &= b[w];
    n += static_cast<std::size_t>(std::popcount(a[w]));
  }
  return n;
}

BERTH_HOST_VECTOR_CLONES std::size_t count_common(const std::uint64_t* a, const std::uint64_t* b,
                                                  std::size_t word_count) noexcept {
  std::size_t n = 0;
  for (std::size_t w = 0; w < word_count; ++w) n += static_cast<std::size_t>(std::popcount(a[w] & b[w]));
  return n;
}

}  // namespace berth::bitmap
