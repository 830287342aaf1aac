// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "cluster/kube/read/api_status.hpp"
#include "net/asio.hpp"
#include "net/gzip.hpp"
#include "support/servers/scripted_extender.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

net::HttpClientOptions unlimited() {
  net::HttpClientOptions options;
  options.qps = -1;
  return options;
}

/// A server that is silent until it is let go, and a client that asks it one thing at a time.
struct OneAtATime {
  explicit OneAtATime(std::chrono::milliseconds patience = std::chrono::hours(1))
      : server([this](const ScriptedExtender::Question&) {
          is_open.wait();
          return ScriptedExtender::Answer();
        }) {
    net::HttpClientOptions options = unlimited();
    options.connections_max = 1;
    options.patience = patience;
    client.emplace(threads, plain_endpoint(server.port(), clock), options);
    send("first", false);
    EXPECT_TRUE(server.await_questions(1));
    // The client's other worker takes this one or a more urgent one, and waits for the connection.
    send("second", false);
  }
  std::uint64_t send(const std::string& name, bool urgent) {
    net::Request request;
    request.target = "/" + name;
    request.urgent = urgent;
    return client->send(std::move(request),
                        [this](const Result<net::Response>&) { signal.change([this] { ++answered; }); });
  }
  /// The names in the order in which they came to the server, but for the first two.
  std::vector<std::string> rest(int count) {
    gate.set_value();
    EXPECT_TRUE(signal.wait([&] { return answered == count; }));
    std::vector<std::string> out;
    for (const auto& question : server.questions())
      if (question.verb != "first" && question.verb != "second") out.push_back(question.verb);
    return out;
  }

  std::promise<void> gate;
  std::shared_future<void> is_open = gate.get_future().share();
  SystemClock clock;
  ScriptedExtender server;
  net::IoThreads threads{2};
  Signal signal;
  int answered = 0;
  std::optional<net::HttpClient> client;
};

class HttpClientTest : public testing::Test {
 protected:
  SystemClock clock;
  ApiServer server;
  net::IoThreads threads{2};
  net::HttpClient client{threads, endpoint_of(server, clock), unlimited()};

  static net::Request get(const std::string& target) {
    net::Request request;
    request.target = target;
    return request;
  }
};

TEST_F(HttpClientTest, GetsOverTlsWithTheTokenOfTheKubeconfig) {
  const auto answer = ask(client, get("/version"));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_NE(answer->body.find("v1.36"), std::string::npos);
}

TEST_F(HttpClientTest, KeepsItsConnectionAndReplacesItWhenTheServerHasClosedIt) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask(client, get("/version")).ok());
  server.restart();
  const auto answer = ask(client, get("/version"));
  EXPECT_TRUE(answer.ok()) << answer.error().message;
}

TEST_F(HttpClientTest, ManyRequestsAtOnceAllHaveTheirAnswer) {
  constexpr int k_count = 500;
  Signal signal;
  int good = 0, all = 0;
  for (int i = 0; i < k_count; ++i)
    client.send(get("/version"), [&](Result<net::Response> r) {
      signal.change([&] {
        ++all;
        good += r.ok() && r->status == 200;
      });
    });
  EXPECT_TRUE(signal.wait([&] { return all == k_count; }));
  EXPECT_EQ(good, k_count);
}

TEST_F(HttpClientTest, TriesAgainWhenTheServerSaysRetryAfter) {
  Faults faults;
  faults.too_many = 0.5;
  server.inject(faults);
  for (int i = 0; i < 10; ++i) {
    const auto answer = ask(client, get("/version"));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 200);
  }
}

