// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>

namespace berth::app {

/// What the main thread of `berth run` waits for. Threads: any.
class Milestones {
 public:
  void reach(bool Milestones::*milestone) {
    const std::lock_guard lock(mutex_);
    this->*milestone = true;
    changed_.notify_all();
  }
  /// False when the process is to end instead.
  bool wait(bool Milestones::*milestone) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return this->*milestone || stopping; });
    return !stopping;
  }
  /// From here on there is something to bring to an end: a lease, bindings. False when the process is to end instead.
  bool begin() {
    const std::lock_guard lock(mutex_);
    has_begun_ = !stopping;
    return has_begun_;
  }
  /// The process is to end. True when it may do so at once: nothing has begun.
  bool stop() {
    const std::lock_guard lock(mutex_);
    stopping = true;
    if (has_begun_) changed_.notify_all();  // else the caller ends the process: waiting threads stay asleep
    return !has_begun_;
  }
  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping;
  }

  bool synced = false, leading = false, caught_up = false, stopping = false;  // guarded by mutex_

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_begun_ = false;  // guarded by mutex_
};

}  // namespace berth::app
