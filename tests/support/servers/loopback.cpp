// SPDX-License-Identifier: Apache-2.0
#include "support/servers/loopback.hpp"

#include <atomic>
#include <string>

#include "support/test_authority.hpp"

namespace berth::tests {

std::string certify(asio::ssl::context& context) {
  // A name of its own: a client that trusts two of them finds each by its name.
  static std::atomic<int> count = 0;
  const TestAuthority authority("servers-" + std::to_string(++count));
  const SignedPair pair = authority.sign("127.0.0.1", {}, "serverAuth");
  context.use_certificate_chain(asio::buffer(pair.certificate));
  context.use_private_key(asio::buffer(pair.key), asio::ssl::context::pem);
  return authority.certificate();
}

std::uint16_t listen_on_loopback(asio::ip::tcp::acceptor& acceptor) {
  const asio::ip::tcp::endpoint any(asio::ip::make_address("127.0.0.1"), 0);
  acceptor.open(any.protocol());
  acceptor.bind(any);
  acceptor.listen();
  return acceptor.local_endpoint().port();
}

asio::awaitable<std::shared_ptr<net::ByteStream>> welcome(asio::ip::tcp::socket socket, asio::ssl::context* tls) {
  socket.set_option(asio::ip::tcp::no_delay(true));  // small pieces leave at once
  beast::tcp_stream plain(std::move(socket));
  if (tls == nullptr) co_return std::make_shared<net::PlainBytes>(std::move(plain));
  auto secured = std::make_shared<net::TlsBytes>(std::move(plain), *tls);
  auto [error] = co_await secured->stream.async_handshake(asio::ssl::stream_base::server, net::k_await);
  if (error) co_return nullptr;
  co_return secured;
}

namespace {
asio::awaitable<void> serve_one(asio::ip::tcp::socket socket, asio::ssl::context* tls, Serve serve) {
  std::shared_ptr<net::ByteStream> stream = co_await welcome(std::move(socket), tls);
  if (stream) co_await serve(std::move(stream));
}
}  // namespace

asio::awaitable<void> serve_connections(asio::io_context& io, asio::ip::tcp::acceptor& acceptor,
                                        asio::ssl::context* tls, Serve serve, std::function<void()> arrived) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(net::k_await);
    if (error) co_return;
    arrived();
    asio::co_spawn(io, serve_one(std::move(socket), tls, serve), net::end_of_coroutine);
  }
}

}  // namespace berth::tests
