// SPDX-License-Identifier: Apache-2.0
#include "app/live/stop_signals.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process/thread_name.hpp"
#include "net/io_threads.hpp"

namespace berth::app {
namespace {

/// An exception fails this call; it must not end the process.
void call(const std::function<void()>& function, std::string_view what) noexcept {
  try {
    function();
  } catch (const std::exception& error) {
    net::IoThreads::count_exception(what, error.what());
  } catch (...) {
    net::IoThreads::count_exception(what, "it is no std::exception");
  }
}

/// False when the system has no room for another thread.
bool begin_thread(ThreadName name, std::function<void()> work) {
  try {
    std::thread([name, work = std::move(work)] {
      name_this_thread(name);
      work();
    }).detach();
    return true;
  } catch (const std::system_error& error) {
    net::IoThreads::count_exception("the start of a thread", error.what());
    return false;
  }
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  // What kube-scheduler, as every Go program, does nothing about. A handler and not SIG_IGN, which programs that are
  // started would inherit.
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  for (const int signal : {SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGIO, SIGPROF, SIGPWR, SIGXCPU, SIGXFSZ})
    ::sigaction(signal, &nothing, nullptr);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::sigaction(signal, &nothing, nullptr);
}

void StopSignals::watch(std::function<void(int signal)> on_stop, std::function<void()> on_dump) {
  std::thread([set = set_, on_stop = std::move(on_stop), on_dump = std::move(on_dump)] {
    name_this_thread("signals");
    const auto dumps = std::make_shared<std::atomic<bool>>(false);
    for (bool stopping = false;;) {
      int signal = 0;
      sigwait(&set, &signal);
      if (signal == SIGUSR2) {
        // It waits for the cycle under way, which may be the one that hangs.
        if (dumps->exchange(true)) continue;
        const bool has_begun = begin_thread("dump", [dumps, on_dump] {
          call(on_dump, "the dump");
          *dumps = false;
        });
        if (!has_begun) *dumps = false;
        continue;
      }
      if (stopping) std::_Exit(1);
      stopping = true;
      const auto stop = [signal, on_stop] { call([signal, &on_stop] { on_stop(signal); }, "the end of this process"); };
      if (!begin_thread("stop", stop)) stop();
    }
  }).detach();
}

}  // namespace berth::app
