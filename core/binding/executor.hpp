// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>

namespace berth::binding {

/// Where the steps of binding run.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `task` soon, on any thread, possibly before it returns. Threads: any.
  virtual void post(std::function<void()> task) = 0;
};

/// Runs tasks on the posting thread, one after another: a task posted by a task waits for that one to end.
/// For simulations and tests. Threads: one.
class InlineExecutor final : public Executor {
 public:
  void post(std::function<void()> task) override {
    tasks_.push_back(std::move(task));
    if (running_) return;
    running_ = true;
    while (!tasks_.empty()) {
      const std::function<void()> next = std::move(tasks_.front());
      tasks_.pop_front();
      next();
    }
    running_ = false;
  }

 private:
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;
};

}  // namespace berth::binding
