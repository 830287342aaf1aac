// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cctype>
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

/// Bytes of the character at the front of a UTF-8 text, where it is none to be shown but changes how a terminal shows
/// what follows: controls of ISO 8859 (U+0080..U+009F; U+009B stands for ESC [), marks, embeddings, overrides and
/// isolates of direction, and separators of lines and paragraphs. 0: any other; ASCII is not looked at.
constexpr std::size_t display_control_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  if (at(0) == 0xc2) return at(1) >= 0x80 && at(1) <= 0x9f ? 2 : 0;
  if (at(0) == 0xd8) return at(1) == 0x9c ? 2 : 0;  // U+061C
  if (at(0) != 0xe2) return 0;
  // U+200E, U+200F, U+2028..U+202E, U+2066..U+2069
  const bool is_one = (at(1) == 0x80 && (at(2) == 0x8e || at(2) == 0x8f || (at(2) >= 0xa8 && at(2) <= 0xae))) ||
                      (at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9);
  return is_one ? 3 : 0;
}

/// The number of that character. Requires: `length` is display_control_length(text), and not 0.
constexpr unsigned display_control_code(std::string_view text, std::size_t length) noexcept {
  unsigned code = static_cast<unsigned char>(text[0]) & (length == 2 ? 0x1fU : 0x0fU);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return code;
}

/// ASCII letters in lower case; other bytes as they are.
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

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
