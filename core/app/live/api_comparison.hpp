// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "app/pages/live_views.hpp"
#include "net/http_client.hpp"

namespace berth::app {

/// Asks the API server for nodes and bound pods, and says where the cache has them differently, a line each; where it
/// has them alike, in one line. What changed a moment ago may differ until the watch tells of it.
/// Costs a list of both, in pages, read as they come; `goes_on`, which may be empty, is asked a few times a second, and
/// ends that. Threads: any but those of the client.
/// Source: kubernetes v1.36 pkg/scheduler/backend/cache/debugger/comparer.go. Departs: upstream compares with what its
///         watches told, so that a watch that lost something goes unseen.
std::vector<std::string> compare_with_server(const LiveViews& live, net::HttpClient& client,
                                             const std::function<bool()>& goes_on);

}  // namespace berth::app
