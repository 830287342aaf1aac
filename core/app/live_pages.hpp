// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/live_host.hpp"
#include "config/profile.hpp"
#include "serving/health.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// What the pages tell beside the host's own state. Functions are called on the server's threads.
struct LivePagesParts {
  const LiveHost& host;
  const config::Configuration& configuration;
  std::string config_json;                 // completed, for /configz
  std::function<bool()> is_leading;        // false also without election
  std::function<Status()> lease_is_fresh;  // of a leader
  std::function<bool()> is_stopping;
};

/// healthz, livez, readyz, metrics, configz, version and the debug pages of a running scheduler.
/// Source: kubernetes v1.36 cmd/kube-scheduler/app/server.go; pkg/scheduler/metrics for names and labels.
std::vector<serving::Route> live_routes(const LivePagesParts& parts);

/// The exposition of /metrics.
std::string metrics_text(const LivePagesParts& parts);
/// Why a pod is where it is, as JSON; nothing when the queue does not have it.
std::optional<std::string> pod_page(const LiveHost& host, std::string_view ns, std::string_view name);

}  // namespace berth::app
