// SPDX-License-Identifier: Apache-2.0
/// resource.Quantity: an exact decimal number with a suffix. Plain values: any thread, no memory, no exceptions.
#pragma once
#include <cstdint>
#include <string_view>

namespace berth::cel {

inline constexpr std::string_view k_quantity_too_long = "quantity has more than 37 digits";

__extension__ using Int128 = __int128;

/// mantissa · 10^scale. Mantissas have at most 38 digits here, where upstream's have any number: what needs more is refused.
struct Quantity {
  Int128 mantissa = 0;
  std::int32_t scale = 0;
  bool is_integer = false;  ///< kept as a whole number of 64 bits: `80Gi` is, `1000m` and `1.5Gi` are not
};

struct QuantityParsed {
  Quantity value;
  std::string_view error;  ///< a literal; empty: parsed
};

/// As the API writes it: `80Gi`, `1500m`, `1e3`. The mantissa of the result has no zeros at its end.
QuantityParsed parse_quantity(std::string_view text);
/// Below zero, zero, above zero: left is less, equal, greater.
int compare(const Quantity& left, const Quantity& right);
int sign(const Quantity& value);
/// False when the sum has more digits than fit; `sum` is unchanged then. `sum` may be one of the two.
bool add(const Quantity& left, const Quantity& right, Quantity& sum);
Quantity negated(const Quantity& value);
Quantity quantity_of(std::int64_t value);
/// False when it is not kept as a whole number of 64 bits.
bool as_integer(const Quantity& value, std::int64_t& whole);
double as_approximate_double(const Quantity& value);

}  // namespace berth::cel
