// SPDX-License-Identifier: Apache-2.0
// What a server, or who is in its place, may send on a TLS connection besides its answer.
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "net/asio.hpp"
#include "support/test_authority.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

/// Takes one connection after the other, and does on each what it was told once the first bytes of a request came.
class TlsServer {
 public:
  using Behaviour = std::function<void(SSL*)>;

  explicit TlsServer(Behaviour on_request, int newest_tls = 0) : behaviour_(std::move(on_request)) {
    const SignedPair keys = TestAuthority("renewing").sign("127.0.0.1", {}, "serverAuth");
    context_.use_certificate(asio::buffer(keys.certificate), asio::ssl::context::pem);
    context_.use_private_key(asio::buffer(keys.key), asio::ssl::context::pem);
    if (newest_tls != 0) SSL_CTX_set_max_proto_version(context_.native_handle(), newest_tls);
    SSL_CTX_clear_mode(context_.native_handle(), SSL_MODE_AUTO_RETRY);
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsServer() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    thread_.join();
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::shared_ptr<net::Endpoint> endpoint(const Clock& clock) const {
    cluster::kube::ClientConfig config;
    config.server = *net::parse_url("https://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()), "https");
    config.tls.insecure = true;
    return *cluster::kube::make_endpoint(std::move(config), clock, [](const char*) { return std::string(); });
  }

 private:
  void serve() {
    // OpenSSL writes to the socket without MSG_NOSIGNAL, and callers leave in the middle of an answer.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      boost::system::error_code error;
      asio::ip::tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      const timeval patience{20, 0};
      ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context_.native_handle()), SSL_free);
      SSL_set_fd(tls.get(), socket.native_handle());
      std::array<char, 4096> request;
      if (SSL_accept(tls.get()) == 1 && SSL_read(tls.get(), request.data(), request.size()) > 0) behaviour_(tls.get());
    }
  }

  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  asio::ssl::context context_{asio::ssl::context::tls_server};
  const Behaviour behaviour_;
  std::thread thread_;
};

bool renew_keys(SSL* tls, int times) {
  for (int i = 0; i < times; ++i)
    if (SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(tls) != 1) return false;
  return true;
}

void say(SSL* tls, const std::string& text) { SSL_write(tls, text.data(), static_cast<int>(text.size())); }

std::string answer_of(std::size_t bytes) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) + "\r\nConnection: close\r\n\r\n";
}

Result<net::Response> ask_once(const TlsServer& server) {
  const SystemClock clock{};
  net::IoThreads threads{2};
  net::HttpClient client(threads, server.endpoint(clock), {});
  net::Request request;
  request.method = net::Method::post;  // which is not asked again
  request.target = "/";
  request.retry.retries = 0;
  return ask(client, std::move(request));
}

TEST(RenewingServer, MayRenewItsKeysInALongAnswer) {
  const TlsServer server([](SSL* tls) {
    constexpr int k_pieces = 3;
    const std::string piece(1 << 20, 'x');
    say(tls, answer_of(k_pieces * piece.size()));
    for (int i = 0; i < k_pieces && renew_keys(tls, 20); ++i) say(tls, piece);
  });
  const auto answer = ask_once(server);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body.size(), 3U << 20);
}

TEST(RenewingServer, IsDisconnectedWhenItOnlyRenewsKeys) {
  const TlsServer server([](SSL* tls) {
    renew_keys(tls, 1000);
    say(tls, answer_of(0));
  });
  EXPECT_FALSE(ask_once(server).ok());
}

TEST(RenewingServer, IsDisconnectedWhenItOnlyRenewsKeysAfterTheHeader) {
  const TlsServer server([](SSL* tls) {
    say(tls, answer_of(1));
    renew_keys(tls, 1000);
    say(tls, "x");
  });
  EXPECT_FALSE(ask_once(server).ok());
}

TEST(RenewingServer, MayNotRenegotiateTls) {
  std::promise<bool> is_again;
  const TlsServer server(
      [&](SSL* tls) {
        SSL_renegotiate(tls);
        SSL_do_handshake(tls);
        std::array<char, 16> nothing;
        SSL_read(tls, nothing.data(), nothing.size());  // its answer to that wish
        is_again.set_value(SSL_renegotiate_pending(tls) == 0);
      },
      TLS1_2_VERSION);
  static_cast<void>(ask_once(server));
  EXPECT_FALSE(is_again.get_future().get());
}

}  // namespace
}  // namespace berth::tests
