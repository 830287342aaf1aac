// SPDX-License-Identifier: Apache-2.0
/// Quantities as the search adds and compares them: whole billionths, exact. Plain values: any thread, no exceptions but
/// std::bad_alloc of the texts.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <berth/cel/quantity.hpp>

namespace berth::dra {

using Nano = cel::Int128;

inline constexpr Nano k_nano = 1'000'000'000;

/// A quantity and how it is written. Below 10^27, which is more than any device has.
struct Amount {
  enum class Notation : std::uint8_t {
    decimal,   ///< k, M, G
    binary,    ///< Ki, Mi, Gi
    exponent,  ///< e3, e6
  };
  Nano nano = 0;
  Notation notation = Notation::decimal;
};

struct AmountRead {
  Amount amount;
  std::string_view error;  ///< a literal; empty: read
};

AmountRead read_amount(std::string_view text);

/// As the API server writes the quantity: `1024Mi` becomes `1Gi`.
std::string canonical_text(const Amount& amount);

/// The next whole number away from zero, within 64 bits.
std::int64_t whole_value(Nano nano);

/// A sum that stays at the largest or smallest number instead of overflowing.
inline Nano saturating_sum(Nano left, Nano right) {
  Nano sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  __extension__ using Unsigned = unsigned __int128;
  constexpr Nano largest = static_cast<Nano>(~Unsigned{0} >> 1);
  return right > 0 ? largest : -largest;
}

}  // namespace berth::dra
