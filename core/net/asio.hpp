// SPDX-License-Identifier: Apache-2.0
#pragma once
// Internal to HTTP clients and the test server: the only header that includes Boost.Asio and Boost.Beast for them.

// The thread sanitizer knows no fences; mutexes and strands order what runs without them.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "net/io_threads.hpp"
#include "net/stop_event.hpp"

namespace berth {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

}  // namespace berth

namespace berth::net {

/// Every wait in this folder: resumes with (error_code, results…), never throws for an I/O error.
inline constexpr auto k_await = asio::as_tuple(asio::use_awaitable);

struct IoThreads::Context {
  explicit Context(std::size_t thread_count) : io(static_cast<int>(thread_count)), work(io.get_executor()) {}
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  /// For the few calls that block: exec plugins, which end when `stopping` is set. Joined before `io` goes.
  StopEvent stopping;
  asio::thread_pool blocking{1};
  std::vector<std::thread> threads;
};

/// What a coroutine that is not waited for ends with. An exception that got this far is a defect of ours: it ends this
/// coroutine, is logged and counted by IoThreads, and everything else goes on.
inline void end_of_coroutine(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

inline asio::awaitable<void> wait_for(std::chrono::nanoseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(duration);
  co_await timer.async_wait(k_await);
}

}  // namespace berth::net
