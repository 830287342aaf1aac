// SPDX-License-Identifier: Apache-2.0
// What strangers can do to the ports of a running berth.
#include <sys/resource.h>

#include "integration/serving_fixture.hpp"
#include "unit/serving/raw_caller.hpp"

namespace berth::tests {
namespace {

using Strangers = ServingTest;

TEST_F(Strangers, AChunkedTrailerOf70KilobytesLeavesItRunning) {
  auto berth = start_serving();
  RawCaller caller(port_);
  EXPECT_EQ(caller.status_of("POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " +
                             std::string(70'000, 'a') + "\r\n\r\n"),
            "HTTP/1.1 411 Length Required")
      << berth->log();
  const std::string text = metrics();
  for (const char* line :
       {"\nberth_serving_refused_requests_total{server=\"https\",code=\"411\"} 1\n",
        "\nberth_serving_exceptions_total{server=\"https\"} 0\n", "\nberth_review_cache_entries{review=\"token\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(Strangers, TheLimitOfOpenFilesIsRaised) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 512;
  ASSERT_GT(before.rlim_max, low.rlim_cur) << "nothing to be raised here";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  auto berth = start_serving();
  ::setrlimit(RLIMIT_NOFILE, &before);
  const std::string text = metrics();
  EXPECT_EQ(text.find("\nprocess_max_fds 512\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nprocess_max_fds "), std::string::npos) << text;
}

TEST_F(Strangers, HealthEndpointsAloneAreServedWithoutTls) {
  const std::uint16_t plain = free_port();
  auto berth = start_serving({"--health-bind-address=127.0.0.1:" + std::to_string(plain)});
  const auto status = [&](const std::string& method, const std::string& path) {
    return RawCaller(plain, RawCaller::Kind::plain).status_of(method + " " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  for (const char* path : {"/livez", "/readyz", "/healthz", "/readyz?verbose"})
    EXPECT_EQ(status("GET", path), "HTTP/1.1 200 OK") << path;
  for (const char* path : {"/", "/metrics", "/debug/queue", "/configz", "/readyz/shutdown"})
    EXPECT_EQ(status("GET", path), "HTTP/1.1 404 Not Found") << path;
  EXPECT_EQ(status("PUT", "/livez"), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_NE(metrics().find("\nberth_serving_connections_total{server=\"health\"} 10\n"), std::string::npos);
}

TEST_F(Strangers, HealthEndpointsAreServedWithoutTheSecurePortToo) {
  const std::uint16_t plain = free_port();
  auto berth = start({"--health-bind-address=127.0.0.1:" + std::to_string(plain)});
  EXPECT_TRUE(wait([&] {
    return RawCaller(plain, RawCaller::Kind::plain).status_of("GET /readyz HTTP/1.1\r\n\r\n") == "HTTP/1.1 200 OK";
  })) << berth->log();
}

}  // namespace
}  // namespace berth::tests
