// SPDX-License-Identifier: Apache-2.0
#include "berth/cel/quantity.hpp"

#include <cmath>
#include <limits>

#include "syntax/characters.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_bad_format =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view k_bad_number = "unable to parse numeric part of quantity";
constexpr std::string_view k_bad_suffix = "unable to parse quantity's suffix";
constexpr std::int64_t k_int64_max = std::numeric_limits<std::int64_t>::max();
// 10^38 fits into 128 bits.
constexpr int k_digits_max = 38;

Int128 power_of_ten(int exponent) {
  Int128 power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

Int128 magnitude(const Quantity& value) { return value.mantissa < 0 ? -value.mantissa : value.mantissa; }

int digits_of(Int128 value) {
  int digits = 0;
  for (; value != 0; value /= 10) ++digits;
  return digits;
}

struct Suffix {
  bool binary = false;
  int exponent = 0;  ///< of two or of ten
  bool good = false;
};

Suffix parse_suffix(std::string_view text) {
  if (text.empty()) return {false, 0, true};
  if (text.size() == 2 && text[1] == 'i') {
    const auto at = std::string_view("KMGTPE").find(text[0]);
    return {true, 10 * static_cast<int>(at + 1), at != std::string_view::npos};
  }
  if (text.size() == 1) {
    switch (text[0]) {
      case 'n':
        return {false, -9, true};
      case 'u':
        return {false, -6, true};
      case 'm':
        return {false, -3, true};
      case 'k':
        return {false, 3, true};
      case 'M':
        return {false, 6, true};
      case 'G':
        return {false, 9, true};
      case 'T':
        return {false, 12, true};
      case 'P':
        return {false, 15, true};
      case 'E':
        return {false, 18, true};
      default:
        return {};
    }
  }
  if (text[0] != 'e' && text[0] != 'E') return {};
  text.remove_prefix(1);
  const bool minus = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return {};
  std::int64_t exponent = 0;
  for (const char c : text) {
    if (!is_digit(c)) return {};
    exponent = exponent * 10 + (c - '0');
    if (exponent > k_int64_max / 16) return {};
  }
  if (exponent > 1'000'000'000) return {};  // no number that is meant
  return {false, static_cast<int>(minus ? -exponent : exponent), true};
}

void strip_zeros(Quantity& value) {
  if (value.mantissa == 0) value.scale = 0;
  while (value.mantissa != 0 && value.mantissa % 10 == 0) {
    value.mantissa /= 10;
    ++value.scale;
  }
}

/// Away from zero to whole 10^-9.
void round_up_to_nano(Quantity& value) {
  if (value.scale >= -9 || value.mantissa == 0) return;
  const std::int64_t drop = -9 - std::int64_t{value.scale};
  const Int128 divisor = drop > k_digits_max ? 0 : power_of_ten(static_cast<int>(drop));
  const int direction = value.mantissa < 0 ? -1 : 1;
  if (divisor == 0) {
    value.mantissa = direction;
  } else {
    const Int128 rest = value.mantissa % divisor;
    value.mantissa /= divisor;
    if (rest != 0) value.mantissa += direction;
  }
  value.scale = -9;
}

}  // namespace

QuantityParsed parse_quantity(std::string_view text) {
  if (text.empty()) return {{}, k_bad_format};
  std::size_t at = text[0] == '-' || text[0] == '+' ? 1 : 0;
  const bool negative = text[0] == '-';
  Quantity value;
  int digits = 0;
  std::int64_t fraction = 0;
  bool rest_is_not_zero = false;
  bool after_point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !after_point)); ++at) {
    if (text[at] == '.') {
      after_point = true;
      continue;
    }
    if (digits == 37) {  // one digit is left for rounding
      if (!after_point) return {{}, k_quantity_too_long};
      rest_is_not_zero = rest_is_not_zero || text[at] != '0';
      continue;
    }
    value.mantissa = value.mantissa * 10 + (text[at] - '0');
    if (value.mantissa != 0) ++digits;
    if (after_point) ++fraction;
  }
  // What follows must have the shape of a suffix before it is looked at as one.
  std::size_t end = at;
  while (end < text.size() && std::string_view("eEinumkKMGTP").find(text[end]) != std::string_view::npos) ++end;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end != text.size()) return {{}, k_bad_format};
  const Suffix suffix = parse_suffix(text.substr(at));
  if (!suffix.good) return {{}, k_bad_suffix};
  if (fraction > 1'000'000) return {{}, k_bad_number};

  if (rest_is_not_zero) {
    value.mantissa = value.mantissa * 10 + 1;
    ++fraction;
  }
  value.scale = static_cast<std::int32_t>(-fraction);
  const bool written_whole = fraction == 0 && digits <= 18;
  if (suffix.binary) {
    strip_zeros(value);
    const int spare = k_digits_max - digits_of(value.mantissa);
    if (spare < 19) {
      // Such a number is capped anyway, or has more digits after the point than 10^-9 shows.
      if (value.scale >= 0)
        value = {k_int64_max, 0, true};
      else
        round_up_to_nano(value);
      if (k_digits_max - digits_of(value.mantissa) < 19) value = {k_int64_max, 0, true};
    }
    if (value.mantissa != k_int64_max) value.mantissa <<= suffix.exponent;
    strip_zeros(value);
    round_up_to_nano(value);
    const Quantity largest{k_int64_max, 0, true};
    if (compare(value, largest) > 0) value = largest;
    value.is_integer = written_whole;
  } else {
    value.scale += suffix.exponent;
    value.is_integer = written_whole && suffix.exponent >= 0;
    round_up_to_nano(value);
  }
  if (negative) value.mantissa = -value.mantissa;
  strip_zeros(value);
  return {value, {}};
}

