// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "base/guarded.hpp"
#include "framework/plugin_names.hpp"
#include "model/event.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {

/// How long plugins take to say whether an event may help a pod, and what they say:
/// scheduler_queueing_hint_execution_duration_seconds.
/// Threads: any; add() is called under the queue's lock, so nothing is named there, and ours is not held for long.
/// Source: kubernetes v1.36 pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
///          Departs: hints are asked for several pods at once, each of which counts with its share of the time.
class HintMetrics {
 public:
  struct Answers {
    std::size_t queued = 0, skipped = 0;
    bool failed = false;  // all of them: an error
  };
  void add(model::PluginIndex plugin, const model::ClusterEvent& event, const Answers& answers, double seconds);
  void add_to(observe::MetricPage& page, const framework::PluginNames& names) const;

 private:
  enum class Outcome : std::uint8_t { queue, skip, error };
  static constexpr std::size_t k_bounds = 20;
  static const std::array<double, k_bounds>& bounds_s();
  /// Resource, actions and label are those of the event.
  using Key = std::tuple<model::PluginIndex, model::EventResource, model::EventActions, std::string_view, Outcome>;
  using Counts = observe::BucketCounts<k_bounds>;

  mutable Mutex mutex_;  // a leaf
  std::map<Key, Counts> calls_ GUARDED_BY(mutex_);
};

}  // namespace berth::metrics