TEST_F(HttpClientTest, TellsOfEveryCallAndItsTries) {
  Signal signal;
  std::vector<net::CallReport> reports;
  net::HttpClientOptions options;
  options.on_call = [&](const net::CallReport& report) { signal.change([&] { reports.push_back(report); }); };
  net::Request post = get("/api/v1/namespaces");
  post.method = net::Method::post;
  post.body = "{}";
  post.retry = {3, std::chrono::milliseconds(1), 1};
  {
    net::HttpClient counted(threads, endpoint_of(server, clock), options);
    ASSERT_TRUE(ask(counted, get("/version")).ok());
    Faults faults;
    faults.internal_error = 1;
    server.inject(faults);
    ASSERT_TRUE(ask(counted, post).ok());
  }
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].status, 200);
  EXPECT_EQ(reports[0].retried, std::vector<int>());
  EXPECT_GT(reports[0].response_bytes, 0U);
  EXPECT_EQ(reports[0].host, "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_GT(reports[0].took.count(), 0);
  EXPECT_EQ(reports[1].method, net::Method::post);
  EXPECT_EQ(reports[1].status, 500);
  EXPECT_EQ(reports[1].retried, (std::vector<int>{500, 500, 500}));
  EXPECT_EQ(reports[1].request_bytes, 2U);
}

TEST_F(HttpClientTest, ARefusalIsItsReasonAndItsWords) {
  const auto body = cluster::kube::body_of(ask(client, get("/api/v1/namespaces/default/pods/absent")));
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().code, ErrorCode::not_found);
  EXPECT_EQ(body.error().message, "pods \"absent\" not found");
}

TEST_F(HttpClientTest, AnAnswerThatIsTooSlowIsGivenUp) {
  Faults faults;
  faults.slow = 1;
  faults.slow_max = std::chrono::milliseconds(60'000);
  server.inject(faults);
  net::Request request = get("/version");
  request.method = net::Method::post;  // not repeated
  request.timeout = std::chrono::milliseconds(50);
  const auto answer = ask(client, request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::connection_broken);
}

TEST(HttpClientOrder, UrgentRequestsGoBeforeThoseThatWait) {
  OneAtATime scene;
  scene.send("c", false);
  scene.send("d", false);
  scene.send("urgent", true);
  const auto seen = scene.rest(5);
  EXPECT_EQ(seen, (std::vector<std::string>{"urgent", "c", "d"}));
}

TEST(HttpClientOrder, OneInTenIsNotUrgentWhenThatHasWaitedForLong) {
  OneAtATime scene(std::chrono::milliseconds(0));
  scene.send("patient", false);
  for (int i = 0; i < 30; ++i) scene.send("urgent", true);
  const auto seen = scene.rest(33);
  ASSERT_EQ(seen.size(), 31U);
  const auto turn = std::find(seen.begin(), seen.end(), "patient") - seen.begin();
  // Of the first two requests the second may be among the patient ones.
  EXPECT_GE(turn, 8);
  EXPECT_LE(turn, 20);
}

TEST(HttpClientOrder, ARequestThatWaitsCanBeMadeUrgent) {
  OneAtATime scene;
  scene.send("c", false);
  const std::uint64_t late = scene.send("d", false);
  scene.client->raise_priority(late);
  scene.client->raise_priority(late + 7);  // is not there
  EXPECT_EQ(scene.rest(4), (std::vector<std::string>{"d", "c"}));
}

TEST(HttpClientOrder, WhetherARequestMayGoIsAskedWhenItsConnectionIsThere) {
  OneAtATime scene;
  std::atomic<int> asked{0};
  std::atomic<bool> may_go{true};
  net::Request request;
  request.method = net::Method::post;
  request.target = "/judged";
  request.retry = {5, std::chrono::milliseconds(1)};
  request.may_go = [&](bool) {
    ++asked;
    return may_go ? Status(Unit{}) : Status(Error{"it is too late", ErrorCode::withheld});
  };
  std::string told;
  scene.client->send(request, [&](const Result<net::Response>& response) {
    scene.signal.change([&] {
      told = response.ok() ? "sent" : std::string(error_name(response.error().code));
      ++scene.answered;
    });
  });
  EXPECT_EQ(asked, 0) << "it waits for the connection";
  may_go = false;
  EXPECT_EQ(scene.rest(3), std::vector<std::string>());
  EXPECT_EQ(told, "withheld");
  EXPECT_EQ(asked, 1) << "it is not tried again";
  may_go = true;
  scene.client->send(request, [&](const Result<net::Response>& response) {
    scene.signal.change([&] { told = response.ok() ? "sent" : std::string(error_name(response.error().code)); });
  });
  EXPECT_TRUE(scene.signal.wait([&] { return told == "sent"; })) << "the connection is still good";
}

TEST(HttpClientOrder, NothingIsSentAfterStop) {
  OneAtATime scene;
  scene.send("c", true);
  const std::weak_ptr<net::HttpClient::State> state = scene.client->state();
  scene.client.reset();
  EXPECT_EQ(scene.answered, 3);
  scene.gate.set_value();
  const auto end = std::chrono::steady_clock::now() + k_patience;
  while (!state.expired() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(state.expired()) << "its workers have come to their ends";
  EXPECT_EQ(scene.server.questions().size(), 1U);
}

TEST(HttpClientTries, WhatMayHaveBeenDoneIsNotCalledUnreachable) {
  ScriptedExtender* to_close = nullptr;
  ScriptedExtender server([&](const ScriptedExtender::Question&) {
    to_close->refuse_connections();
    return ScriptedExtender::Answer{.way = ScriptedExtender::Answer::Way::hang_up};
  });
  to_close = &server;
  SystemClock clock;
  net::IoThreads threads{1};
  net::HttpClient client(threads, plain_endpoint(server.port(), clock), unlimited());
  net::Request post;
  post.method = net::Method::post;
  post.target = "/once";
  const auto never_sent = [&] {
    net::Request later = post;
    later.target = "/later";
    return ask(client, later);
  };
  post.retry = {2, std::chrono::milliseconds(1), 1};
  const auto answer = ask(client, post);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::connection_broken) << answer.error().message;
  const auto later = never_sent();
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code, ErrorCode::unreachable) << later.error().message;
}

