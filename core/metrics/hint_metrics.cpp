// SPDX-License-Identifier: Apache-2.0
#include "metrics/hint_metrics.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {

const std::array<double, HintMetrics::k_bounds>& HintMetrics::bounds_s() {
  static constexpr std::array<double, k_bounds> bounds = observe::exponential_bounds<k_bounds>(0.00001, 1.5);
  return bounds;
}

void HintMetrics::add(model::PluginIndex plugin, const model::ClusterEvent& event, const Answers& answers,
                      double seconds) {
  const std::size_t count = answers.queued + answers.skipped;
  if (count == 0) return;
  const Lock lock(mutex_);
  const auto count_pods = [&](Outcome outcome, std::size_t pods) REQUIRES(mutex_) {
    if (pods != 0)
      calls_[{plugin, event.resource, event.actions, event.label, outcome}].add(
          bounds_s(), seconds / static_cast<double>(count), pods);
  };
  count_pods(answers.failed ? Outcome::error : Outcome::queue, answers.queued);
  count_pods(answers.failed ? Outcome::error : Outcome::skip, answers.skipped);
}

void HintMetrics::add_to(observe::MetricPage& page, const framework::PluginNames& names) const {
  const std::map<Key, Counts> calls = [this] {
    const Lock lock(mutex_);
    return calls_;
  }();
  // Watches of one resource have a number each, and one name.
  std::map<std::tuple<model::PluginIndex, std::string, Outcome>, Counts> by_name;
  for (const auto& [key, counts] : calls) {
    const auto& [plugin, resource, actions, label, outcome] = key;
    Counts& sum = by_name[{plugin, model::ClusterEvent{resource, actions, label}.name(), outcome}];
    sum.add(counts);
  }
  std::vector<observe::HistogramSample> samples;
  for (const auto& [key, counts] : by_name) {
    const auto& [plugin, event, outcome] = key;
    const char* const hint = outcome == Outcome::queue ? "Queue" : outcome == Outcome::skip ? "QueueSkip" : "Error";
    samples.push_back(counts.sample({{"event", event}, {"hint", hint}, {"plugin", std::string(names.name(plugin))}}));
  }
  page.add_histogram("scheduler_queueing_hint_execution_duration_seconds",
                     "[ALPHA] Scheduling latency for running a queueing hint function of a plugin.", bounds_s(),
                     std::move(samples));
}

}  // namespace berth::metrics
