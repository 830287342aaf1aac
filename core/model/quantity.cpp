// SPDX-License-Identifier: Apache-2.0
#include "model/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace berth::model {
namespace {

using Wide = Int128;
constexpr Wide k_wide_max = ~(static_cast<Wide>(1) << 127);

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

Wide saturating_multiply(Wide a, Wide b) noexcept {
  Wide product;
  return __builtin_mul_overflow(a, b, &product) ? k_wide_max : product;  // both are never negative here
}

struct Scale {
  bool binary = false;
  std::int32_t exponent = 0;  // of 2 or of 10
};

std::optional<Scale> interpret_suffix(std::string_view suffix) noexcept {
  if (suffix.empty()) return Scale{};
  struct Known {
    std::string_view text;
    Scale scale;
  };
  static constexpr std::array<Known, 15> k_known = {{{"m", {false, -3}},
                                                     {"Mi", {true, 20}},
                                                     {"Gi", {true, 30}},
                                                     {"Ki", {true, 10}},
                                                     {"k", {false, 3}},
                                                     {"M", {false, 6}},
                                                     {"G", {false, 9}},
                                                     {"n", {false, -9}},
                                                     {"u", {false, -6}},
                                                     {"T", {false, 12}},
                                                     {"P", {false, 15}},
                                                     {"E", {false, 18}},
                                                     {"Ti", {true, 40}},
                                                     {"Pi", {true, 50}},
                                                     {"Ei", {true, 60}}}};
  for (const Known& known : k_known)
    if (known.text == suffix) return known.scale;
  if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) return std::nullopt;
  suffix.remove_prefix(suffix[1] == '+' && suffix.size() > 2 && is_digit(suffix[2]) ? 2
                                                                                    : 1);  // from_chars takes no '+'
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc{} || end != suffix.data() + suffix.size()) return std::nullopt;
  return Scale{false, static_cast<std::int32_t>(exponent)};  // upstream parses 64 bits and keeps 32
}

struct Parts {
  bool negative = false;
  bool has_digits = false;
  std::string_view whole;  // without leading zeros
  std::string_view fraction;
  std::string_view suffix;
};

/// Upstream's scanner; nothing when text is left over.
std::optional<Parts> split(std::string_view text) noexcept {
  Parts parts;
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(start, at - start);
  };
  if (text.front() == '-' || text.front() == '+') {
    parts.negative = text.front() == '-';
    ++at;
  }
  parts.whole = digits();
  parts.has_digits = !parts.whole.empty();
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = digits();
    parts.has_digits |= !parts.fraction.empty();
  }
  const std::size_t suffix = at;
  while (at < text.size() && std::string_view("eEinumkKMGTP").find(text[at]) != std::string_view::npos) ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  digits();
  if (at < text.size()) return std::nullopt;
  parts.suffix = text.substr(suffix);
  return parts;
}

/// whole.fraction * 10^exponent in units of 10^-9, rounded up, saturated.
Wide decimal_nano(const Parts& parts, std::int32_t exponent) noexcept {
  const std::size_t count = parts.whole.size() + parts.fraction.size();
  const auto digit = [&](std::size_t i) {
    return (i < parts.whole.size() ? parts.whole[i] : parts.fraction[i - parts.whole.size()]) - '0';
  };
  // The decimal point of the result stands behind digit number `kept`, counted from the left; zeros may have to be
  // added.
  const std::int64_t kept = static_cast<std::int64_t>(parts.whole.size()) + exponent + 9;
  Wide value = 0;
  bool rest = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(i) >= kept) {
      rest |= digit(i) != 0;
      continue;
    }
    value = saturating_multiply(value, 10);
    if (__builtin_add_overflow(value, static_cast<Wide>(digit(i)), &value)) value = k_wide_max;
  }
  for (auto i = static_cast<std::int64_t>(count); i < kept && value != 0 && value != k_wide_max; ++i)
    value = saturating_multiply(value, 10);
  return rest && value != k_wide_max ? value + 1 : value;
}

/// whole.fraction * 2^exponent in units of 10^-9, rounded up, capped at 2^63-1 units as upstream does for binary
/// suffixes.
Wide binary_nano(const Parts& parts, std::int32_t exponent) noexcept {
  constexpr Wide k_nano = 1'000'000'000;
  constexpr Wide k_cap = static_cast<Wide>(std::numeric_limits<std::int64_t>::max()) * k_nano;
  const Wide factor = (static_cast<Wide>(1) << exponent) * k_nano;
  if (parts.whole.size() > 19) return k_cap;
  Wide value = 0;
  for (const char c : parts.whole) value = value * 10 + (c - '0');
  value = saturating_multiply(value, factor);
  // 0.fraction * factor as done by hand, from the right: what is carried out on the left is the integer part.
  Wide carry = 0;
  bool rest = false;
  for (std::size_t i = parts.fraction.size(); i-- > 0;) {
    carry += (parts.fraction[i] - '0') * factor;
    rest |= carry % 10 != 0;
    carry /= 10;
  }
  if (rest) ++carry;
  return value >= k_cap || carry >= k_cap - value ? k_cap : value + carry;
}

std::int64_t away_from_zero(Wide nano, std::int64_t unit) noexcept {
  if (const auto narrow = static_cast<std::int64_t>(nano); narrow == nano) {  // most are: 128 bits divide slowly
    const std::int64_t quotient = narrow / unit;
    return narrow % unit == 0 ? quotient : quotient + (narrow < 0 ? -1 : 1);
  }
  Wide quotient = nano / unit;
  if (nano % unit != 0) quotient += nano < 0 ? -1 : 1;
  if (quotient > std::numeric_limits<std::int64_t>::max()) return std::numeric_limits<std::int64_t>::max();
  if (quotient < std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(quotient);
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  static constexpr const char* k_wrong_format =
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  if (text.empty()) return Error{k_wrong_format};
  const std::optional<Parts> parts = split(text);
  if (!parts) return Error{k_wrong_format};
  const std::optional<Scale> scale = interpret_suffix(parts->suffix);
  if (!scale) return Error{"unable to parse quantity's suffix"};
  // Without a digit upstream's short way reads 0; only what needs its long way (below 10^-9) is looked at again there.
  if (!parts->has_digits && !scale->binary && scale->exponent < -9)
    return Error{"unable to parse numeric part of quantity"};
  const Wide nano = scale->binary ? binary_nano(*parts, scale->exponent) : decimal_nano(*parts, scale->exponent);
  return Quantity(parts->negative ? -nano : nano);
}

std::int64_t Quantity::value() const noexcept { return away_from_zero(nano_, k_nano); }
std::int64_t Quantity::milli_value() const noexcept { return away_from_zero(nano_, k_nano / 1000); }

Quantity Quantity::rounded_to_milli() const noexcept {
  constexpr Wide k_milli = k_nano / 1000;
  const Wide rest = nano_ % k_milli;
  if (rest == 0) return *this;
  Wide rounded = nano_ - rest;
  if (__builtin_add_overflow(rounded, rest < 0 ? -k_milli : k_milli, &rounded)) return *this;
  return Quantity(rounded);
}

Quantity& Quantity::operator+=(Quantity other) noexcept {
  if (__builtin_add_overflow(nano_, other.nano_, &nano_)) nano_ = other.nano_ < 0 ? -k_wide_max : k_wide_max;
  return *this;
}

}  // namespace berth::model
