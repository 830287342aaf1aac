// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

#include "binding/executor.hpp"

namespace berth::binding {

/// A fixed number of threads that run tasks in the order of their posting. For live use.
/// Threads: post from any. The destructor runs what was posted before, then ends.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(std::size_t thread_count);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  void post(std::function<void()> task) override;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace berth::binding
