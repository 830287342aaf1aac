// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

namespace berth {
namespace {
constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
}

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  if (text.empty()) return 0;
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool is_long_form = lead == 0xE0 && second < 0xA0, is_surrogate = lead == 0xED && second >= 0xA0;
    return continues(1) && continues(2) && !is_long_form && !is_surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool is_long_form = lead == 0xF0 && second < 0x90, is_too_large = lead == 0xF4 && second >= 0x90;
    return continues(1) && continues(2) && continues(3) && !is_long_form && !is_too_large ? 4 : 0;
  }
  return 0;
}

std::size_t find_invalid_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {  // nearly all there is
      ++i;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos; bad = find_invalid_utf8(text)) {
    out.append(text.substr(0, bad)).append(k_replacement);
    text.remove_prefix(bad + 1);
  }
  return out.append(text);
}

}  // namespace berth
