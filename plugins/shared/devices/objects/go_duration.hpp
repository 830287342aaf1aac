// SPDX-License-Identifier: Apache-2.0
/// Durations of arguments, which the schema has checked already: "10s", "1m30s", "1.5h".
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace devices {

inline std::int64_t duration_ns(const std::string& text) {
  double total = 0;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) return 0;
    std::string unit;
    for (at = end; (*at >= 'a' && *at <= 'z') || static_cast<unsigned char>(*at) >= 0x80; ++at) unit += *at;
    const double factor = unit == "ns"                                                 ? 1
                          : unit == "us" || unit == "\xc2\xb5s" || unit == "\xce\xbcs" ? 1e3
                          : unit == "ms"                                               ? 1e6
                          : unit == "s"                                                ? 1e9
                          : unit == "m"                                                ? 60e9
                          : unit == "h"                                                ? 3600e9
                                                                                       : 0;
    total += number * factor;
  }
  return static_cast<std::int64_t>(total);
}

}  // namespace devices
