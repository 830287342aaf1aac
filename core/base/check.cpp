// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace berth {
void check_failed(const char* condition, const char* file, int line, const std::string& sentence) {
  std::fprintf(stderr, "berth: broken invariant: %s\n  at %s:%d: %s\n", sentence.c_str(), file, line, condition);
  std::fflush(stderr);
  std::abort();
}
}  // namespace berth
