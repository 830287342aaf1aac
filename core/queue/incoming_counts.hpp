// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "queue/queue_view.hpp"

/// Private to core/queue.
namespace berth::queue {

/// Number of an event label. The labels that every pod meets are constants; the rest get numbers as they come.
using LabelId = std::uint32_t;
namespace labels {
inline constexpr LabelId pod_add = 0, pod_update = 1, attempt_failure = 2, backoff_complete = 3, pop_from_backoff = 4,
                         force_activate = 5, timeout = 6, pod_popped = 7;
}  // namespace labels

class IncomingCounts {
 public:
  IncomingCounts() {
    for (const char* label :
         {"UnschedulablePodAdd", "UnschedulablePodUpdate", "ScheduleAttemptFailure", "BackoffComplete",
          "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout", "PodPopped"})
      counts_.push_back(IncomingCount{label, 0, 0, 0, 0});
  }
  LabelId id(std::string_view label) {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i].label == label) return static_cast<LabelId>(i);
    counts_.push_back(IncomingCount{std::string(label), 0, 0, 0, 0});
    return static_cast<LabelId>(counts_.size() - 1);
  }
  IncomingCount& operator[](LabelId id) { return counts_[id]; }
  const std::vector<IncomingCount>& all() const noexcept { return counts_; }

 private:
  std::vector<IncomingCount> counts_;  // some thirty labels at most: resources times actions
};

}  // namespace berth::queue