TEST(HttpClientTries, ATryThatWouldEndAfterTheTimeOfAllIsNotWaitedFor) {
  ScriptedExtender server([](const ScriptedExtender::Question&) {
    return ScriptedExtender::Answer{"{}", 429, ScriptedExtender::Answer::Way::plain, "Retry-After: 3600\r\n"};
  });
  SystemClock clock;
  net::IoThreads threads{1};
  net::HttpClient client(threads, plain_endpoint(server.port(), clock), unlimited());
  net::Request request;
  request.target = "/";
  request.timeout = std::chrono::minutes(10);
  request.timeout_of_all = true;
  const auto answer = ask(client, request);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 429);
}

TEST_F(HttpClientTest, StopAnswersWhatIsUnderWayAndWhatComesAfter) {
  Faults faults;
  faults.slow = 1;
  faults.slow_max = std::chrono::milliseconds(60'000);
  server.inject(faults);
  std::vector<ErrorCode> codes;
  client.send(get("/version"), [&](Result<net::Response> r) { codes.push_back(r.error().code); });
  client.stop();
  client.send(get("/version"), [&](Result<net::Response> r) { codes.push_back(r.error().code); });
  EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::stopped, ErrorCode::stopped}));
}

// Answers that a server should not give.

/// A server that answers with these bytes, and after the first answer with a good one; and its client.
struct OddServer {
  explicit OddServer(std::string bytes, net::HttpClientOptions options = unlimited())
      : server([this, bytes = std::move(bytes)](const ScriptedExtender::Question&) {
          ScriptedExtender::Answer answer;
          if (is_first.exchange(false)) {
            answer.body = bytes;
            answer.way = ScriptedExtender::Answer::Way::raw;
          }
          return answer;
        }),
        client(threads, plain_endpoint(server.port(), clock), options) {}
  Result<net::Response> ask_once() {
    net::Request request;
    request.method = net::Method::post;  // no retries
    request.target = "/";
    return ask(client, request);
  }
  std::atomic<bool> is_first{true};
  ManualClock clock;
  ScriptedExtender server;
  net::IoThreads threads{1};
  net::HttpClient client;
};

