// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace berth::report {

/// What a running scheduler says of a pod that is its to place.
struct QueueWord {
  std::string ns, name;
  std::string place;  // "active", "backoff", "error backoff", "unschedulable", "in flight", "gated", "binding", "bound"
  std::int64_t attempts = 0;
  // RFC 3339; empty: not said.
  std::string since;                     // when it came to that place
  std::string next_try;                  // the end of its backoff
  std::string tried_again_by;            // at the latest, whatever happens
  std::vector<std::string> rejected_by;  // plugins
  std::vector<std::string> woken_by;     // events that make the scheduler retry it sooner
};

}  // namespace berth::report
