// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "framework/open_calls.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {

/// For how long the scheduling thread has been at one decision, or, while pods get nodes together, at one of them: a plan as
/// a whole has a limit of its own. Time in which it waited for extenders does not count:
/// that wait has a limit of its own, so it is no sign of a thread that hangs.
/// Threads: any.
class CycleClock {
 public:
  explicit CycleClock(const Clock& clock) : clock_(clock) {}

  /// Of a decision about that pod, on this thread.
  void begin(model::PodPtr pod = nullptr) {
    const Lock lock(mutex_);
    pod_ = std::move(pod);
    crumb_ = &observe::t_breadcrumb;
    began_ns_ = clock_.monotonic_ns();
    waited_ns_ = 0;
    is_open_ = true;
  }
  void end() {
    const Lock lock(mutex_);
    is_open_ = false;
    pod_ = nullptr;
  }
  /// A wait for extenders begins or ends.
  void wait(bool waits) {
    const Lock lock(mutex_);
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (waits)
      wait_began_ns_ = now_ns;
    else
      waited_ns_ += now_ns - wait_began_ns_;
    waits_ = waits;
  }
  /// 0 between decisions.
  std::int64_t age_ns() const {
    const Lock lock(mutex_);
    return age_ns_locked();
  }
  /// The decision as a call of the plugin that it is in, for as long as the decision takes; nothing when it is in none.
  std::optional<framework::OpenCall> open_call() const {
    const Lock lock(mutex_);
    if (!is_open_) return std::nullopt;
    const observe::CrumbOwner* const owner = crumb_->owner.load(std::memory_order_relaxed);
    if (owner == nullptr || owner->plugin == nullptr) return std::nullopt;
    return framework::OpenCall{observe::point_name(crumb_->point.load(std::memory_order_relaxed)), owner->plugin,
                               pod_ == nullptr ? std::string() : pod_->key(), age_ns_locked()};
  }

 private:
  std::int64_t age_ns_locked() const REQUIRES(mutex_) {
    if (!is_open_) return 0;
    const std::int64_t until_ns = waits_ ? wait_began_ns_ : clock_.monotonic_ns();
    return until_ns - began_ns_ - waited_ns_;
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  bool is_open_ GUARDED_BY(mutex_) = false, waits_ GUARDED_BY(mutex_) = false;
  std::int64_t began_ns_ GUARDED_BY(mutex_) = 0, wait_began_ns_ GUARDED_BY(mutex_) = 0,
                         waited_ns_ GUARDED_BY(mutex_) = 0;
  model::PodPtr pod_ GUARDED_BY(mutex_);
  const observe::Breadcrumb* crumb_ GUARDED_BY(mutex_) = nullptr;  // of the thread that decides
};

/// Tells the clock, which outlives it, of each decision.
inline scheduler::Scheduler::Watch watched_by(CycleClock& clock) {
  const auto begin = [&clock](const model::PodPtr& pod) { clock.begin(pod); };
  return {begin, [&clock](const model::PodPtr&, const cycle::Outcome&) { clock.end(); }, begin};
}

}  // namespace berth::app
