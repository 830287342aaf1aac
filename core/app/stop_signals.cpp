// SPDX-License-Identifier: Apache-2.0
#include "app/stop_signals.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "observe/log.hpp"

namespace berth::app {

StopSignals::StopSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

void StopSignals::watch(std::function<void()> on_stop, std::function<void()> on_dump) {
  std::thread([set = set_, on_stop = std::move(on_stop), on_dump = std::move(on_dump)] {
    const auto dumps = std::make_shared<std::atomic<bool>>(false);
    for (bool stopping = false;;) {
      int signal = 0;
      sigwait(&set, &signal);
      if (signal == SIGUSR2) {
        // It waits for the cycle under way, which may be the one that hangs.
        if (dumps->exchange(true)) continue;
        std::thread([dumps, on_dump] {
          on_dump();
          *dumps = false;
        }).detach();
        continue;
      }
      if (stopping) std::_Exit(1);
      stopping = true;
      std::thread([signal, on_stop] {
        observe::info("Requested to terminate, draining", {{"signal", signal}});
        on_stop();
      }).detach();
    }
  }).detach();
}

}  // namespace berth::app
