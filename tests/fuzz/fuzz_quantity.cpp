// SPDX-License-Identifier: Apache-2.0
/// Parses arbitrary text as a quantity. What is accepted must be ordered like its value, and thousandths must not be
/// fewer than units (both round away from zero).
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/quantity.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = berth::model::Quantity::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  const berth::model::Quantity quantity = *parsed;
  const std::int64_t units = quantity.value();
  const std::int64_t milli = quantity.milli_value();
  if ((units > 0) != (milli > 0) || (units < 0) != (milli < 0)) std::abort();
  if (units > 0 ? milli < units : milli > units) std::abort();
  if (quantity.is_zero() != (units == 0)) std::abort();
  if (quantity < quantity || !(quantity == quantity)) std::abort();
  return 0;
}
