// SPDX-License-Identifier: Apache-2.0
#include "binding/thread_pool.hpp"

// The thread sanitizer knows no fences; the pool's mutex orders tasks without them.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "observe/fatal_signal.hpp"

namespace berth::binding {

struct ThreadPool::Pool {
  explicit Pool(std::size_t thread_count) : threads(thread_count) {}
  boost::asio::thread_pool threads;
};

ThreadPool::ThreadPool(std::size_t thread_count) : pool_(std::make_unique<Pool>(thread_count)) {}

ThreadPool::~ThreadPool() { pool_->threads.join(); }

void ThreadPool::post(std::function<void()> task) {
  boost::asio::post(pool_->threads, [task = std::move(task)] {
    // Plugins run here: a stack that one of them uses up is to be reported as well.
    static thread_local const observe::SignalStack signal_stack;
    task();
  });
}

}  // namespace berth::binding
