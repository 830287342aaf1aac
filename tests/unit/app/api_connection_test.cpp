// SPDX-License-Identifier: Apache-2.0
#include "app/live/api_connection.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth::app {
namespace {

constexpr const char* k_kubeconfig = R"({"apiVersion": "v1", "kind": "Config", "current-context": "c",
  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
  "clusters": [{"name": "c", "cluster": {"server": "https://api.example.com:6443",
                                         "proxy-url": "http://proxy.example.com:3128"}}],
  "users": [{"name": "u", "user": {"token": "t"}}]})";

TEST(ConnectToScheduler, DoesNotGoThroughTheProxyOfTheApiServer) {
  const std::string file = ::testing::TempDir() + "/berth-api-connection-kubeconfig";
  std::ofstream(file) << k_kubeconfig;
  const SystemClock clock;
  const ClusterAddress cluster{file, {}, {}};
  const auto server = connect(cluster, clock);
  ASSERT_TRUE(server.ok()) << server.error().message;
  ASSERT_TRUE((*server)->proxy().has_value());
  EXPECT_EQ((*server)->proxy()->authority(), "proxy.example.com:3128");

  const auto scheduler = connect_to_scheduler({"https://127.0.0.1:10259", {}, false}, cluster, clock);
  ASSERT_TRUE(scheduler.ok()) << scheduler.error().message;
  EXPECT_FALSE((*scheduler)->proxy().has_value());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace berth::app
