// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/run_fixture.hpp"

/// What tests that ask a running berth over its own port have in common.
namespace berth::tests {

class ServingTest : public RunTest {
 protected:
  /// A berth that serves; some pods are bound, one cannot be.
  std::unique_ptr<ChildProcess> start_serving(std::vector<std::string> more = {}) {
    for (int i = 0; i < 3; ++i) server.create(node_json(i, 4));
    for (int i = 0; i < 5; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
    server.create(pod_json("huge", "100"));
    port_ = free_port();
    more.insert(more.end(), {"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port_),
                             "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
    auto berth = start(std::move(more));
    EXPECT_TRUE(wait([&] { return bound() == 5 && !text_at(stored("huge"), "/status/conditions/0/message").empty(); }))
        << berth->log();
    return berth;
  }
  std::pair<int, std::string> get(const std::string& path) { return fetch(port_, path, "test-token"); }
  std::string metrics() { return get("/metrics").second; }

  std::uint16_t port_ = 0;
};

}  // namespace berth::tests
