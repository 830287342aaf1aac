// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

#include "cluster/kube/http_client.hpp"

namespace berth::app {

/// Sends one request and waits for the body of its answer; for threads that may block.
Result<std::string> ask_server(cluster::kube::HttpClient& client, cluster::kube::Request request,
                               std::chrono::seconds limit);

}  // namespace berth::app
