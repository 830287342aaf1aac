// SPDX-License-Identifier: Apache-2.0
#include "serving/https_server.hpp"
#include "cluster/kube/auth/credentials.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "net/asio.hpp"
#include "net/http_client.hpp"
#include "serving/peer_identity.hpp"
#include "support/test_authority.hpp"
#include "unit/serving/raw_caller.hpp"

namespace berth::serving {
namespace {

using namespace cluster::kube;
namespace asio = boost::asio;

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
    auto made = HttpsServer::make(
        options,
        {{"/a",
          [](const HttpRequest&) {
            return HttpResponse{200, "a"};
          }},
         {"/a/",
          [](const HttpRequest& ask) {
            return HttpResponse{200, "below " + ask.path.substr(3)};
          }},
         {"/who",
          [](const HttpRequest& ask) {
            return HttpResponse{200, ask.peer_chain.empty() ? "no certificate" : peer_name(ask.peer_chain)};
          }},
         {"/count",
          [](const HttpRequest& ask) {
            std::size_t count = 0;
            for (std::size_t at = 0; (at = ask.peer_chain.find("BEGIN", at)) != std::string::npos; ++at) ++count;
            return HttpResponse{200, std::to_string(count)};
          }},
         {"/unknown",
          [](const HttpRequest&) {
            return HttpResponse{401, "who"};
          }},
         {"/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("x"); }}},
        [](const HttpRequest& ask) {
          return ask.path == "/closed" ? std::optional<HttpResponse>({403, "no"}) : std::nullopt;
        });
    EXPECT_TRUE(made.ok()) << made.error().message;
    server = std::move(*made);
    ClientConfig config;
    config.server = *net::parse_url("https://127.0.0.1:" + std::to_string(server->port()), "https");
    config.tls.authority.data = options.keys.authority;
    client = std::make_unique<net::HttpClient>(
        threads, *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }),
        net::HttpClientOptions{});
  }
  /// The client connects again, with certificates in PEM.
  void present(std::string certificates, std::string key) {
    ClientConfig config;
    config.server = *net::parse_url("https://127.0.0.1:" + std::to_string(server->port()), "https");
    config.tls.insecure = true;
    config.tls.certificate.data = std::move(certificates);
    config.tls.key.data = std::move(key);
    client = std::make_unique<net::HttpClient>(
        threads, *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }),
        net::HttpClientOptions{});
  }
  std::pair<int, std::string> get(const std::string& target) {
    auto promise = std::make_shared<std::promise<std::pair<int, std::string>>>();
    net::Request request;
    request.target = target;
    client->send(request, [promise](Result<net::Response> r) {
      promise->set_value(r.ok() ? std::pair(r->status, r->body) : std::pair(0, r.error().message));
    });
    return promise->get_future().get();
  }

  SystemClock clock;
  std::unique_ptr<HttpsServer> server;
  net::IoThreads threads{1};
  std::unique_ptr<net::HttpClient> client;
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
  EXPECT_EQ(get("/who").second, "no certificate");
  // That authority is unknown here: it is let in all the same, for the gate to judge.
  const tests::SignedPair pair = authority().sign("someone", {"team"});
  present(pair.certificate, pair.key);
  EXPECT_EQ(get("/who").second, "someone of team");
}

TEST_F(HttpsServerTest, OfALongChainTheFirstCertificatesAreTaken) {
  const tests::SignedPair pair = authority().sign("someone", {"team"});
  std::string chain;
  for (int i = 0; i < 31; ++i) chain += pair.certificate;
  present(chain, pair.key);
  EXPECT_EQ(get("/count").second, "17");
}

// Each request of theirs would be judged again, at the cost of a chain.
TEST_F(HttpsServerTest, CertificatesOfStrangersHaveOneRequestForEachHandshake) {
  const std::string ask = "GET /unknown HTTP/1.1\r\nHost: x\r\n\r\n";
  tests::RawCaller without(server->port());
  ASSERT_TRUE(without.send(ask + ask));
  EXPECT_TRUE(without.read_answer().starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(without.read_answer().starts_with("HTTP/1.1 401"));
  tests::RawCaller with(server->port(), tests::RawCaller::Kind::connected_only);
  const tests::SignedPair pair = authority().sign("someone", {"team"});
  ASSERT_TRUE(with.shake_hands(0, pair.certificate, pair.key));
  ASSERT_TRUE(with.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n" + ask + ask));
  EXPECT_TRUE(with.read_answer().starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(with.read_answer().starts_with("HTTP/1.1 401"));
  EXPECT_EQ(with.read_answer(), "");
}

TEST_F(HttpsServerTest, UnknownTlsVersionsSuitesAndCurvesAreReportedAtTheStart) {
  struct Case {
    std::string min_version;
    std::vector<std::string> suites;
    std::vector<int> curves;
    std::string error;
  };
  for (const Case& c : {Case{"VersionTLS9", {}, {}, "\"VersionTLS9\" is no TLS version"},
                        Case{"", {"TLS_NONSENSE"}, {}, "\"TLS_NONSENSE\" is no cipher suite"},
                        Case{"", {}, {23, 99}, "curve 99 is not known here"}}) {
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
  good.curves = {29, 4588, 23};  // not every OpenSSL has the second
  EXPECT_TRUE(HttpsServer::make(good, {}, {}).ok());
}

/// What a caller sees of a handshake: the name and the key of the certificate, and the protocol that was agreed on.
struct Handshake {
  std::string name, protocol;
  int key_kind = 0, key_bits = 0;
};
Handshake shake_hands(std::uint16_t port, const char* server_name, std::string_view protocols) {
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
  SSL* const tls = stream.native_handle();
  if (server_name != nullptr) SSL_set_tlsext_host_name(tls, server_name);
  SSL_set_alpn_protos(tls, reinterpret_cast<const unsigned char*>(protocols.data()),
                      static_cast<unsigned int>(protocols.size()));
  stream.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), port});
  stream.handshake(asio::ssl::stream_base::client);
  Handshake out;
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls, &chosen, &size);
  out.protocol.assign(reinterpret_cast<const char*>(chosen), size);
  X509* const certificate = SSL_get0_peer_certificate(tls);
  std::array<char, 128> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(), name.size());
  out.name = name.data();
  out.key_kind = EVP_PKEY_get_base_id(X509_get0_pubkey(certificate));
  out.key_bits = EVP_PKEY_get_bits(X509_get0_pubkey(certificate));
  return out;
}

