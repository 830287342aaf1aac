// SPDX-License-Identifier: Apache-2.0
#include "net/io_threads.hpp"

#include <algorithm>
#include <atomic>

#include "base/utf8.hpp"
#include "net/asio.hpp"
#include "observe/log.hpp"

namespace berth::net {
namespace {

std::atomic<std::uint64_t> exception_count{0};

}  // namespace

IoThreads::IoThreads(std::size_t thread_count, ThreadName name)
    : context_(std::make_unique<Context>(std::max<std::size_t>(thread_count, 1))) {
  for (std::size_t i = 0; i < std::max<std::size_t>(thread_count, 1); ++i)
    context_->threads.emplace_back([this, name] {
      name_this_thread(name);
      run_guarded("an I/O thread", [this] { context_->io.run(); });
    });
  asio::post(context_->blocking, [] { name_this_thread("credentials"); });
}

void IoThreads::stop() noexcept {
  context_->stopping.set();
  context_->io.stop();
  for (std::thread& thread : context_->threads)
    if (thread.joinable()) thread.join();
  context_->blocking.join();
}

IoThreads::~IoThreads() { stop(); }

void IoThreads::run_guarded(std::string_view where, const std::function<void()>& work) noexcept {
  for (;;) {
    try {
      work();
      return;
    } catch (const std::exception& error) {
      count_exception(where, error.what());
    } catch (...) {
      count_exception(where, "it is no std::exception");
    }
  }
}

void IoThreads::count_exception(std::string_view where, std::string_view what) noexcept {
  exception_count.fetch_add(1, std::memory_order_relaxed);
  try {
    const std::string why = excerpt(what);
    observe::error("Caught an exception; the operation failed", {{"in", where}, {"err", std::string_view(why)}});
  } catch (const std::exception&) {
    // Not even enough memory to say so; it is counted.
  }
}

std::uint64_t IoThreads::exceptions() noexcept { return exception_count.load(std::memory_order_relaxed); }

}  // namespace berth::net
