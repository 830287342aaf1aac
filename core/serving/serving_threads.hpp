// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "base/process/thread_name.hpp"
#include "serving/serving_counts.hpp"

// Internal to core/serving.
namespace berth::serving {

/// An io_context and the threads that run it. A handler that throws is counted and does not disturb other handlers.
/// Lifetime: what handlers use outlives it, or stop() comes first.
class ServingThreads {
 public:
  ServingThreads(std::shared_ptr<ServingCounts> counts, ThreadName name) : counts_(std::move(counts)), name_(name) {}
  ~ServingThreads() { stop(); }
  ServingThreads(const ServingThreads&) = delete;
  ServingThreads& operator=(const ServingThreads&) = delete;

  void start(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  /// Returns when no handler runs any more; those that wait stay where they are until the end.
  void stop() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  boost::asio::io_context& io() noexcept { return io_; }

 private:
  void run() noexcept {
    name_this_thread(name_);
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& e) {
        counts_->note_exception(e.what());
      } catch (...) {
        counts_->note_exception("no std::exception");
      }
    }
  }

  const std::shared_ptr<ServingCounts> counts_;
  const ThreadName name_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace berth::serving
