// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "model/pod.hpp"

namespace berth::model {

/// A queued pod as order and gates may see it. Valid for the call.
struct QueuedPod {
  const PodPtr& pod;
  std::int64_t enqueued_ns;  // wall clock; when the pod entered the queue after its last attempt
  std::uint32_t attempts;
  std::int64_t first_attempt_ns;  // wall clock; when it entered the active queue for the first time; 0: not yet
};

}  // namespace berth::model
