// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <spdlog/fmt/fmt.h>

#include <string>

namespace berth {
/// Prints what broke and where, then aborts. Never returns.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& sentence);
}  // namespace berth

/// About us: a broken invariant stops the process. Never on input from cluster, configuration or plugin.
#define BERTH_CHECK(condition, ...)                                                      \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::berth::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