/// The status line of the answer to a GET with a header field of that size; empty: there was none.
std::string status_of_long_request(std::uint16_t port, std::size_t field_bytes) {
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
  stream.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), port});
  stream.handshake(asio::ssl::stream_base::client);
  boost::system::error_code error;
  const std::string request = "GET /a HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(field_bytes, 'x') + "\r\n\r\n";
  asio::write(stream, asio::buffer(request), error);
  std::array<char, 1024> piece{};
  const std::string answer(piece.data(), stream.read_some(asio::buffer(piece), error));
  return answer.substr(0, answer.find("\r\n"));
}

TEST_F(HttpsServerTest, ARequestWithALongHeaderEndsItsConnectionAlone) {
  EXPECT_EQ(status_of_long_request(server->port(), 60'000), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_of_long_request(server->port(), 70'000), "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(get("/a"), std::pair(200, std::string("a")));
}

TEST_F(HttpsServerTest, ItsOwnCertificateIsLikeUpstreamsAndHttp11IsAgreedOn) {
  const Handshake seen = shake_hands(server->port(), nullptr, "\x02h2\x08http/1.1");
  EXPECT_EQ(seen.protocol, "http/1.1");
  EXPECT_EQ(seen.name.substr(0, 10), "localhost@");
  EXPECT_EQ(seen.key_kind, EVP_PKEY_RSA);
  EXPECT_EQ(seen.key_bits, 2048);
  EXPECT_THROW(shake_hands(server->port(), nullptr, "\x02h2"), std::exception);
}

TEST_F(HttpsServerTest, CallersChooseAmongCertificatesByTheNameTheyAskFor) {
  const auto keys = [](const std::string& name) {
    const tests::SignedPair pair = authority().sign(name, {}, "serverAuth");
    return KeyPair{pair.certificate, pair.key, {}};
  };
  HttpsServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  options.keys = keys("any");
  options.named_keys = {{{"*.example"}, keys("wild")},
                        {{"A.example", "b"}, keys("exact")},
                        {{}, keys("own.name")},
                        {{"b"}, keys("second")}};
  const auto made = HttpsServer::make(options, {}, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto name_for = [&](const char* asked) { return shake_hands((*made)->port(), asked, "\x08http/1.1").name; };
  EXPECT_EQ(name_for("a.example"), "exact");
  EXPECT_EQ(name_for("B.EXAMPLE"), "wild");
  EXPECT_EQ(name_for("a.b.example"), "any") << "a wildcard is one label";
  EXPECT_EQ(name_for("example"), "any");
  EXPECT_EQ(name_for("own.name"), "own.name") << "the certificate's own name";
  EXPECT_EQ(name_for("b"), "exact") << "the first of two";
  EXPECT_EQ(name_for(nullptr), "any");
}

TEST_F(HttpsServerTest, CallersWhoHaveToWaitDoNotHoldUpTheOthers) {
  constexpr int k_waiting = 12;  // more than there are threads of either kind
  std::promise<void> answered;
  const std::shared_future<void> answer = answered.get_future().share();
  std::atomic<int> begun = 0, told = 0;
  HttpsServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  options.keys = *make_self_signed({"127.0.0.1"}, clock.wall_ns());
  options.may_wait = [](const HttpRequest& ask) { return ask.path == "/asked"; };
  options.on_answer = [&](const HttpRequest&, const HttpResponse&, std::chrono::nanoseconds) { ++told; };
  const auto ok = [](const HttpRequest& ask) {
    return HttpResponse{200, ask.path, "text/plain", {{"Warning", "299 - \"x\""}}};
  };
  auto made = HttpsServer::make(options, {{"/asked", ok}, {"/livez", ok}}, [&](const HttpRequest& ask) {
    if (ask.path == "/asked") {
      ++begun;
      answer.wait();
    }
    return std::optional<HttpResponse>();
  });
  ASSERT_TRUE(made.ok()) << made.error().message;
  ClientConfig config;
  config.server = *net::parse_url("https://127.0.0.1:" + std::to_string((*made)->port()), "https");
  config.tls.authority.data = options.keys.authority;
  client = std::make_unique<net::HttpClient>(
      threads, *cluster::kube::make_endpoint(config, clock, [](const char*) { return std::string(); }),
      net::HttpClientOptions{});
  std::vector<std::future<std::pair<int, std::string>>> waiting;
  for (int i = 0; i < k_waiting; ++i) waiting.push_back(std::async(std::launch::async, [&] { return get("/asked"); }));
  // More of them are inside than there are threads for the rest.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (begun < 5 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GE(begun, 5);
  EXPECT_EQ(get("/livez"), std::pair(200, std::string("/livez")));
  answered.set_value();
  for (auto& one : waiting) EXPECT_EQ(one.get(), std::pair(200, std::string("/asked")));
  EXPECT_EQ(told, k_waiting + 1);
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
