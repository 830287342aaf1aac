// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "queue/queue_view.hpp"

/// Private to core/queue.
namespace berth::queue {

class QueueCore;

/// What a queue tells of itself: its pods, how many are where, and what has been counted. Changes nothing.
/// Threads: as the core, which outlives it.
class QueueReport {
 public:
  explicit QueueReport(const QueueCore& core) : core_(core) {}

  /// In order of arrival.
  std::vector<PendingPod> pending_pods() const;
  QueueSizes sizes() const;
  QueueCounts counts() const;

 private:
  const QueueCore& core_;
};

}  // namespace berth::queue
