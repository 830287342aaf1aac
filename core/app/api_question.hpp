// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

#include "cluster/kube/http_client.hpp"

namespace berth::app {

/// Sends one request and waits for its answer; for threads that may block.
Result<cluster::kube::Response> exchange_with_server(cluster::kube::HttpClient& client, cluster::kube::Request request,
                                                     std::chrono::seconds limit);
/// The body of the answer, if that is a good one.
Result<std::string> ask_server(cluster::kube::HttpClient& client, cluster::kube::Request request,
                               std::chrono::seconds limit);

}  // namespace berth::app
