// SPDX-License-Identifier: Apache-2.0
/// A text between quotes, as Go's %q writes it. Source: Go strconv.Quote.
/// Departs: code points that no version of Unicode has given a meaning are written as they are, where Go escapes them.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace devices {

/// The code point at the start of `text`, and its length in bytes; length 1 of a byte above 0x7f: it is not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool is_valid() const { return bytes > 1 || value < 0x80; }
};
inline CodePoint code_point_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first < 0xe0                  ? 0
                             : first < 0xf0                  ? 3
                             : first < 0xf5                  ? 4
                                                             : 0;
  if (length <= 1 || text.size() < length) return {first, 1};
  std::uint32_t value = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {first, 1};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (is_overlong || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return {first, 1};
  return {value, length};
}

/// False of what has no shape: controls, formats, separators other than the blank, private use.
inline bool is_printable(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range k_shapeless[] = {
      {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},
      {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},
      {0xe000, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
      {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
      {0xf0000, 0x10ffff}};
  for (const Range& range : k_shapeless)
    if (c >= range.first && c <= range.last) return false;
  return true;
}

inline std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  const auto escape = [&](const char* form, std::uint32_t value) {
    char written[12];
    std::snprintf(written, sizeof written, form, value);
    out += written;
  };
  static constexpr std::string_view k_named = "\a\b\f\n\r\t\v", k_names = "abfnrtv";
  while (!text.empty()) {
    const CodePoint c = code_point_at(text);
    const std::size_t named = c.value < 0x80 ? k_named.find(static_cast<char>(c.value)) : k_named.npos;
    if (!c.is_valid() || (c.value < 0x80 && named == k_named.npos && !is_printable(c.value))) {
      escape("\\x%02x", c.value);
    } else if (named != k_named.npos) {
      out += '\\';
      out += k_names[named];
    } else if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (is_printable(c.value)) {
      out += text.substr(0, c.bytes);
    } else {
      escape(c.value < 0x10000 ? "\\u%04x" : "\\U%08x", c.value);
    }
    text.remove_prefix(c.bytes);
  }
  return out += '"';
}

}  // namespace devices
