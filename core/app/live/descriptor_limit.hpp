// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/resource.h>

namespace berth::app {

/// Lets this process open as many files and connections as the system permits at all: service managers start with a soft
/// limit of 1,024. False when the limit cannot be changed.
inline bool raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur == limit.rlim_max) return true;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace berth::app
