// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/compatibility_version.hpp"
#include "app/cli/feature_gates.hpp"
#include "app/pages/live_views.hpp"
#include "app/plugins/plugin_library.hpp"
#include "base/clock.hpp"
#include "base/product.hpp"
#include "config/profile.hpp"
#include "observe/metric_page.hpp"
#include "serving/health.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// What the pages tell in addition to the state of the scheduler's parts. Functions are called on the server's threads.
struct LivePagesParts {
  LiveViews live;
  const config::Configuration& configuration;
  const PluginLibrary& plugins;
  const Clock& clock;
  std::int64_t started_wall_ns = 0;
  std::string config_json = {};                                 // completed, for /configz
  std::vector<std::pair<std::string, std::string>> flags = {};  // for /flagz
  observe::MetricFilter metric_filter = {};
  std::string reported_version = std::string(k_upstream_version);
  CompatibilityVersion version = {};
  FeatureGates gates = {};
  std::function<bool()> is_leading = {};              // false also without election
  std::function<std::uint64_t()> slow_renewals = {};  // of the lease
  std::function<Status()> lease_is_fresh = {};        // of a leader
  std::function<bool()> is_stopping = {};
  std::function<void(observe::MetricPage& page)> add_metrics = {};  // what only the caller knows
  std::function<void()> clear_metrics = {};                         // back to 0, what of these can be
};

/// healthz, livez, readyz, metrics, configz, version, flagz, statusz and the debug pages of a running scheduler.
/// Source: kubernetes v1.36 cmd/kube-scheduler/app/server.go; pkg/scheduler/metrics for names and labels.
std::vector<serving::Route> live_routes(const LivePagesParts& parts);

}  // namespace berth::app
