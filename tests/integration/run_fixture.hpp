// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kube/auth/credentials.hpp"
#include "net/http_client.hpp"
#include "support/api_server/api_server.hpp"
#include "support/child_process.hpp"

/// What tests that run `berth run` as a process of its own against the test API server have in common.
namespace berth::tests {

inline constexpr std::chrono::seconds k_patience{60};

/// How much longer than nominated berth may take when it is built to look for races or bad accesses.
#if defined(BERTH_SANITIZED)
inline constexpr int k_slowdown = 8;
#else
inline constexpr int k_slowdown = 1;
#endif

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline std::string node_json(int number, int cpu) {
  std::ostringstream out;
  out << R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n)" << number
      << R"(","labels":{"kubernetes.io/hostname":"n)" << number << R"("}},"status":{"allocatable":{"cpu":")" << cpu
      << R"(","memory":"64Gi","pods":"110"},"capacity":{"cpu":")" << cpu << R"(","memory":"64Gi","pods":"110"}}})";
  return out.str();
}

inline std::string pod_json(const std::string& name, const std::string& cpu) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" +
         cpu + R"("}}}]}})";
}

/// BERTH_SEED, or one of the moment; printed.
inline std::uint64_t seed_of_this_run() {
  std::uint64_t seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  if (const std::string given = variable("BERTH_SEED"); !given.empty()) seed = std::stoull(given);
  std::printf("seed %llu (BERTH_SEED)\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// Faults of a server that has bad days.
inline Faults bad_days() {
  Faults faults;
  faults.dropped_watch = 0.002;
  faults.conflict = 0.03;
  faults.too_many = 0.03;
  faults.internal_error = 0.03;
  faults.lost_answer = 0.03;
  faults.slow = 0.05;
  faults.slow_max = std::chrono::milliseconds(100);
  faults.repeated_event = 0.05;
  faults.reordered_events = 0.05;
  faults.seed = seed_of_this_run();
  return faults;
}

class RunTest : public testing::Test {
 protected:
  RunTest() {
    kubeconfig = directory.write("kubeconfig", server.kubeconfig());
    namespaces();
  }
  void namespaces() {
    for (const char* name : {"default", "kube-system"})
      server.create(std::string(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")") + name + "\"}}");
  }
  std::unique_ptr<ChildProcess> start(std::vector<std::string> more, const std::string& log = "log") {
    std::vector<std::string> command{variable("BERTH"), "run",      "--kubeconfig",    kubeconfig,
                                     "--plugin-dir",    plugin_dir, "--secure-port=0", "--kube-api-qps=-1"};
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<ChildProcess>(command, directory.path() + "/" + log);
  }
  /// Looks whenever the store has changed, which berth's writes do.
  template <typename Condition>
  bool wait(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    std::uint64_t version = 0;
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      version = server.await_change(version, std::chrono::milliseconds(200));
    }
    return false;
  }
  const ApiResource& pods() { return *server.store().find("", "v1", "pods"); }
  std::map<std::string, std::string> placements() {
    std::map<std::string, std::string> out;
    for (const StoredPtr& pod : server.store().list(pods(), "", "", 0).objects) out[pod->name] = pod->node;
    return out;
  }
  std::size_t bound() {
    std::size_t count = 0;
    for (const auto& [pod, node] : placements()) count += !node.empty();
    return count;
  }
  json::value stored(const std::string& name) {
    return json::parse((*server.store().get(pods(), "default", name).value)->text);
  }
  json::value lease() {
    const auto found = server.store().get(*server.store().find("coordination.k8s.io", "v1", "leases"), "kube-system",
                                          "kube-scheduler");
    return found.ok() ? json::parse((*found.value)->text) : json::value();
  }

  std::string output() {
    std::ifstream in(directory.path() + "/out");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// One request to berth's own server.
  std::pair<int, std::string> fetch(std::uint16_t port, const std::string& target, const std::string& token,
                                    net::Method method = net::Method::get, const std::string& body = "") {
    net::Request request;
    request.target = target;
    request.method = method;
    request.body = body;
    request.accept = "*/*";
    const Result<net::Response> answer = ask(port, request, token);
    return answer.ok() ? std::pair(answer->status, answer->body) : std::pair(0, answer.error().message);
  }
  Result<net::Response> ask(std::uint16_t port, const net::Request& request, const std::string& token,
                            net::HttpClientOptions options = {}) {
    return ask_at("https://127.0.0.1:" + std::to_string(port), request, token, options);
  }
  static Result<net::Response> ask_at(const std::string& server, const net::Request& request, const std::string& token,
                                      net::HttpClientOptions options = {}) {
    SystemClock clock;
    cluster::kube::ClientConfig config;
    config.server = *net::parse_url(server, "https");
    config.tls.insecure = true;
    config.auth.token = token;
    net::IoThreads threads(1);
    net::HttpClient client(
        threads, *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }), options);
    std::promise<Result<net::Response>> promise;
    client.send(request, [&](Result<net::Response> r) { promise.set_value(std::move(r)); });
    return promise.get_future().get();
  }
  /// Free a moment ago; nothing else on this machine asks for ports by number.
  static std::uint16_t free_port() { return ApiServer().port(); }

  TemporaryDirectory directory;
  ApiServer server;
  std::string kubeconfig;
  std::string plugin_dir = variable("BERTH_PLUGIN_DIR");
};

}  // namespace berth::tests
