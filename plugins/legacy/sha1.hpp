// SPDX-License-Identifier: Apache-2.0
/// SHA-1, for names that were shortened with it; not for anything that has to be safe. Source: RFC 3174.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::legacy {

namespace detail {

inline void sha1_block(std::array<std::uint32_t, 5>& state, const unsigned char* bytes) {
  std::uint32_t words[80];
  for (unsigned i = 0; i < 16; ++i)
    words[i] = std::uint32_t{bytes[4 * i]} << 24 | std::uint32_t{bytes[4 * i + 1]} << 16 |
               std::uint32_t{bytes[4 * i + 2]} << 8 | bytes[4 * i + 3];
  for (unsigned i = 16; i < 80; ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (unsigned i = 0; i < 80; ++i) {
    const std::uint32_t mixed = i < 20   ? (b & c) | (~b & d)
                                : i < 40 ? b ^ c ^ d
                                : i < 60 ? (b & c) | (b & d) | (c & d)
                                         : b ^ c ^ d;
    constexpr std::uint32_t k_rounds[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + k_rounds[i / 20] + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace detail

/// 40 hexadecimal digits.
inline std::string sha1_hex(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (unsigned i = 0; i < 8; ++i) padded += static_cast<char>(bits >> (56 - 8 * i));
  std::array<std::uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t at = 0; at < padded.size(); at += 64)
    detail::sha1_block(state, reinterpret_cast<const unsigned char*>(padded.data() + at));
  std::string hex;
  for (const std::uint32_t word : state)
    for (unsigned shift = 32; shift != 0; shift -= 4) hex += "0123456789abcdef"[word >> (shift - 4) & 15];
  return hex;
}

}  // namespace berth::legacy
