// SPDX-License-Identifier: Apache-2.0
#include "net/connection.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "cluster/kube/read/api_status.hpp"
#include "support/servers/silent_server.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

/// URLs; * stands for the address of a server that says nothing. No proxy: directly.
struct Way {
  std::string name, server, proxy;
};

std::string at(const std::string& url, const SilentServer& silent) {
  return url.substr(0, url.find('*')) + silent.authority();
}

class SilentWay : public testing::TestWithParam<Way> {};

TEST_P(SilentWay, IsGivenUpWhenTheTimeIsOver) {
  const SilentServer silent;
  const SystemClock clock{};
  ClientConfig config;
  config.server = *net::parse_url(at(GetParam().server, silent), "https");
  if (!GetParam().proxy.empty()) config.proxy = *net::parse_url(at(GetParam().proxy, silent), "http");
  const auto endpoint =
      cluster::kube::make_endpoint(std::move(config), clock, [](const char*) { return std::string(); });
  ASSERT_TRUE(endpoint.ok());
  std::optional<Error> error;
  asio::io_context io;
  const auto began = std::chrono::steady_clock::now();
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const net::Identity anonymous;
        const auto made = co_await net::Connection::open(*endpoint, anonymous, began + std::chrono::milliseconds(100));
        if (!made.ok()) error = made.error();
      },
      net::end_of_coroutine);
  io.run();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::unreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5)) << "the step's own limit is longer";
}

INSTANTIATE_TEST_SUITE_P(Ways, SilentWay,
                         testing::Values(Way{"tls", "https://*", ""}, Way{"http_proxy", "https://*", "http://*"},
                                         Way{"https_proxy", "https://*", "https://*"},
                                         Way{"socks_proxy", "https://*", "socks5://*"}),
                         [](const auto& way) { return way.param.name; });

TEST(Connection, TheKernelNoticesAPeerThatIsGone) {
  const SilentServer silent;
  const SystemClock clock{};
  ClientConfig config;
  config.server = *net::parse_url("http://" + silent.authority(), "http");
  const auto endpoint =
      cluster::kube::make_endpoint(std::move(config), clock, [](const char*) { return std::string(); });
  ASSERT_TRUE(endpoint.ok());
  asio::io_context io;
  std::unique_ptr<net::Connection> connection;  // ends before what it is served by
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const net::Identity anonymous;
        auto made = co_await net::Connection::open(*endpoint, anonymous);
        if (made.ok()) connection = std::move(*made);
      },
      net::end_of_coroutine);
  io.run();
  ASSERT_TRUE(connection);
  const int fd = connection->socket().socket().native_handle();
  const auto option = [fd](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPIDLE) + option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
            60);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
}

}  // namespace
}  // namespace berth::tests
