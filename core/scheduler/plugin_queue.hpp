// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/late.hpp"
#include "binding/executor.hpp"
#include "framework/ports.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::scheduler {

/// What plugins reach of the queue: pods to retry, nominations, objects that they have written.
///
/// Place:    plugins are given this when they are made; the queue stands on plugins, so it comes later and goes earlier.
///           Without a queue requests are kept, nothing is nominated, and no pod waits that an object could help.
/// Lifetime: the executor outlives it, and has run everything that was posted when this ends.
/// Threads:  any. A request never touches the queue: its caller may hold the queue's lock.
class PluginQueue final : public framework::ActivationPort, public framework::NominationsPort {
 public:
  /// Requests are applied on `executor` as soon as it has a thread, from when the queue is there; null: whenever apply()
  /// is called.
  explicit PluginQueue(binding::Executor* executor) : executor_(executor) {}

  void activate(std::string_view uid) override;
  void activate_class(std::uint64_t pod_class) override;
  std::vector<model::NominatedPod> nominated() const override;
  /// Waiting pods hear of what this process wrote at once, not when the watch comes round to it.
  void object_written(const model::ObjectPtr& object) const;
  /// Retries what was asked for. Requires: the caller holds no lock.
  void apply();

  /// Where the queue appears.
  struct Target {
    queue::SchedulingQueue& queue;
    queue::Nominations& nominations;  // as decisions see them
  };
  Late<Target>& target() noexcept { return target_; }

 private:
  struct Requests {
    std::vector<std::string> uids;
    std::vector<std::uint64_t> classes;
  };
  void apply_soon();

  binding::Executor* const executor_;
  Late<Target> target_;
  std::atomic<bool> is_posted_{false};  // a task is about to apply requests
  Mutex mutex_;                         // a leaf
  Requests requests_ GUARDED_BY(mutex_);
};

}  // namespace berth::scheduler
