// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <future>
#include <memory>
#include <utility>

#include "net/http_client.hpp"

namespace berth::tests {

/// The answer to a request, retried as it says. Blocks: not for threads of the client.
inline Result<net::Response> send_and_wait(net::HttpClient& client, net::Request request) {
  using net::Response;
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto future = promise->get_future();
  client.send(std::move(request), [promise](Result<Response> r) { promise->set_value(std::move(r)); });
  return future.get();
}

}  // namespace berth::tests
