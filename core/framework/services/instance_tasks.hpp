// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>

#include "base/guarded.hpp"

namespace berth::framework {

/// Which tasks of one plugin instance wait, and how many run: so that one can be cancelled, and none is under way when the
/// instance is destroyed. Outlives the instance: tasks that were posted find here that it is gone.
/// Threads: synchronises itself. Bound: as many as the instance has started and that have not run.
class InstanceTasks {
 public:
  using Handle = std::uint64_t;

  /// 0: the instance is being destroyed, nothing begins any more.
  Handle add(bool is_periodic) {
    const Lock lock(mutex_);
    if (closed_) return 0;
    waiting_.emplace(++last_, is_periodic);
    return last_;
  }
  /// False: it has begun, or there is none.
  bool cancel(Handle handle) {
    const Lock lock(mutex_);
    return waiting_.erase(handle) != 0;
  }
  bool waits(Handle handle) const {
    const Lock lock(mutex_);
    return waiting_.contains(handle);
  }
  /// Calls body() if the task may begin. A periodic one goes on waiting for its next turn.
  template <typename F>
  void run(Handle handle, F&& body) {
    {
      const Lock lock(mutex_);
      const auto at = waiting_.find(handle);
      if (at == waiting_.end()) return;
      if (!at->second) waiting_.erase(at);
      ++running_;
    }
    body();
    const Lock lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }
  /// Drops what waits and waits for what runs. False: some task still ran after the limit.
  bool close(std::chrono::milliseconds limit) {
    UniqueLock lock(mutex_);
    closed_ = true;
    waiting_.clear();
    return idle_.wait_for(lock, limit, [&]() REQUIRES(mutex_) { return running_ == 0; });
  }

 private:
  mutable Mutex mutex_;  // a leaf
  ConditionVariable idle_;
  boost::unordered_flat_map<Handle, bool> waiting_ GUARDED_BY(mutex_);  // true: periodic
  Handle last_ GUARDED_BY(mutex_) = 0;
  std::uint32_t running_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::framework
