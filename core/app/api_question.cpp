// SPDX-License-Identifier: Apache-2.0
#include "app/api_question.hpp"

#include <spdlog/fmt/fmt.h>

#include <future>

namespace berth::app {

Result<cluster::kube::Response> exchange_with_server(cluster::kube::HttpClient& client, cluster::kube::Request request,
                                                     std::chrono::seconds limit) {
  request.timeout = limit;
  const auto answered = std::make_shared<std::promise<Result<cluster::kube::Response>>>();
  auto answer = answered->get_future();
  client.send(std::move(request), [answered](Result<cluster::kube::Response> r) { answered->set_value(std::move(r)); });
  if (answer.wait_for(limit) != std::future_status::ready)
    return Error{fmt::format("no answer within {} s", limit.count())};
  return answer.get();
}

Result<std::string> ask_server(cluster::kube::HttpClient& client, cluster::kube::Request request,
                               std::chrono::seconds limit) {
  return cluster::kube::body_of(exchange_with_server(client, std::move(request), limit));
}

}  // namespace berth::app
