// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "app/live_pages.hpp"

namespace berth::app {

/// The exposition of /metrics: upstream's names, labels and buckets, and berth's own as berth_….
/// Source: kubernetes v1.36 pkg/scheduler/metrics/metrics.go. Departs: scheduler_plugin_execution_duration_seconds
///         counts every call instead of one cycle in ten; there are no go_… metrics, and none of features that berth
///         does not have (batching, asynchronous API calls).
std::string metrics_text(const LivePagesParts& parts);

/// The exposition of /metrics/resources: what each pod asks for; nothing unless this process leads.
std::string resource_metrics_text(const LivePagesParts& parts);

}  // namespace berth::app
