// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::model {

__extension__ typedef __int128 Int128;  // NOLINT: GCC takes __extension__ before a typedef only

/// A Kubernetes resource.Quantity: an exact decimal with at most nine fractional digits.
///
/// Values are held in units of 10^-9 as 128-bit integers, saturating (realistic objects never come near).
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go; departs by saturating where
/// upstream switches to arbitrary precision.
class Quantity {
 public:
  constexpr Quantity() = default;
  /// Accepts upstream's grammar; errors carry upstream's words.
  static Result<Quantity> parse(std::string_view text);
  static constexpr Quantity from_units(std::int64_t units) { return Quantity(static_cast<Int128>(units) * k_nano); }
  static constexpr Quantity from_milli(std::int64_t milli) { return Quantity(static_cast<Int128>(milli) * 1'000'000); }

  /// Rounded away from zero to an integer, saturated to int64.
  std::int64_t value() const noexcept;
  /// Value times 1000, rounded away from zero, saturated.
  std::int64_t milli_value() const noexcept;
  /// Rounded away from zero to a multiple of 10^-3, as the API server does (RoundUp); of any size.
  Quantity rounded_to_milli() const noexcept;
  bool is_zero() const noexcept { return nano_ == 0; }
  bool is_negative() const noexcept { return nano_ < 0; }
  Quantity& operator+=(Quantity other) noexcept;
  friend bool operator==(Quantity a, Quantity b) noexcept { return a.nano_ == b.nano_; }
  friend bool operator<(Quantity a, Quantity b) noexcept { return a.nano_ < b.nano_; }

 private:
  static constexpr Int128 k_nano = 1'000'000'000;
  explicit constexpr Quantity(Int128 nano) : nano_(nano) {}
  Int128 nano_ = 0;
};

}  // namespace berth::model