int sign(const Quantity& value) { return value.mantissa < 0 ? -1 : value.mantissa > 0 ? 1 : 0; }

int compare(const Quantity& left, const Quantity& right) {
  if (left.scale == right.scale) return left.mantissa < right.mantissa ? -1 : left.mantissa > right.mantissa ? 1 : 0;
  if (sign(left) != sign(right)) return sign(left) < sign(right) ? -1 : 1;
  if (left.scale < right.scale) return -compare(right, left);
  const std::int64_t shift = std::int64_t{left.scale} - right.scale;
  if (sign(left) == 0) return 0;
  if (digits_of(magnitude(left)) + shift > k_digits_max) return sign(left);
  const Int128 scaled = left.mantissa * power_of_ten(static_cast<int>(shift));
  return scaled < right.mantissa ? -1 : scaled > right.mantissa ? 1 : 0;
}

bool add(const Quantity& left, const Quantity& right, Quantity& sum) {
  if (left.mantissa == 0) return sum = right, true;
  if (right.mantissa == 0) return sum = left, true;
  if (left.scale < right.scale) return add(right, left, sum);
  const std::int64_t shift = std::int64_t{left.scale} - right.scale;
  if (digits_of(magnitude(left)) + shift > k_digits_max - 1 || digits_of(magnitude(right)) > k_digits_max - 1)
    return false;
  sum.mantissa = left.mantissa * power_of_ten(static_cast<int>(shift)) + right.mantissa;
  sum.scale = right.scale;
  sum.is_integer = left.is_integer && right.is_integer;
  strip_zeros(sum);
  return true;
}

Quantity negated(const Quantity& value) {
  Quantity result = value;
  result.mantissa = -result.mantissa;
  return result;
}

Quantity quantity_of(std::int64_t value) {
  Quantity result{value, 0, true};
  strip_zeros(result);
  return result;
}

bool as_integer(const Quantity& value, std::int64_t& whole) {
  if (!value.is_integer || value.scale < 0) return false;
  if (digits_of(magnitude(value)) + std::int64_t{value.scale} > 19) return false;
  const Int128 wide = value.mantissa * power_of_ten(value.scale);
  if (wide > k_int64_max || wide < std::numeric_limits<std::int64_t>::min()) return false;
  whole = static_cast<std::int64_t>(wide);
  return true;
}

double as_approximate_double(const Quantity& value) {
  return static_cast<double>(static_cast<long double>(value.mantissa) *
                             std::pow(10.0L, static_cast<long double>(value.scale)));
}

}  // namespace berth::cel