TEST(HttpClientBounds, ATrailerThatTheParserThrowsAtIsAFailureOfItsRequest) {
  OddServer odd("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(70'000, 'a') +
                "\r\n\r\n");
  const auto answer = odd.ask_once();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::connection_broken);
  EXPECT_NE(answer.error().message.find("around its chunks"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(odd.ask_once().ok()) << "C-trailer: the client goes on";
}

TEST(HttpClientBounds, ABombInAnUnrequestedEncodingIsNotUnpacked) {
  const std::string packed = net::gzip(std::string(64 << 20, '\0'));
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n\r\n" +
      packed;
  OddServer not_asked(bytes);
  EXPECT_NE(not_asked.ask_once().error().message.find("Content-Encoding is \"gzip\", which was not asked for"),
            std::string::npos);
  net::HttpClientOptions options = unlimited();
  options.accept_gzip = true;
  OddServer asked(bytes, options);
  EXPECT_NE(asked.ask_once().error().message.find("more than the 4194304 bytes"), std::string::npos);
  EXPECT_TRUE(asked.ask_once().ok());
}

TEST(HttpClientBounds, AnAnswerHasTheLimitOfItsRequest) {
  const auto with_body = [](std::size_t bytes) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, ' ');
  };
  EXPECT_TRUE(OddServer(with_body(4 << 20)).ask_once().ok());
  EXPECT_FALSE(OddServer(with_body((4 << 20) + 1)).ask_once().ok());
}

