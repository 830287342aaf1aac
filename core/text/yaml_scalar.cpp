// SPDX-License-Identifier: Apache-2.0
#include "text/yaml_scalar.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace berth::text {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// "0x1F", "0o17", "0b11", "017" as decimal text; nothing when it is none of these or larger than 64 bits.
std::optional<std::string> other_base(std::string_view digits, bool negative) {
  int base = 8;
  std::string_view rest = digits.substr(1);
  switch (digits[1]) {
    case 'x':
    case 'X':
      base = 16, rest.remove_prefix(1);
      break;
    case 'o':
    case 'O':
      rest.remove_prefix(1);
      break;
    case 'b':
    case 'B':
      base = 2, rest.remove_prefix(1);
      break;
    default:
      break;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, base);
  if (rest.empty() || error != std::errc{} || end != rest.data() + rest.size()) return std::nullopt;
  return (negative && number != 0 ? "-" : "") + std::to_string(number);
}

/// (\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_decimal(std::string_view text) noexcept {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - start;
  };
  const std::size_t whole = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace

PlainScalar resolve_plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {Kind::null, {}};
  if (text == "true" || text == "True" || text == "TRUE") return {Kind::boolean, "true"};
  if (text == "false" || text == "False" || text == "FALSE") return {Kind::boolean, "false"};
  const bool sign = text.front() == '-' || text.front() == '+';
  const bool negative = text.front() == '-';
  if (text.size() > (sign ? 1u : 0u) && (is_digit(text[sign]) || (text[sign] == '.' && text.size() > 1u + sign))) {
    std::string digits(text.substr(sign));
    if (is_digit(digits.front())) digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (digits.size() > 1 && digits[0] == '0')
      if (auto number = other_base(digits, negative)) return {Kind::number, std::move(*number)};
    if (is_decimal(digits)) {
      // Leading zeros that were no octal number ("08") and open ends ("5.", ".5") are closed, so that JSON takes the
      // text.
      const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
      if (first > 0 && digits[0] == '0') digits.erase(0, is_digit(digits[first]) ? first : first - 1);
      if (digits.front() == '.') digits.insert(0, 1, '0');
      if (const std::size_t point = digits.find('.');
          point != std::string::npos && (point + 1 == digits.size() || !is_digit(digits[point + 1])))
        digits.erase(point, 1);
      if (negative) digits.insert(0, 1, '-');
      return {Kind::number, std::move(digits)};
    }
  }
  return {Kind::string, std::string(text)};
}

}  // namespace berth::text
