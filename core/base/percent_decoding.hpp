// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <string>
#include <string_view>

namespace berth {

/// The text of a part of a URL: "%2F" is "/". A percent sign that two hexadecimal digits do not follow stands for
/// itself.
inline std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace berth
