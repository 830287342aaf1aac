// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <functional>

namespace berth::app {

/// SIGTERM, SIGINT and SIGUSR2 as calls. Made before any other thread, so that none of them gets the signals.
class StopSignals {
 public:
  StopSignals();
  /// Calls on_stop at the first signal to end, with its number; the second ends the process. Calls on_dump at SIGUSR2, one at a time.
  /// Each call has a thread of its own: whatever it waits for, the next signal is heard. An exception fails that call alone.
  void watch(std::function<void(int signal)> on_stop, std::function<void()> on_dump);

 private:
  sigset_t set_{};
};

}  // namespace berth::app
