// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"

/// A process that runs code of strangers and nothing else: what it gives up, in two steps.
namespace berth::confine {

struct StrangerLimits {
  std::size_t data_bytes = std::size_t{1} << 30;  // of memory that is its own
  int files = 256;                                // open at a time, while it loads
};

/// Before the code is loaded: no new privileges, no core file, the limits, no network, no programs and no processes. Files may be
/// read: those of `readable` and the system's libraries where the kernel has Landlock. Threads may be started. A call
/// that is not allowed ends the process with SIGSYS. Cannot be undone.
/// Failure: says what could not be had; the code must not be loaded then.
Status confine_loading_stranger(const StrangerLimits& limits, const std::vector<std::string>& readable);

/// Afterwards: no file is opened, nothing is started and no memory becomes code. What remains is memory, time, waiting for
/// the other side, and what is written to the descriptors 0 to 2. Likewise.
Status confine_running_stranger();

}  // namespace berth::confine
