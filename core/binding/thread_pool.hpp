// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "binding/executor.hpp"

namespace berth::framework {
class OpenCalls;
}

namespace berth::binding {

struct ThreadPoolOptions {
  std::size_t usual = 4;  // threads that stay
  std::size_t most = 64;  // with those that come when the others do not come back
  /// How long a task waits before one more thread comes for it.
  std::chrono::milliseconds patience{100};
  framework::OpenCalls* calls = nullptr;  // tasks stand in a scope of it; outlives the pool
  /// How long the destructor waits for tasks.
  std::chrono::milliseconds end_limit{10'000};
};

/// Threads that run tasks in the order of their posting. For live use.
///
/// Tasks call plugins, which may never return: when a task has waited for the patience, another thread comes, up to the
/// most; those beyond the usual ones end when nothing waits any more.
/// Threads: post from any. The destructor runs what was posted before, and waits for it; after the limit it ends the
///          process with status 1, since what a task uses cannot be taken from it: no end of a process waits for a
///          plugin for ever, whatever the way to that end. (`berth run` has ended before that when it was told to.)
/// Failure: a task that ends with an exception is reported, and the thread goes on.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(std::size_t thread_count) : ThreadPool(ThreadPoolOptions{thread_count, thread_count}) {}
  explicit ThreadPool(ThreadPoolOptions options);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  void post(std::function<void()> task) override;

  struct Counts {
    std::size_t threads = 0;
    std::size_t waiting = 0;  // tasks that no thread has begun
    /// Of the task that waits longest; 0: none does.
    std::chrono::nanoseconds waited{0};
  };
  Counts counts() const;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace berth::binding
