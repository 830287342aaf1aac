// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string_view>
#include <tuple>

#include "model/event.hpp"
#include "observe/metric_registry.hpp"

namespace berth::metrics {

/// How long it takes until cache and queue know what happened: scheduler_event_handling_duration_seconds.
/// Lifetime: the registry outlives it. Threads: one at a time.
class HandlingTimes {
 public:
  explicit HandlingTimes(observe::MetricRegistry& registry);
  void record(const model::ClusterEvent& event, double seconds);

 private:
  using Kind = std::tuple<model::EventResource, model::EventActions, std::string_view>;  // and the label

  observe::MetricRegistry& registry_;
  const observe::MetricRegistry::Family family_;
  std::map<Kind, observe::MetricRegistry::Series> series_;  // those that were used
};

}  // namespace berth::metrics
