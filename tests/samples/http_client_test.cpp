// SPDX-License-Identifier: Apache-2.0
// The HTTP client that samples have in common.
#include "http_client/http_client.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "http_client/test_server.hpp"

namespace berth::tests {
namespace {

TEST(HttpAddress, HasAHostAPortAndAPath) {
  struct Case {
    const char *text, *host, *port, *path, *authority;
  };
  for (const Case& each : {Case{"http://cloud.example.com", "cloud.example.com", "80", "", "cloud.example.com:80"},
                           Case{"http://10.0.0.1:8080/v1/", "10.0.0.1", "8080", "/v1", "10.0.0.1:8080"},
                           Case{"http://[::1]", "::1", "80", "", "[::1]:80"},
                           Case{"http://[fe80::2]:9090/a:b", "fe80::2", "9090", "/a:b", "[fe80::2]:9090"}}) {
    const http::Url url = http::Url::parse(each.text);
    EXPECT_EQ(url.host, each.host) << each.text;
    EXPECT_EQ(url.port, each.port) << each.text;
    EXPECT_EQ(url.path, each.path) << each.text;
    EXPECT_EQ(url.authority(), each.authority) << each.text;
  }
  for (const char* wrong : {"https://a", "http://", "http://a:", "http://[::1", "http://[]", "http://[::1]x:80"})
    EXPECT_THROW(http::Url::parse(wrong), http::Failure) << wrong;
}

/// Where a socket of our own listens.
class Listener {
 public:
  explicit Listener(int backlog) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_.file(), raw(), size) != 0 || ::listen(socket_.file(), backlog) != 0)
      throw std::runtime_error("no port");
    ::getsockname(socket_.file(), raw(), &size);
    entry.ai_family = AF_INET;
    entry.ai_addr = raw();
    entry.ai_addrlen = size;
  }
  sockaddr_in address{};
  addrinfo entry{};

 private:
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&address); }
  http::detail::Socket socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST(HttpConnection, LeavesTimeForTheNextAddressWhenOneDoesNotAnswer) {
  // The kernel drops what comes once the queue of connections to be accepted is full.
  Listener silent(0);
  std::vector<http::detail::Socket> queued;
  for (int i = 0; i < 4; ++i) {
    queued.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    static_cast<void>(::connect(queued.back().file(), silent.entry.ai_addr, silent.entry.ai_addrlen));
  }
  Listener answers(8);
  silent.entry.ai_next = &answers.entry;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  const http::detail::Socket socket = http::detail::connect_any(&silent.entry, "both", deadline);
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  ASSERT_EQ(::getpeername(socket.file(), reinterpret_cast<sockaddr*>(&peer), &size), 0);
  EXPECT_EQ(peer.sin_port, answers.address.sin_port);
}

TEST(HttpConnection, SaysWhatWasWrongWithTheLastAddress) {
  Listener gone(1);
  addrinfo closed_port = gone.entry;
  sockaddr_in address = gone.address;
  address.sin_port = htons(1);
  closed_port.ai_addr = reinterpret_cast<sockaddr*>(&address);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  try {
    http::detail::connect_any(&closed_port, "name:1", deadline);
    FAIL() << "a server listens on port 1";
  } catch (const http::Failure& problem) {
    EXPECT_STREQ(problem.what(), "name:1: Connection refused");
  }
}

}  // namespace
}  // namespace berth::tests
