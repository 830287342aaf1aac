// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_handling_metrics.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {
namespace {

observe::MetricRegistry::Family define(observe::MetricRegistry& registry) {
  const auto bounds = observe::exponential_bounds<12>(0.0001, 2);
  const auto family = registry.define({observe::MetricKind::histogram,
                                       "scheduler_event_handling_duration_seconds",
                                       "[ALPHA] Event handling latency in seconds.",
                                       {"event"},
                                       {bounds.begin(), bounds.end()}});
  BERTH_CHECK(family.ok(), "{}", family.error().message);
  return *family;
}

}  // namespace

HandlingTimes::HandlingTimes(observe::MetricRegistry& registry) : registry_(registry), family_(define(registry)) {}

void HandlingTimes::record(const model::ClusterEvent& event, double seconds) {
  const Kind kind{event.resource, event.actions, event.label};
  auto known = series_.find(kind);
  if (known == series_.end()) {
    const std::string name = event.name();
    const std::string_view labels[] = {name};
    const auto made = registry_.series(family_, labels);
    if (!made.ok()) return;
    known = series_.emplace(kind, *made).first;
  }
  registry_.record(known->second, seconds);
}

}  // namespace berth::metrics
