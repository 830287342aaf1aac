// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"

#include <gtest/gtest.h>

#include <future>

#include "base/clock.hpp"
#include "cluster/kube/http_client.hpp"
#include "serving/peer_identity.hpp"
#include "support/test_authority.hpp"

namespace berth::serving {
namespace {

using namespace cluster::kube;

const tests::TestAuthority& authority() {
  static const tests::TestAuthority made("clients");
  return made;
}

std::string peer_name(const std::string& chain) {
  const Result<PeerIdentity> peer = verify_peer(chain, authority().certificate());
  if (!peer.ok()) return peer.error().message;
  return peer->common_name + " of " + (peer->organizations.empty() ? "" : peer->organizations.front());
}

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
                                   {"/who",
                                    [](const Ask& ask) {
                                      return Reply{200, ask.peer_chain.empty() ? "nobody" : peer_name(ask.peer_chain)};
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

TEST_F(HttpsServerTest, HandlersSeeTheCertificateThatACallerShows) {
  EXPECT_EQ(get("/who").second, "nobody");
  ClientConfig config;
  config.server = *parse_url("https://127.0.0.1:" + std::to_string(server->port()), "https");
  config.tls.insecure = true;
  // Nobody here knows that authority: it is let in all the same, for the gate to judge.
  const tests::SignedPair pair = authority().sign("someone", {"team"});
  config.tls.certificate.data = pair.certificate;
  config.tls.key.data = pair.key;
  client = std::make_unique<HttpClient>(
      threads, *Endpoint::make(config, clock, [](const char*) { return std::string(); }), HttpClientOptions{});
  EXPECT_EQ(get("/who").second, "someone of team");
}

TEST_F(HttpsServerTest, WhatTlsCannotBeIsSaidBeforeItListens) {
  struct Case {
    std::string min_version;
    std::vector<std::string> suites;
    std::vector<int> curves;
    std::string error;
  };
  for (const Case& c : {Case{"VersionTLS9", {}, {}, "\"VersionTLS9\" is no TLS version"},
                        Case{"", {"TLS_NONSENSE"}, {}, "\"TLS_NONSENSE\" is no cipher suite"},
                        Case{"", {}, {23, 4588}, "curve 4588 is not known here"}}) {
    HttpsServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.keys = *make_self_signed({}, clock.wall_ns());
    options.min_version = c.min_version;
    options.cipher_suites = c.suites;
    options.curves = c.curves;
    const auto made = HttpsServer::make(options, {}, {});
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.error().message.find(c.error), std::string::npos) << made.error().message;
  }
  HttpsServerOptions good;
  good.address = "127.0.0.1";
  good.port = 0;
  good.keys = *make_self_signed({}, clock.wall_ns());
  good.min_version = "VersionTLS12";
  good.cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"};
  good.curves = {29, 23};
  EXPECT_TRUE(HttpsServer::make(good, {}, {}).ok());
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
