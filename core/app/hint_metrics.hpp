// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "framework/framework.hpp"
#include "model/event.hpp"
#include "observe/metric_page.hpp"

namespace berth::app {

/// How long plugins take to say whether an event may help a pod, and what they say:
/// scheduler_queueing_hint_execution_duration_seconds.
/// Threads: any. Source: kubernetes v1.36 pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing).
///          Departs: hints are asked for several pods at once, each of which counts with its share of the time.
class HintMetrics {
 public:
  struct Answers {
    std::size_t queued = 0, skipped = 0;
    bool failed = false;  // all of them: an error
  };
  void add(model::PluginIndex plugin, const model::ClusterEvent& event, const Answers& answers, double seconds);
  void add_to(observe::MetricPage& page, const framework::Framework& framework) const;

 private:
  enum class Outcome : std::uint8_t { queue, skip, error };
  static constexpr std::size_t k_bounds = 20;
  static const std::array<double, k_bounds>& bounds_s();

  mutable std::mutex mutex_;  // guards what follows
  std::map<std::tuple<model::PluginIndex, std::string, Outcome>, observe::BucketCounts<k_bounds>> calls_;
};

}  // namespace berth::app
