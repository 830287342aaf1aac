// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
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

/// The text of a URL for logs and messages: "https://me:secret@host/path" becomes "https://me:***@host/path". It need
/// not be a good URL: where a password holds a '/', all up to the last '@' is taken for it. Source: Go's
/// net/http/client.go (stripPassword).
inline std::string url_without_password(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const std::size_t begin = scheme_end == std::string_view::npos ? 0 : scheme_end + 3;
  std::string_view authority = url.substr(begin, std::min(url.find('/', begin), url.size()) - begin);
  const std::size_t port = authority.find(':');
  const bool is_sound = authority.find('@') != std::string_view::npos || port == std::string_view::npos ||
                        authority.starts_with('[') ||
                        authority.find_first_not_of("0123456789", port + 1) == std::string_view::npos;
  if (!is_sound) authority = url.substr(begin);
  const std::size_t at = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  if (at == std::string_view::npos || colon > at) return std::string(url);
  return std::string(url.substr(0, begin + colon + 1)).append("***").append(url.substr(begin + at));
}

}  // namespace berth
