// SPDX-License-Identifier: Apache-2.0
// What strangers may send to the server, and what they get.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <deque>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "observe/metric_page.hpp"
#include "serving/https_server.hpp"
#include "serving/serving_counts.hpp"
#include "unit/serving/raw_caller.hpp"

namespace berth::serving {
namespace {

using tests::RawCaller;
using End = ServingCounts::End;
constexpr std::string_view k_good = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr const char* k_ok = "HTTP/1.1 200 OK";

class HostileCallers : public testing::Test {
 protected:
  HostileCallers() {
    options.address = "127.0.0.1";
    options.port = 0;
    options.keys = *make_self_signed({"127.0.0.1"}, SystemClock().wall_ns());
    options.counts = counts;
  }
  void serve() {
    auto made = HttpsServer::make(options,
                                  {{"/a",
                                    [](const HttpRequest& ask) {
                                      return HttpResponse{200, "a" + ask.body};
                                    }},
                                   {"/long",
                                    [](const HttpRequest&) {
                                      return HttpResponse{200, std::string(64 << 20, 'l')};
                                    }},
                                   {"/throws", [](const HttpRequest&) -> HttpResponse { throw 42; }}},
                                  [this](const HttpRequest& ask) -> Admission {
                                    if (ask.path == "/waits") {
                                      ++waiting;
                                      let_go.get_future().wait();
                                    }
                                    return {{}, ask.header("authorization") == "known"};
                                  });
    ASSERT_TRUE(made.ok()) << made.error().message;
    server = std::move(*made);
  }
  std::string status_of(std::string_view request) { return RawCaller(server->port()).status_of(request); }
  std::string good() { return status_of(k_good); }
  std::uint64_t ended(End why) const { return counts->ended[static_cast<std::size_t>(why)]; }
  template <typename Condition>
  static bool comes_true(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  HttpsServerOptions options;
  std::shared_ptr<ServingCounts> counts = std::make_shared<ServingCounts>();
  std::atomic<int> waiting{0};
  std::promise<void> let_go;
  std::unique_ptr<HttpsServer> server;
};

TEST_F(HostileCallers, ChunkedBodiesAreRefusedBeforeTheirTrailersAndExtensions) {
  serve();
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& body :
       {"0\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n", "1;" + std::string(300'000, 'e') + "\r\na\r\n0\r\n\r\n",
        std::string("5\r\nhello\r\n0\r\n\r\n")}) {
    EXPECT_EQ(status_of(head + body), "HTTP/1.1 411 Length Required") << body.size();
    EXPECT_EQ(good(), k_ok);
  }
  EXPECT_EQ(counts->exceptions, 0U);
}

TEST_F(HostileCallers, ARequestThatCannotBeTakenIsAnsweredWithWhyAndEndsItsConnectionAlone) {
  serve();
  std::string fields, query;
  for (int i = 0; i < 1100; ++i) fields += "a:\r\n";
  for (int i = 0; i < 1100; ++i) query += "&a";
  const std::string begin = "GET /a HTTP/1.1\r\n", post = "POST /a HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::pair<std::string, std::string>> requests = {
      {begin + "X: " + std::string(70'000, 'x') + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
      {begin + fields + "\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
      {"GET /" + std::string(70'000, 'x') + " HTTP/1.1\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
      {"GET /?" + query + " HTTP/1.1\r\n\r\n", "HTTP/1.1 414 URI Too Long"},
      {post + "Content-Length: 16385\r\n\r\n", "HTTP/1.1 413 Payload Too Large"},
      {post + "Content-Length: 18446744073709551615\r\n\r\n", "HTTP/1.1 413 Payload Too Large"},
      {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 Bad Request"},
      {post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {post + "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 411 Length Required"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505 HTTP Version Not Supported"},
      {std::string(100, '\0') + "\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {begin + "X: " + std::string("a\0b", 3) + "\r\n\r\n", "HTTP/1.1 400 Bad Request"}};
  for (const auto& [request, status] : requests) {
    RawCaller caller(server->port());
    EXPECT_EQ(caller.status_of(request), status) << request.substr(0, 60);
    EXPECT_TRUE(caller.is_ended());
  }
  EXPECT_EQ(status_of(post + "Content-Length: 16384\r\n\r\n" + std::string(16'384, 'b')), k_ok);
  EXPECT_EQ(counts->exceptions, 0U);
  observe::MetricPage page;
  add_serving_metrics(page, {{"https", counts.get()}});
  EXPECT_NE(page.text().find("\nberth_serving_refused_requests_total{server=\"https\",code=\"413\"} 2\n"),
            std::string::npos)
      << page.text();
}

TEST_F(HostileCallers, AHandlerThatThrowsEndsOnlyItsConnection) {
  serve();
  RawCaller caller(server->port());
  caller.send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(caller.read_to_end(), "");
  EXPECT_TRUE(comes_true([&] { return counts->exceptions == 1; }));
  EXPECT_EQ(good(), k_ok);
}

TEST_F(HostileCallers, RequestsMayComeInPiecesTogetherAndFromWhoSendsNothingMore) {
  serve();
  RawCaller slow(server->port());
  for (const char byte : k_good) EXPECT_TRUE(slow.send({&byte, 1}));
  EXPECT_NE(slow.read_answer().find(k_ok), std::string::npos);

  RawCaller many(server->port());
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += k_good;
  many.send(requests + "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answers = many.read_to_end();
  std::size_t count = 0;
  for (std::size_t at = answers.find(k_ok); at != std::string::npos; at = answers.find(k_ok, at + 1)) ++count;
  EXPECT_EQ(count, 51U);

  options.is_plain = true;
  serve();
  RawCaller half(server->port(), RawCaller::Kind::plain);
  half.send(k_good);
  half.end_sending();
  EXPECT_NE(half.read_to_end().find(k_ok), std::string::npos);
}

TEST_F(HostileCallers, CallersThatTakeTooLongAreDisconnected) {
  options.handshake_limit = options.request_limit = std::chrono::milliseconds(300);
  options.idle_limit = std::chrono::milliseconds(600);
  serve();
  RawCaller silent(server->port(), RawCaller::Kind::connected_only);
  EXPECT_TRUE(silent.is_ended());
  EXPECT_TRUE(comes_true([&] { return ended(End::handshake_time) == 1; }));

  // Each byte is in time, and the request is not.
  options.handshake_limit = std::chrono::seconds(60);
  serve();
  RawCaller dripping(server->port());
  ASSERT_TRUE(dripping.is_connected());
  dripping.send("GET /a HTTP/1.1\r\nX: ");
  while (!dripping.hears_within(std::chrono::milliseconds(20)) && dripping.send("a")) {
  }
  EXPECT_TRUE(dripping.is_ended());
  EXPECT_TRUE(comes_true([&] { return ended(End::request_time) + ended(End::idle_time) == 1; }));

  RawCaller idle(server->port());
  if (idle.status_of(k_good) == k_ok) {  // on a slow machine it may not come to that
    EXPECT_TRUE(idle.is_ended());
    EXPECT_TRUE(comes_true([&] { return ended(End::idle_time) + ended(End::request_time) == 2; }));
  }
}

TEST_F(HostileCallers, ACallerThatDoesNotReadTheAnswerIsDisconnected) {
  options.request_limit = std::chrono::seconds(2);
  options.is_plain = true;
  serve();
  RawCaller caller(server->port(), RawCaller::Kind::plain);
  caller.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return ended(End::answer_time) == 1; }));
}

TEST_F(HostileCallers, AtTheLimitTheOldestUnknownCallerIsDisconnectedAndKnownCallersStay) {
  options.connections_max = 8;
  serve();
  RawCaller known(server->port());
  const std::string request = "GET /a HTTP/1.1\r\nAuthorization: known\r\n\r\n";
  ASSERT_EQ(known.status_of(request), k_ok);
  std::deque<RawCaller> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.emplace_back(server->port(), RawCaller::Kind::connected_only);
    ASSERT_TRUE(strangers.back().is_connected()) << i;
    EXPECT_LE(counts->open, 8);
  }
  EXPECT_EQ(good(), k_ok);
  EXPECT_EQ(known.status_of(request), k_ok) << "a known caller keeps its connection";
  EXPECT_GE(ended(End::no_room), 93U);
  for (int i = 0; i < 90; ++i) EXPECT_TRUE(strangers[static_cast<std::size_t>(i)].is_ended()) << i;
  EXPECT_TRUE(strangers.back().shake_hands()) << "the newest is still there";
}

TEST_F(HostileCallers, WhenAllCallersAreKnownTheLongestIdleConnectionIsClosed) {
  options.connections_max = 3;
  serve();
  const std::string request = "GET /a HTTP/1.1\r\nAuthorization: known\r\n\r\n";
  std::deque<RawCaller> known;
  for (int i = 0; i < 3; ++i) {
    known.emplace_back(server->port());
    ASSERT_EQ(known.back().status_of(request), k_ok);
  }
  ASSERT_EQ(known[0].status_of(request), k_ok);
  EXPECT_EQ(good(), k_ok);
  EXPECT_TRUE(known[1].is_ended());
  EXPECT_EQ(known[2].status_of(request), k_ok);
}

TEST_F(HostileCallers, RequestsThatWaitForTheGateAreBounded) {
  options.may_wait = [](const HttpRequest& ask) { return ask.path == "/waits"; };
  const std::shared_future<void> gone = let_go.get_future().share();
  auto made = HttpsServer::make(options,
                                {{"/a",
                                  [](const HttpRequest&) {
                                    return HttpResponse{200, "a"};
                                  }}},
                                [&](const HttpRequest& ask) -> Admission {
                                  if (ask.path == "/waits") gone.wait();
                                  return {{}};
                                });
  ASSERT_TRUE(made.ok());
  server = std::move(*made);
  std::deque<RawCaller> callers;
  for (int i = 0; i < 64; ++i) {
    callers.emplace_back(server->port());
    callers.back().send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  // A caller that comes when all places are taken is told so.
  EXPECT_TRUE(comes_true([&] {
    RawCaller caller(server->port());
    caller.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    callers.emplace_back(server->port());
    callers.back().send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    return counts->refused[4] != 0;
  }));
  EXPECT_EQ(good(), k_ok);
  let_go.set_value();
  EXPECT_EQ(callers.front().read_until("\r\n").substr(0, 12), "HTTP/1.1 404");
}

/// Takes every file descriptor of this process but `left`, until it is gone.
class NoDescriptors {
 public:
  explicit NoDescriptors(std::size_t left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 256;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int taken = ::dup(0); taken >= 0; taken = ::dup(0)) taken_.push_back(taken);
    give_back(left);
  }
  ~NoDescriptors() {
    give_back(taken_.size());
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  void give_back(std::size_t count) {
    for (; count > 0 && !taken_.empty(); --count) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST_F(HostileCallers, WithoutFileDescriptorsCallersAreRefusedAndNothingSpins) {
  serve();
  const int first = ::dup(0);
  ::close(first);
  ASSERT_LT(first, 200) << "this process has too many descriptors already";
  NoDescriptors none(1);
  for (int i = 0; i < 3; ++i) {
    RawCaller caller(server->port(), RawCaller::Kind::connected_only);
    ASSERT_TRUE(caller.is_connected());
    EXPECT_TRUE(caller.is_ended()) << "rejected";
  }
  EXPECT_GE(counts->accept_failures, 3U);
  // No caller is left to reject: a server that spins would fail thousands of times a second.
  EXPECT_LE(counts->accept_failures, 10U);
  none.give_back(10);
  EXPECT_EQ(good(), k_ok);
}

TEST_F(HostileCallers, AThousandConnectionsAndGarbageLeaveItServing) {
  options.connections_burst = 2000;
  serve();
  std::deque<RawCaller> callers;
  for (int i = 0; i < 1000; ++i) {
    callers.emplace_back(server->port(), RawCaller::Kind::connected_only);
    if (callers.size() > 400) callers.pop_front();
    callers.back().send(i % 2 == 0 ? "GET /a HTTP/1.1\r\n\r\n" : "\x16\x03\x01\x02");
    EXPECT_LE(counts->open, 256);
  }
  EXPECT_EQ(good(), k_ok);
  EXPECT_EQ(counts->exceptions, 0U);
}

TEST_F(HostileCallers, TlsIsNotRenegotiated) {
  serve();
  RawCaller caller(server->port(), RawCaller::Kind::tls, TLS1_2_VERSION);
  ASSERT_EQ(caller.status_of(k_good), k_ok);
  SSL_renegotiate(caller.tls());
  EXPECT_NE(SSL_do_handshake(caller.tls()), 1);
  EXPECT_EQ(good(), k_ok);
}

/// Whether that many new keys can be sent.
bool renews_keys(const RawCaller& caller, int times) {
  for (int i = 0; i < times; ++i)
    if (SSL_key_update(caller.tls(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(caller.tls()) != 1)
      return false;
  return true;
}

TEST_F(HostileCallers, ACallerThatRenewsKeysWithoutEndIsDisconnected) {
  options.request_limit = options.idle_limit = std::chrono::minutes(10);
  serve();
  RawCaller caller(server->port());
  ASSERT_TRUE(caller.is_connected());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(renews_keys(caller, 32));
    EXPECT_EQ(caller.status_of(k_good), k_ok);
  }
  renews_keys(caller, 1000);
  EXPECT_EQ(caller.status_of(k_good), "");
  EXPECT_EQ(ended(End::other_records), 1U);
  EXPECT_EQ(good(), k_ok);
}

TEST_F(HostileCallers, ConnectionsBeyondTheRateOfAnAddressAreClosedBeforeTheHandshake) {
  options.connections_per_s = 1e-6;
  options.connections_burst = 3;
  serve();
  std::deque<RawCaller> callers;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(callers.emplace_back(server->port()).status_of(k_good), k_ok) << i;
  EXPECT_FALSE(RawCaller(server->port()).is_connected());
  EXPECT_EQ(ended(End::connection_rate), 1U);
  for (RawCaller& caller : callers) EXPECT_EQ(caller.status_of(k_good), k_ok);
}

}  // namespace
}  // namespace berth::serving
