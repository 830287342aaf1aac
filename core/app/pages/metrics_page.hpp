// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>

#include "app/pages/live_pages.hpp"
#include "base/guarded.hpp"

namespace berth::app {

/// Gauges that were on a page once stay on it, at 0. Threads: any.
class ShownGauges {
 public:
  /// True when the gauge of that event is to be shown: it is of use now, or was shown before.
  bool is_logged(const std::string& event, bool now);
  /// Plugins and profiles that were shown, with 0 each.
  std::map<std::pair<std::string, std::string>, double> rejected() const;
  void keep_rejected(std::map<std::pair<std::string, std::string>, double> shown);

 private:
  mutable Mutex mutex_;
  std::set<std::string> logged_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, double> rejected_ GUARDED_BY(mutex_);
};

/// The exposition of /metrics: upstream's names, labels and buckets, and berth's own as berth_….
/// Source: kubernetes v1.36 pkg/scheduler/metrics/metrics.go. Departs: scheduler_plugin_execution_duration_seconds
///         counts every call instead of one cycle in ten; there are no go_… metrics, and none of features that berth
///         does not have (batching, asynchronous API calls).
observe::MetricPage metrics_page(const LivePagesParts& parts, ShownGauges& shown);

/// The exposition of /metrics/resources: what each pod asks for, and may use at most. With leader election, nothing
/// unless this process leads.
observe::MetricPage resource_metrics_page(const LivePagesParts& parts);

}  // namespace berth::app
