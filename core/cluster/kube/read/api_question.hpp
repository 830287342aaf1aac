// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>

#include "cluster/kube/read/api_status.hpp"

namespace berth::cluster::kube {

/// Sends one request and waits for its answer; for threads that may block.
Result<net::Response> exchange_with_server(net::HttpClient& client, net::Request request, std::chrono::seconds limit);
/// The body of the answer, if that is a good one.
Result<std::string> ask_server(net::HttpClient& client, net::Request request, std::chrono::seconds limit);

}  // namespace berth::cluster::kube
