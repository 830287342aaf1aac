// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/guarded.hpp"

namespace berth::cluster::kube {

/// Writes about one pod go one after another, in the order of the calls; those about different pods do not wait.
///
/// Without it a status patch that is slow comes after the binding that was asked for later, and the pod runs with the
/// condition that it is not scheduled.
/// Lifetime: outlives every write that was begun.
/// Threads:  any. A write begins on the thread of the call, or on the one that ended the write before it.
/// Source:   departs from kubernetes v1.36 pkg/scheduler/schedule_one.go (handleSchedulingFailure), which waits for the
///           answer on the scheduling thread.
class PodSerialQueues {
 public:
  /// Of one write, until its answer is there.
  class Turn {
   public:
    /// Lets the next write about the pod begin. Called exactly once for a write, on any of its copies.
    void end() const { queues_->next(pod_); }

   private:
    friend class PodSerialQueues;
    Turn(PodSerialQueues& queues, std::string pod) : queues_(&queues), pod_(std::move(pod)) {}
    PodSerialQueues* queues_;
    std::string pod_;
  };
  using Write = std::function<void(Turn turn)>;

  /// Begins the write when those before it have ended. The write ends its turn.
  void run(const std::string& pod, Write write) {
    {
      const Lock lock(mutex_);
      const auto [queue, free] = queues_by_pod_.try_emplace(pod);
      if (!free) return queue->second.push_back(std::move(write));
    }
    begin(pod, write);
  }

 private:
  void begin(const std::string& pod, const Write& write) { write(Turn(*this, pod)); }
  void next(const std::string& pod) {
    Write write;
    {
      const Lock lock(mutex_);
      const auto queue = queues_by_pod_.find(pod);
      if (queue->second.empty()) {
        queues_by_pod_.erase(queue);
        return;
      }
      write = std::move(queue->second.front());
      queue->second.pop_front();
    }
    begin(pod, write);
  }

  Mutex mutex_;  // held for no call
  std::unordered_map<std::string, std::deque<Write>> queues_by_pod_
      GUARDED_BY(mutex_);  // of pods with a write under way: those that wait for it
};

}  // namespace berth::cluster::kube