TEST(HttpClientBounds, MessagesOfAServerAreCut) {
  const std::string status = R"({"kind":"Status","message":")" + std::string(100'000, 'm') + R"(","reason":")" +
                             std::string(100'000, 'r') + R"("})";
  const Error error = api_error(403, status);
  EXPECT_LE(error.message.size(), 1024U);
  EXPECT_EQ(error.code, ErrorCode::other);
  EXPECT_LE(api_error(500, std::string(100'000, 'x')).message.size(), 1024U);
}

TEST(HttpClientBounds, AnIdleConnectionIsNotTrustedForEver) {
  OddServer server("");
  server.is_first = false;
  ASSERT_TRUE(server.ask_once().ok());
  server.clock.advance(std::chrono::seconds(89));
  ASSERT_TRUE(server.ask_once().ok());
  EXPECT_EQ(server.server.connections(), 1U);
  server.clock.advance(std::chrono::seconds(90));
  ASSERT_TRUE(server.ask_once().ok());
  EXPECT_EQ(server.server.connections(), 2U);
}

TEST(HttpClientBounds, WhenOneRequestRunsOutOfTimeTheOtherConnectionsAreNotTrustedEither) {
  SystemClock clock;
  ScriptedExtender server([](const ScriptedExtender::Question& question) {
    ScriptedExtender::Answer answer;
    if (question.verb == "silent") answer.way = ScriptedExtender::Answer::Way::silent;
    return answer;
  });
  net::IoThreads threads(1);
  net::HttpClient client(threads, plain_endpoint(server.port(), clock), unlimited());
  const auto post = [](const std::string& verb) {
    net::Request request;
    request.method = net::Method::post;
    request.target = "/" + verb;
    return request;
  };
  // Two at a time make two connections; which of them is idle when the other is silent does not matter.
  Signal signal;
  int answered = 0;
  net::Request silent = post("silent");
  silent.timeout = std::chrono::milliseconds(200);
  client.send(silent, [&](const Result<net::Response>&) { signal.change([&] { ++answered; }); });
  ASSERT_TRUE(server.await_questions(1));
  ASSERT_TRUE(ask(client, post("good")).ok());
  ASSERT_EQ(server.connections(), 2U);
  ASSERT_TRUE(signal.wait([&] { return answered == 1; }));
  ASSERT_TRUE(ask(client, post("good")).ok());
  EXPECT_EQ(server.connections(), 3U);
}

TEST(HttpClientBounds, AnExceptionInAHandlerEndsNothing) {
  const std::uint64_t before = net::IoThreads::exceptions();
  OddServer server("");
  server.is_first = false;
  Signal signal;
  bool was_called = false;
  net::Request request;
  request.method = net::Method::post;
  request.target = "/";
  server.client.send(request, [&](const Result<net::Response>&) {
    signal.change([&] { was_called = true; });
    throw std::runtime_error("a defect of ours");
  });
  ASSERT_TRUE(signal.wait([&] { return was_called; }));
  boost::asio::post(server.threads.context().io, [] { throw std::length_error("another"); });
  boost::asio::post(server.threads.context().io, [] { throw 7; });
  EXPECT_TRUE(server.ask_once().ok());
  server.client.stop();
  server.threads.stop();
  EXPECT_EQ(net::IoThreads::exceptions(), before + 3);
}

TEST(HttpClientTls, ATokenThatIsNoHeaderIsNotSent) {
  SystemClock clock;
  ApiServer server;
  const std::string path = testing::TempDir() + "berth_evil_token_" + std::to_string(::getpid());
  std::ofstream(path) << "test-token\r\nImpersonate-User: system:admin\n";
  for (const std::string& token : {std::string("test-token\r\nX: y"), std::string("a\0b", 3), std::string("a\x7f"),
                                   std::string("a\nb"), std::string()}) {
    text::Diagnostics problems;
    auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
    ASSERT_TRUE(config);
    config->auth.token = token;
    if (token.empty()) config->auth.token_file = path;
    const std::string source = token.empty() ? "the token file " + path : "the token of the kubeconfig";
    auto endpoint = cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
    ASSERT_TRUE(endpoint.ok());
    net::IoThreads threads(1);
    net::HttpClient client(threads, *endpoint, unlimited());
    net::Request request;
    request.method = net::Method::post;
    request.target = "/api/v1/namespaces";
    const auto answer = ask(client, request);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::unreachable);
    EXPECT_NE(answer.error().message.find("Authorization cannot be sent: " + source + " has the control character"),
              std::string::npos)
        << answer.error().message;
    EXPECT_EQ(answer.error().message.find("test-token"), std::string::npos) << "a secret";
  }
  EXPECT_TRUE(server.writes().empty());
  std::remove(path.c_str());
}

TEST(HttpClientTls, AnImpersonatedUserOrATargetWithLineBreaksIsNotSent) {
  SystemClock clock;
  ApiServer server;
  text::Diagnostics problems;
  auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  ASSERT_TRUE(config);
  config->impersonation.user = "someone\r\nX: y";
  auto endpoint = cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
  net::IoThreads threads(1);
  net::HttpClient client(threads, *endpoint, unlimited());
  net::Request request;
  request.method = net::Method::post;
  request.target = "/api";
  EXPECT_NE(ask(client, request).error().message.find("Impersonate-User cannot be sent"), std::string::npos);
  net::HttpClient plain(threads, endpoint_of(server, clock), unlimited());
  request.target = "/api HTTP/1.1\r\nX: y\r\n";
  EXPECT_NE(ask(plain, request).error().message.find("a space or a control character"), std::string::npos);
}

TEST(HttpClientTls, AServerOfAnotherAuthorityIsNotTrusted) {
  SystemClock clock;
  ApiServer server, other;
  text::Diagnostics problems;
  auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  ASSERT_TRUE(config);
  config->tls.authority.data = other.authority();
  auto endpoint = cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
  ASSERT_TRUE(endpoint.ok());
  net::IoThreads threads(1);
  net::HttpClient client(threads, *endpoint, unlimited());
  const auto answer = ask(client, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("certificate is not valid"), std::string::npos) << answer.error().message;
}

TEST(HttpClientTls, AWrongTokenIsUnauthorized) {
  SystemClock clock;
  ApiServer server;
  text::Diagnostics problems;
  auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  ASSERT_TRUE(config);
  config->auth.token = "another";
  auto endpoint = cluster::kube::make_endpoint(*config, clock, [](const char*) { return std::string(); });
  net::IoThreads threads(1);
  net::HttpClient client(threads, *endpoint, unlimited());
  net::Request request;
  request.target = "/version";
  EXPECT_EQ(cluster::kube::body_of(ask(client, request)).error().code, ErrorCode::unauthorized);
}

}  // namespace
}  // namespace berth::tests
