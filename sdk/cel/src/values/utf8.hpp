// SPDX-License-Identifier: Apache-2.0
/// Texts as sequences of code points. What is no UTF-8 reads as U+FFFD, byte by byte, as in Go.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::cel {

/// Bytes of the code point that starts `text`, which is not empty; `code` is its number.
inline std::size_t next_code_point(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  code = byte(0);
  if (code < 0x80) return 1;
  if (code >= 0xC2 && code < 0xE0 && follows(1)) {
    code = (code & 0x1F) << 6 | (byte(1) & 0x3Fu);
    return 2;
  }
  if (code >= 0xE0 && code < 0xF0 && follows(1) && follows(2)) {
    code = (code & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return 3;
  } else if (code >= 0xF0 && code < 0xF5 && follows(1) && follows(2) && follows(3)) {
    code = (code & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    if (code >= 0x10000 && code <= 0x10FFFF) return 4;
  }
  code = 0xFFFD;
  return 1;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t size = next_code_point(text, code);
    if (size == 1 && code == 0xFFFD) return false;
    text.remove_prefix(size);
  }
  return true;
}

inline void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace berth::cel
