// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/http_client.hpp"

#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

HttpClientOptions unlimited() {
  HttpClientOptions options;
  options.qps = -1;
  return options;
}

class HttpClientTest : public testing::Test {
 protected:
  SystemClock clock;
  ApiServer server;
  IoThreads threads{2};
  HttpClient client{threads, endpoint_of(server, clock), unlimited()};

  static Request get(const std::string& target) {
    Request request;
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
    client.send(get("/version"), [&](Result<Response> r) {
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
  std::vector<CallReport> reports;
  HttpClientOptions options;
  options.on_call = [&](const CallReport& report) { signal.change([&] { reports.push_back(report); }); };
  Request post = get("/api/v1/namespaces");
  post.method = Method::post;
  post.body = "{}";
  post.retry = {3, std::chrono::milliseconds(1), 1};
  {
    HttpClient counted(threads, endpoint_of(server, clock), options);
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
  EXPECT_EQ(reports[1].method, Method::post);
  EXPECT_EQ(reports[1].status, 500);
  EXPECT_EQ(reports[1].retried, (std::vector<int>{500, 500, 500}));
  EXPECT_EQ(reports[1].request_bytes, 2U);
}

TEST_F(HttpClientTest, ARefusalIsItsReasonAndItsWords) {
  const auto body = body_of(ask(client, get("/api/v1/namespaces/default/pods/absent")));
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().code, "NotFound");
  EXPECT_EQ(body.error().message, "pods \"absent\" not found");
}

TEST_F(HttpClientTest, AnAnswerThatIsTooSlowIsGivenUp) {
  Faults faults;
  faults.slow = 1;
  faults.slow_max = std::chrono::milliseconds(60'000);
  server.inject(faults);
  Request request = get("/version");
  request.method = Method::post;  // not repeated
  request.timeout = std::chrono::milliseconds(50);
  const auto answer = ask(client, request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, "ConnectionBroken");
}

TEST_F(HttpClientTest, StopAnswersWhatIsUnderWayAndWhatComesAfter) {
  Faults faults;
  faults.slow = 1;
  faults.slow_max = std::chrono::milliseconds(60'000);
  server.inject(faults);
  std::vector<std::string> codes;
  client.send(get("/version"), [&](Result<Response> r) { codes.push_back(r.error().code); });
  client.stop();
  client.send(get("/version"), [&](Result<Response> r) { codes.push_back(r.error().code); });
  EXPECT_EQ(codes, (std::vector<std::string>{"Stopped", "Stopped"}));
}

TEST(HttpClientTls, AServerOfAnotherAuthorityIsNotTrusted) {
  SystemClock clock;
  ApiServer server, other;
  text::Problems problems;
  auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  ASSERT_TRUE(config);
  config->tls.authority.data = other.authority();
  auto endpoint = Endpoint::make(*config, clock, [](const char*) { return std::string(); });
  ASSERT_TRUE(endpoint.ok());
  IoThreads threads(1);
  HttpClient client(threads, *endpoint, unlimited());
  const auto answer = ask(client, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("certificate is not valid"), std::string::npos) << answer.error().message;
}

TEST(HttpClientTls, AWrongTokenIsUnauthorized) {
  SystemClock clock;
  ApiServer server;
  text::Problems problems;
  auto config = read_kubeconfig(server.kubeconfig(), "kubeconfig", {}, problems);
  ASSERT_TRUE(config);
  config->auth.token = "another";
  auto endpoint = Endpoint::make(*config, clock, [](const char*) { return std::string(); });
  IoThreads threads(1);
  HttpClient client(threads, *endpoint, unlimited());
  Request request;
  request.target = "/version";
  EXPECT_EQ(body_of(ask(client, request)).error().code, "Unauthorized");
}

}  // namespace
}  // namespace berth::tests
