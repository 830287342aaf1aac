// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/pages/live_views.hpp"
#include "serving/https_server.hpp"

/// What queue, cache and a single pod are like, for people: JSON pages, and lines for the log.
namespace berth::app {

/// /debug/queue, /debug/cache, /debug/plugins and /debug/pods/NAMESPACE/NAME, and what plugins offer.
std::vector<serving::Route> debug_routes(const LiveViews& live);

/// Why a pod is where it is: attempts, who rejected it, what it waits for, when it is tried next, and which nodes
/// would take it now (`every_node`: what each of them says); nothing when the queue does not have it.
std::optional<std::string> pod_page(const LiveViews& live, std::string_view ns, std::string_view name, bool every_node);

/// Nominations, the queue, where cache and API server disagree, and the nodes; a line each, as soon as it is known. The
/// nodes come last: they are read between two cycles.
/// Source: kubernetes v1.36 pkg/scheduler/backend/cache/debugger.
void dump(const LiveViews& live, const std::function<void(const std::string& line)>& write);

}  // namespace berth::app
