// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/api_question.hpp"

#include <spdlog/fmt/fmt.h>

#include <future>

namespace berth::cluster::kube {

Result<net::Response> exchange_with_server(net::HttpClient& client, net::Request request, std::chrono::seconds limit) {
  request.timeout = limit;
  const auto answered = std::make_shared<std::promise<Result<net::Response>>>();
  auto answer = answered->get_future();
  client.send(std::move(request), [answered](Result<net::Response> r) { answered->set_value(std::move(r)); });
  if (answer.wait_for(limit) != std::future_status::ready)
    return Error{fmt::format("no answer within {} s", limit.count())};
  return answer.get();
}

Result<std::string> ask_server(net::HttpClient& client, net::Request request, std::chrono::seconds limit) {
  return body_of(exchange_with_server(client, std::move(request), limit));
}

}  // namespace berth::cluster::kube
