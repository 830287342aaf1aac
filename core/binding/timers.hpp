// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/guarded.hpp"

namespace berth::binding {

/// Calls that are due later, on the injected clock.
///
/// Place:   permit time-outs.
///          A simulation asks next_ns(), moves the clock there and calls run_due(); live, one thread stays in
///          run_until_stopped().
/// Threads: synchronises itself; callbacks run on the thread of run_due() or run_until_stopped(), without a lock held.
///          A callback may already be running when cancel() returns.
class Timers {
 public:
  using Id = std::uint64_t;

  explicit Timers(const Clock& clock) : clock_(clock) {}
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  /// Requires: delay_ns >= 0.
  Id start(std::int64_t delay_ns, std::function<void()> callback);
  /// Forgets a timer; nothing happens when it is over.
  void cancel(Id id);
  /// Runs what is due, in order of time, then of start. Returns how many.
  std::size_t run_due();
  /// When the first timer is due, in Clock::monotonic_ns() time.
  std::optional<std::int64_t> next_ns() const;

  /// Waits in real time and runs what is due until stop().
  void run_until_stopped();
  void stop();

 private:
  std::function<void()> take_due();

  const Clock& clock_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::pair<std::int64_t, Id>, std::function<void()>> timers_ GUARDED_BY(mutex_);  // by due time
  std::map<Id, std::int64_t> due_ GUARDED_BY(mutex_);
  Id next_id_ GUARDED_BY(mutex_) = 1;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace berth::binding
