// SPDX-License-Identifier: Apache-2.0
#include "app/live/end_in_time.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process/thread_name.hpp"
#include "observe/log_writer.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::milliseconds k_last_moment{100};
constexpr std::chrono::milliseconds k_reign_look_period{1000};  // at a reign, which may end before its time

/// Without a limit where the system has no room for another thread: the process then ends the usual way.
template <typename Work>
void on_own_thread(ThreadName name, Work work) {
  try {
    std::thread([name, work = std::move(work)] {
      name_this_thread(name);
      work();
    }).detach();
  } catch (const std::system_error&) {
  }
}

std::terminate_handler g_crash = nullptr;

/// Of an exception that nothing catches: what is said where it means that there is no room; else nothing.
std::string_view no_room_for(const std::exception_ptr& thrown) {
  constexpr std::string_view k_thread =
      "berth: there is no room for another thread; ulimit -u and -v, TasksMax, or pids.max of the container limit "
      "that\n";
  constexpr std::string_view k_memory = "berth: there is not enough memory\n";
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return k_memory;
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::resource_unavailable_try_again) return k_thread;
  } catch (const boost::system::system_error& e) {
    if (e.code() == boost::system::errc::resource_unavailable_try_again) return k_thread;
  } catch (...) {
    return {};
  }
  return {};
}

[[noreturn]] void end_or_crash() {
  if (const std::string_view said = no_room_for(std::current_exception()); !said.empty()) {
    (void)!::write(STDERR_FILENO, said.data(), said.size());
    end_now(1);
  }
  if (g_crash != nullptr) g_crash();
  std::abort();
}

}  // namespace

void explain_ends_for_want_of_resources() noexcept {
  if (std::get_terminate() != end_or_crash) g_crash = std::set_terminate(end_or_crash);
}

void end_now(int status) noexcept {
  observe::log_writer().wait_no_more();
  observe::log_writer().flush(k_last_moment);
  std::_Exit(status);
}

void end_after(std::chrono::milliseconds limit, std::function<int()> status) {
  on_own_thread("end-limit", [limit, status = std::move(status)] {
    std::this_thread::sleep_for(limit);
    end_now(status());
  });
  observe::log_writer().wait_no_more();
}

void end_with(std::shared_ptr<const cluster::kube::Reign> reign, std::chrono::milliseconds grace,
              std::function<int()> status) {
  on_own_thread("end-of-reign", [reign = std::move(reign), grace, status = std::move(status)] {
    for (std::int64_t left_ns = 0; (left_ns = reign->left_ns()) > 0;)
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(left_ns), k_reign_look_period));
    std::this_thread::sleep_for(grace);
    end_now(status());
  });
}

}  // namespace berth::app
