// SPDX-License-Identifier: Apache-2.0
#include "amount.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace berth::dra {
namespace {

constexpr int k_amount_digits_max = 27;

int decimal_digits(Nano value) {
  int digits = 0;
  for (; value != 0; value /= 10) ++digits;
  return digits;
}

Amount::Notation notation_of(std::string_view text) {
  if (text.ends_with('i')) return Amount::Notation::binary;
  const std::size_t e = text.find_first_of("eE");
  // `1E` is an exa, `1E3` a thousand.
  return e != std::string_view::npos && e + 1 < text.size() ? Amount::Notation::exponent : Amount::Notation::decimal;
}

std::string digits_of(Nano value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string text;
  for (; value != 0; value /= 10)
    text += static_cast<char>('0' + static_cast<int>(negative ? -(value % 10) : value % 10));
  if (negative) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

AmountRead read_amount(std::string_view text) {
  const cel::QuantityParsed parsed = cel::parse_quantity(text);
  if (!parsed.error.empty()) return {{}, parsed.error};
  const Nano mantissa = parsed.value.mantissa;
  const std::int64_t scale = std::int64_t{parsed.value.scale} + 9;  // parsing rounds to billionths, so never below zero
  if (mantissa == 0) return {{0, notation_of(text)}, {}};
  if (scale < 0 || decimal_digits(mantissa) + scale > k_amount_digits_max + 9) return {{}, "quantity is 10^27 or more"};
  Nano nano = mantissa;
  for (std::int64_t i = 0; i < scale; ++i) nano *= 10;
  return {{nano, notation_of(text)}, {}};
}

std::int64_t whole_value(Nano nano) {
  Nano whole = nano / k_nano;
  if (nano % k_nano != 0) whole += nano < 0 ? -1 : 1;
  constexpr Nano least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(whole, least, most));
}

std::string canonical_text(const Amount& amount) {
  Nano value = amount.nano;
  if (value == 0) return "0";
  const Nano magnitude = value < 0 ? -value : value;
  if (amount.notation == Amount::Notation::binary && magnitude >= 1024 * k_nano && value % k_nano == 0) {
    constexpr std::array<std::string_view, 7> suffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    std::size_t power = 0;
    value /= k_nano;
    for (; value % 1024 == 0 && power + 1 < suffixes.size(); ++power) value /= 1024;
    return digits_of(value) + std::string(suffixes[power]);
  }
  int exponent = -9;
  for (; value % 1000 == 0; exponent += 3) value /= 1000;
  std::string text = digits_of(value);
  constexpr std::array<std::string_view, 10> suffixes = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  if (exponent == 0) return text;
  if (amount.notation == Amount::Notation::exponent || exponent > 18) return text + "e" + std::to_string(exponent);
  return text + std::string(suffixes[static_cast<std::size_t>(exponent / 3 + 3)]);
}

}  // namespace berth::dra
