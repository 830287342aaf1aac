// SPDX-License-Identifier: Apache-2.0
/// Kubernetes' resource quantities ("1500m", "2Gi", "1e3"), for args and for objects that list amounts by name.
///
///     const auto memory = berth::Quantity::parse("2Gi");
///     if (!memory) throw berth::BadArgs("…");
///     memory->value();                               // 2147483648
///
/// One field of an object needs none of this: BERTH_FIELD_QUANTITY and BERTH_FIELD_MILLI (ext/objects.h) are numbers already.
/// Units:   held in 10^-9, rounded away from zero; at most some 10^29, and 2^63-1 where the suffix is binary: larger ones are that.
/// Threads: any: values. Errors: parse() answers nullopt for what is no quantity.
/// Source:  kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go.
#pragma once
#include <berth/types.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace berth {
inline namespace sdk {

/// An amount.
class Quantity {
 public:
  constexpr Quantity() = default;
  /// A sign, digits with or without a point, and a suffix: n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent of ten. Spaces are
  /// not allowed.
  static std::optional<Quantity> parse(std::string_view text) noexcept;
  static constexpr Quantity from_units(std::int64_t units) noexcept { return Quantity(Wide{units} * k_nano); }

  /// Rounded away from zero to a whole number; of 64 bits, else the nearest of those.
  std::int64_t value() const noexcept { return in_units_of(k_nano); }
  /// The same in thousandths: cpu.
  std::int64_t milli() const noexcept { return in_units_of(k_nano / 1000); }
  /// As upstream counts a resource: cpu in thousandths, all else in units.
  std::int64_t amount_of(std::string_view resource) const noexcept { return resource == "cpu" ? milli() : value(); }
  bool is_negative() const noexcept { return nano_ < 0; }
  friend constexpr bool operator==(Quantity a, Quantity b) noexcept { return a.nano_ == b.nano_; }

 private:
  __extension__ using Wide = __int128;
  static constexpr Wide k_nano = 1'000'000'000;
  static constexpr Wide k_most = Wide{1} << 126;
  /// A suffix says a power of ten or of two.
  struct Scale {
    bool is_binary = false;
    int exponent = 0;
  };
  explicit constexpr Quantity(Wide nano) noexcept : nano_(nano) {}

  static std::optional<Scale> scale_of(std::string_view suffix) noexcept;
  // Neither is negative. Never more than k_most.
  static Wide times(Wide a, Wide b) noexcept { return b != 0 && a > k_most / b ? k_most : a * b; }
  std::int64_t in_units_of(Wide unit) const noexcept {
    constexpr Wide k_highest = std::numeric_limits<std::int64_t>::max(),
                   k_lowest = std::numeric_limits<std::int64_t>::min();
    Wide quotient = nano_ / unit;
    if (nano_ % unit != 0) quotient += nano_ < 0 ? -1 : 1;
    return static_cast<std::int64_t>(quotient > k_highest ? k_highest : quotient < k_lowest ? k_lowest : quotient);
  }

  Wide nano_ = 0;
};

inline std::optional<Quantity::Scale> Quantity::scale_of(std::string_view suffix) noexcept {
  if (suffix.empty()) return Scale{};
  constexpr std::string_view k_decimal = "num kMGTPE", k_binary = "KMGTPE";
  if (suffix.size() == 1 && suffix != " ")
    if (const std::size_t at = k_decimal.find(suffix); at != k_decimal.npos)
      return Scale{false, 3 * static_cast<int>(at) - 9};
  if (suffix.size() == 2 && suffix[1] == 'i')
    if (const std::size_t at = k_binary.find(suffix[0]); at != k_binary.npos)
      return Scale{true, 10 * (static_cast<int>(at) + 1)};
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  if (suffix.size() > 1 && suffix[0] == '+' && suffix[1] != '-') suffix.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc() || end != suffix.data() + suffix.size()) return std::nullopt;
  return Scale{false, exponent};
}

inline std::optional<Quantity> Quantity::parse(std::string_view text) noexcept {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_end);
  const std::optional<Scale> scale = scale_of(text.substr(number_end));
  const std::size_t point = std::min(number.find('.'), number.size());
  if (!scale || number.find_first_of("0123456789") == number.npos || number.find('.', point + 1) != number.npos)
    return std::nullopt;

  // Digit by digit, the first ones with the greater share. What is below 10^-9 raises the last place by one.
  Wide nano = 0;
  bool has_rest = false;
  const auto power = [](Wide base, int exponent) {
    Wide value = 1;
    while (exponent-- > 0 && value < k_most) value = times(value, base);
    return value;
  };
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] == '.' || number[i] == '0') continue;
    // Of ten: units are 0, tenths -1.
    const int place = i < point ? static_cast<int>(point - i) - 1 : -static_cast<int>(i - point);
    const Wide digit = number[i] - '0';
    Wide share = 0;
    if (scale->is_binary) {
      const Wide unit = times(k_nano, Wide{1} << scale->exponent);
      const Wide tens = power(10, place < 0 ? -place : place);
      share = place >= 0 ? times(times(unit, digit), tens) : unit * digit / tens;
      has_rest = has_rest || (place < 0 && unit * digit % tens != 0);
    } else if (const std::int64_t places = std::int64_t{place} + scale->exponent + 9; places >= 0) {
      share = places > 40 ? k_most : times(digit, power(10, static_cast<int>(places)));
    } else {
      has_rest = true;
    }
    nano = nano > k_most - share ? k_most : nano + share;
  }
  if (has_rest && nano < k_most) ++nano;
  if (constexpr Wide k_binary_most = k_nano * std::numeric_limits<std::int64_t>::max();
      scale->is_binary && nano > k_binary_most)
    nano = k_binary_most;
  return Quantity(is_negative ? -nano : nano);
}

}  // namespace sdk
}  // namespace berth
