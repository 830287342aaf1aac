// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"

#include <gtest/gtest.h>

#include <future>

#include "base/clock.hpp"
#include "cluster/kube/http_client.hpp"

namespace berth::serving {
namespace {

using namespace cluster::kube;

class HttpsServerTest : public testing::Test {
 protected:
  HttpsServerTest() {
    HttpsServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.keys = *make_self_signed({"127.0.0.1"}, clock.wall_ns());
    auto made = HttpsServer::make(options,
                                  {{"/a",
                                    [](const Ask&) {
                                      return Reply{200, "a"};
                                    }},
                                   {"/a/",
                                    [](const Ask& ask) {
                                      return Reply{200, "below " + ask.path.substr(3)};
                                    }},
                                   {"/throws", [](const Ask&) -> Reply { throw std::runtime_error("x"); }}},
                                  [](const Ask& ask) {
                                    return ask.path == "/closed" ? std::optional<Reply>({403, "no"}) : std::nullopt;
                                  });
    EXPECT_TRUE(made.ok()) << made.error().message;
    server = std::move(*made);
    ClientConfig config;
    config.server = *parse_url("https://127.0.0.1:" + std::to_string(server->port()), "https");
    config.tls.authority.data = options.keys.authority;
    client = std::make_unique<HttpClient>(
        threads, *Endpoint::make(config, clock, [](const char*) { return std::string(); }), HttpClientOptions{});
  }
  std::pair<int, std::string> get(const std::string& target) {
    auto promise = std::make_shared<std::promise<std::pair<int, std::string>>>();
    Request request;
    request.target = target;
    client->send(request, [promise](Result<Response> r) {
      promise->set_value(r.ok() ? std::pair(r->status, r->body) : std::pair(0, r.error().message));
    });
    return promise->get_future().get();
  }

  SystemClock clock;
  std::unique_ptr<HttpsServer> server;
  IoThreads threads{1};
  std::unique_ptr<HttpClient> client;
};

TEST_F(HttpsServerTest, TheLongestRouteAnswersOverTlsThatAClientCanVerify) {
  EXPECT_EQ(get("/a"), std::pair(200, std::string("a")));
  EXPECT_EQ(get("/a/b%20c?x=1"), std::pair(200, std::string("below b c")));
  EXPECT_EQ(get("/nothing").first, 404);
}

TEST_F(HttpsServerTest, TheGateComesFirstAndAHandlerThatThrowsIsAnError) {
  EXPECT_EQ(get("/closed"), std::pair(403, std::string("no")));
  EXPECT_EQ(get("/throws").first, 500);
}

TEST_F(HttpsServerTest, APortThatIsTakenIsSaid) {
  HttpsServerOptions options;
  options.address = "127.0.0.1";
  options.port = server->port();
  options.keys = *make_self_signed({}, clock.wall_ns());
  const auto second = HttpsServer::make(options, {}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("cannot serve on 127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace berth::serving
