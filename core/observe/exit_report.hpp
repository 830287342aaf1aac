// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

#include "observe/breadcrumb.hpp"

namespace berth::observe {

/// A plugin may not end the process: exit() or quick_exit() inside of one, in whatever thread while a file is being
/// loaded, ends it with status 1 and one line on standard error instead of the status that was asked for:
///
///   berth: BERTH-P030 exit() while loading /plugins/a.so, in a constructor of the file
///   berth: BERTH-P030 exit() in plugin example.com/RackSpread 1.2.0 (rack-spread.so) create
///
/// _exit() and the system call itself run no handler: app/commands/supervised.hpp sees those. Threads: install once, at start.
void install_exit_report();

/// Says in all threads what file is being loaded; null: none any more. Requires: it outlives the loading.
void loading_file(const CrumbOwner* file) noexcept;

/// What code of a plugin was running when the process ended, in memory that outlives it.
struct RunningTrace {
  std::atomic<std::uint32_t> bytes{0};  // 0: none
  char text[4096] = {};                 // the path of a file that was being loaded, or "NAME VERSION" of a plugin
};
void trace_running_in(RunningTrace* trace) noexcept;

/// Notes in the trace, if there is one, what runs from here to the end of the scope. For calls that are rare.
class RunningPlugin {
 public:
  explicit RunningPlugin(const CrumbOwner& owner) noexcept;
  RunningPlugin(const RunningPlugin&) = delete;
  RunningPlugin& operator=(const RunningPlugin&) = delete;
  ~RunningPlugin();
};

}  // namespace berth::observe
