// SPDX-License-Identifier: Apache-2.0
#include "binding/duration_text.hpp"

#include <spdlog/fmt/fmt.h>

namespace berth::binding {
namespace {

/// value / unit without trailing zeros: 1500 of 1000 is "1.5".
std::string decimal(std::uint64_t value, std::uint64_t unit) {
  std::string text = std::to_string(value / unit);
  std::uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  for (std::uint64_t digit = unit / 10; rest != 0; digit /= 10) {
    text += static_cast<char>('0' + rest / digit);
    rest %= digit;
  }
  return text;
}

}  // namespace

std::string duration_text(std::int64_t duration_ns) {
  if (duration_ns == 0) return "0s";
  const bool negative = duration_ns < 0;
  const std::uint64_t ns =
      negative ? 0 - static_cast<std::uint64_t>(duration_ns) : static_cast<std::uint64_t>(duration_ns);
  std::string text = negative ? "-" : "";
  if (ns < 1'000) return text + std::to_string(ns) + "ns";
  if (ns < 1'000'000) return text + decimal(ns, 1'000) + "µs";
  if (ns < 1'000'000'000) return text + decimal(ns, 1'000'000) + "ms";
  const std::uint64_t minute_ns = 60'000'000'000, hour_ns = 60 * minute_ns;
  if (ns >= hour_ns) text += std::to_string(ns / hour_ns) + "h";
  if (ns >= minute_ns) text += std::to_string(ns % hour_ns / minute_ns) + "m";
  return text + decimal(ns % minute_ns, 1'000'000'000) + "s";
}

}  // namespace berth::binding
