// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/guarded.hpp"

namespace berth::app {

/// What the main thread of `berth run` waits for. Threads: any.
class Milestones {
 public:
  void reach(bool Milestones::*milestone) {
    const Lock lock(mutex_);
    this->*milestone = true;
    changed_.notify_all();
  }
  /// False when the process is to end instead.
  bool wait(bool Milestones::*milestone) {
    UniqueLock lock(mutex_);
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return this->*milestone || stopping; });
    return !stopping;
  }
  /// From here on there is something to bring to an end: a lease, bindings. False when the process is to end instead.
  bool begin() {
    const Lock lock(mutex_);
    has_begun_ = !stopping;
    return has_begun_;
  }
  /// The process is to end. True when it may do so at once: nothing has begun.
  bool stop() {
    const Lock lock(mutex_);
    stopping = true;
    if (has_begun_) changed_.notify_all();  // else the caller ends the process: waiting threads stay asleep
    return !has_begun_;
  }
  bool is_stopping() {
    const Lock lock(mutex_);
    return stopping;
  }

 private:
  Mutex mutex_;

 public:
  bool synced GUARDED_BY(mutex_) = false, leading GUARDED_BY(mutex_) = false;
  bool caught_up GUARDED_BY(mutex_) = false, stopping GUARDED_BY(mutex_) = false;

 private:
  ConditionVariable changed_;
  bool has_begun_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::app
