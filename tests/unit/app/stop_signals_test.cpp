// SPDX-License-Identifier: Apache-2.0
#include "app/live/stop_signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>

#include "net/io_threads.hpp"

namespace berth::app {
namespace {

TEST(StopSignals, ADumpThatThrowsEndsNeitherTheProcessNorTheNextDump) {
  struct Dumps {
    std::atomic<int> begun{0};
    std::promise<void> second;
  };
  // Threads of signals outlive the test.
  const auto dumps = std::make_shared<Dumps>();
  std::future<void> second = dumps->second.get_future();
  const std::uint64_t before = net::IoThreads::exceptions();
  StopSignals signals;
  signals.watch([](int) {},
                [dumps] {
                  const int number = ++dumps->begun;
                  if (number == 1) throw std::runtime_error("no connection");
                  if (number == 2) dumps->second.set_value();
                });
  // A signal during a dump is ignored: until the first is over, more are sent.
  std::future_status status = std::future_status::timeout;
  for (int i = 0; i < 3000 && status != std::future_status::ready; ++i) {
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    status = second.wait_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(status, std::future_status::ready);
  EXPECT_EQ(net::IoThreads::exceptions(), before + 1);
}

TEST(StopSignals, SignalsWithoutAMeaningDoNotEndTheProcess) {
  StopSignals signals;
  for (const int signal : {SIGPIPE, SIGUSR1, SIGALRM, SIGVTALRM, SIGIO, SIGPROF, SIGPWR, SIGXCPU, SIGXFSZ, SIGRTMIN,
                           SIGRTMIN + 7, SIGRTMAX})
    EXPECT_EQ(::kill(::getpid(), signal), 0) << signal;
}

}  // namespace
}  // namespace berth::app
