// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <future>
#include <memory>
#include <utility>

#include "cluster/kube/http_client.hpp"

namespace berth::tests {

/// The answer to a request, retried as it says. Blocks: not for threads of the client.
inline Result<cluster::kube::Response> send_and_wait(cluster::kube::HttpClient& client,
                                                     cluster::kube::Request request) {
  using cluster::kube::Response;
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto future = promise->get_future();
  client.send(std::move(request), [promise](Result<Response> r) { promise->set_value(std::move(r)); });
  return future.get();
}

}  // namespace berth::tests
