// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/io_threads.hpp"

#include <algorithm>
#include <atomic>

#include "base/excerpt.hpp"
#include "cluster/kube/asio.hpp"
#include "observe/log.hpp"

namespace berth::cluster::kube {
namespace {

std::atomic<std::uint64_t> exception_count{0};

/// Until it is stopped. One handler that fails must not take the process with it.
void run_to_the_end(asio::io_context& io) {
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      IoThreads::count_exception("an I/O thread", error.what());
    } catch (...) {
      IoThreads::count_exception("an I/O thread", "it is no std::exception");
    }
  }
}

}  // namespace

IoThreads::IoThreads(std::size_t thread_count)
    : context_(std::make_unique<Context>(std::max<std::size_t>(thread_count, 1))) {
  for (std::size_t i = 0; i < std::max<std::size_t>(thread_count, 1); ++i)
    context_->threads.emplace_back([this] { run_to_the_end(context_->io); });
}

void IoThreads::stop() noexcept {
  context_->stopping.set();
  context_->io.stop();
  for (std::thread& thread : context_->threads)
    if (thread.joinable()) thread.join();
  context_->blocking.join();
}

IoThreads::~IoThreads() { stop(); }

void IoThreads::count_exception(std::string_view where, std::string_view what) noexcept {
  exception_count.fetch_add(1, std::memory_order_relaxed);
  try {
    const std::string why = excerpt(what);
    observe::error("Caught an exception; what it was about has failed, everything else goes on",
                   {{"in", where}, {"err", std::string_view(why)}});
  } catch (const std::exception&) {
    // Not even enough memory to say so; it is counted.
  }
}

std::uint64_t IoThreads::exceptions() noexcept { return exception_count.load(std::memory_order_relaxed); }

}  // namespace berth::cluster::kube
