// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/kube/auth/credentials.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "net/http_client.hpp"
#include "support/api_server/api_server.hpp"

/// What tests against the test API server have in common.
namespace berth::tests {

inline constexpr std::chrono::seconds k_patience{30};  // how long anything may take before a test gives up

/// Waits until something is so; told of changes by the code that causes them.
class Signal {
 public:
  template <typename Change>
  void change(Change&& body) {
    // Told while locked: the thread that waits may take the signal away as soon as it holds the lock.
    const std::lock_guard lock(mutex_);
    body();
    changed_.notify_all();
  }
  template <typename Condition>
  bool wait(Condition&& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, k_patience, condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

inline std::shared_ptr<net::Endpoint> endpoint_of(const ApiServer& server, const Clock& clock) {
  text::Diagnostics problems;
  auto config = cluster::kube::read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  EXPECT_TRUE(config) << problems.render();
  auto endpoint = cluster::kube::make_endpoint(std::move(*config), clock, [](const char*) { return std::string(); });
  EXPECT_TRUE(endpoint.ok()) << (endpoint.ok() ? "" : endpoint.error().message);
  return *endpoint;
}

/// A server on a port of this machine that speaks plain HTTP.
inline std::shared_ptr<net::Endpoint> plain_endpoint(std::uint16_t port, const Clock& clock) {
  cluster::kube::ClientConfig config;
  config.server = *net::parse_url("http://127.0.0.1:" + std::to_string(port), "http");
  auto endpoint = cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); });
  EXPECT_TRUE(endpoint.ok()) << (endpoint.ok() ? "" : endpoint.error().message);
  return *endpoint;
}

/// Sends and waits.
inline Result<net::Response> ask(net::HttpClient& client, net::Request request) {
  auto answered = std::make_shared<std::promise<Result<net::Response>>>();
  auto answer = answered->get_future();
  client.send(std::move(request), [answered](Result<net::Response> r) { answered->set_value(std::move(r)); });
  if (answer.wait_for(k_patience) != std::future_status::ready) return Error{"no answer in time"};
  return answer.get();
}

inline std::string pod_json(const std::string& name, const std::string& more_spec = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}}}])" +
         more_spec + "}}";
}
inline std::string node_json(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
         R"("},"status":{"allocatable":{"cpu":"8","memory":"16Gi","pods":"110"}}})";
}

}  // namespace berth::tests
