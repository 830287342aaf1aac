// SPDX-License-Identifier: Apache-2.0
#include "app/live/end_in_time.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "observe/log_writer.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::milliseconds k_last_moment{100};
constexpr std::chrono::milliseconds k_reign_look_period{1000};  // at a reign, which may end before its time

/// Without a limit where the system has no room for another thread: the process then ends the usual way.
template <typename Work>
void on_own_thread(Work work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
  }
}

}  // namespace

void end_now(int status) noexcept {
  observe::log_writer().wait_no_more();
  observe::log_writer().flush(k_last_moment);
  std::_Exit(status);
}

void end_after(std::chrono::milliseconds limit, std::function<int()> status) {
  on_own_thread([limit, status = std::move(status)] {
    std::this_thread::sleep_for(limit);
    end_now(status());
  });
  observe::log_writer().wait_no_more();
}

void end_with(std::shared_ptr<const cluster::kube::Reign> reign, std::chrono::milliseconds grace,
              std::function<int()> status) {
  on_own_thread([reign = std::move(reign), grace, status = std::move(status)] {
    for (std::int64_t left_ns = 0; (left_ns = reign->left_ns()) > 0;)
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(left_ns), k_reign_look_period));
    std::this_thread::sleep_for(grace);
    end_now(status());
  });
}

}  // namespace berth::app
