// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

/// Bitmaps are arrays of 64-bit words; bit i is bit (i & 63) of word (i >> 6), as in the plugin ABI.
namespace berth::bitmap {

inline constexpr std::size_t words_for(std::size_t bits) noexcept { return (bits + 63) >> 6; }
inline bool test(const std::uint64_t* words, std::size_t i) noexcept { return (words[i >> 6] >> (i & 63)) & 1; }
inline void set(std::uint64_t* words, std::size_t i) noexcept { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
inline void clear(std::uint64_t* words, std::size_t i) noexcept { words[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }
inline void assign(std::uint64_t* words, std::size_t i, bool value) noexcept {
  value ? set(words, i) : clear(words, i);
}
/// How many bits are set.
std::size_t count(const std::uint64_t* words, std::size_t word_count) noexcept;
/// Clears the bits of `a` that are not set in `b`; how many are left.
std::size_t keep_common(std::uint64_t* a, const std::uint64_t* b, std::size_t word_count) noexcept;
/// How many bits are set in both.
std::size_t count_common(const std::uint64_t* a, const std::uint64_t* b, std::size_t word_count) noexcept;
inline bool any(const std::uint64_t* words, std::size_t word_count) noexcept {
  for (std::size_t w = 0; w < word_count; ++w)
    if (words[w] != 0) return true;
  return false;
}
/// Calls body(i) for each set bit, ascending.
template <typename Body>
void for_each(const std::uint64_t* words, std::size_t word_count, Body&& body) {
  for (std::size_t w = 0; w < word_count; ++w)
    for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1)
      body((w << 6) + static_cast<std::size_t>(std::countr_zero(rest)));
}

}  // namespace berth::bitmap
