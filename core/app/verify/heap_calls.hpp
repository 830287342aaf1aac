// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "observe/breadcrumb.hpp"

namespace berth::app {

/// What was asked of the heap while code of a plugin ran, at one point.
struct HeapCalls {
  std::string plugin;
  std::string point;  // "filter"
  std::uint64_t allocations = 0, bytes = 0;
};

/// Counts from here on, in this process and for good: every call of malloc, calloc, realloc and their relatives, by whatever library is
/// mapped now, that a thread makes while it is in a plugin. What a function of the host allocates on behalf of a plugin counts as
/// the plugin's; what it maps itself does not. Calling it again begins at 0.
///
/// Steps:   the slots through which mapped libraries reach these functions are pointed at functions that count. Nothing is in the way of
///          a process that does not count.
/// Bounds:  64 instances of plugins; what others allocate is not counted.
/// Threads: to be called while there is one; then any may allocate. Fails where slots are not known, and under sanitizers, which
/// have a heap of their own.
Status count_heap_calls();

/// Those of points at which something was allocated, since count_heap_calls(). Requires: the plugins that were called still live.
std::vector<HeapCalls> heap_calls();

}  // namespace berth::app
