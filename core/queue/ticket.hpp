// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "model/pod.hpp"

namespace berth::queue {

class SchedulingQueue;
struct Record;

/// A popped pod: the right and the duty to decide about it.
///
/// Place:    made by SchedulingQueue::pop, carried through cycle and binding, ended by SchedulingQueue::requeue or
///           ::done.
///           Dropping an undecided ticket re-queues the pod as after an error, so that no path loses a pod; a pod that
///           was deleted meanwhile is let go.
/// Lifetime: must not outlive the queue.
/// Threads:  owned by one thread at a time; may be handed to another.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept;
  Ticket& operator=(Ticket&& other) noexcept;
  ~Ticket();

  explicit operator bool() const noexcept { return record_ != nullptr; }

  /// The rest requires a ticket that is not empty.
  /// The pod as it was when popped; later updates do not show here.
  const model::PodPtr& pod() const noexcept;
  /// Number of pops, this one included.
  std::uint32_t attempts() const noexcept;
  /// What QueuePolicy::classify said.
  std::uint64_t pod_class() const noexcept;
  /// What QueuePolicy::group_of said.
  const std::string& group() const noexcept;
  /// The pod had waited so long that it was tried without an event.
  bool after_flush() const noexcept;
  /// Queue time (SchedulingQueue::now_ns): last entry after an attempt, and first entry into the active queue.
  std::int64_t enqueued_ns() const noexcept;
  std::int64_t first_attempt_ns() const noexcept;

 private:
  friend class SchedulingQueue;
  Ticket(SchedulingQueue& queue, Record& record) noexcept : queue_(&queue), record_(&record) {}
  Record* release() noexcept;

  SchedulingQueue* queue_ = nullptr;
  Record* record_ = nullptr;
};

}  // namespace berth::queue
