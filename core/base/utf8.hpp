// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

/// The length of the UTF-8 sequence at the front of the text, 1 to 4; 0 when there is none: nothing longer than need be,
/// no surrogate, nothing past U+10FFFF.
std::size_t utf8_length(std::string_view text) noexcept;

/// Where the first byte stands that begins no UTF-8 sequence; npos: nowhere.
std::size_t find_invalid_utf8(std::string_view text) noexcept;

/// The text with U+FFFD for every such byte, as Go's decoders and encoders have it.
std::string valid_utf8(std::string_view text);

/// Of a text from outside (a server, an extender, an exec plugin) that reaches a log, a message or a pod's status.
inline constexpr std::size_t k_excerpt_bytes_max = 1024;

/// The text if it has no more than `bytes_max` bytes, else its beginning, cut between two characters of UTF-8, and how
/// long it was; with that no longer than `bytes_max`. Requires: bytes_max >= 64.
inline std::string excerpt(std::string_view text, std::size_t bytes_max = k_excerpt_bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const std::string rest = " ... (" + std::to_string(text.size()) + " bytes)";
  std::size_t end = bytes_max - rest.size();
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
  for (int back = 0; back < 3 && continues(end); ++back) --end;
  return std::string(text.substr(0, end)) + rest;
}

}  // namespace berth
