// SPDX-License-Identifier: Apache-2.0
#include "support/servers/connect_proxy.hpp"

#include <spdlog/fmt/fmt.h>

#include <mutex>

#include "base/check.hpp"
#include "net/http_message.hpp"
#include "support/servers/loopback.hpp"

namespace berth::tests {

namespace {

asio::awaitable<void> pump(std::shared_ptr<net::ByteStream> from, std::shared_ptr<net::ByteStream> into) {
  std::array<char, 16 * 1024> piece;
  for (;;) {
    const net::ByteStream::Moved read = co_await from->read_some(asio::buffer(piece));
    if (read.error) break;
    const net::ByteStream::Moved written = co_await into->write(asio::buffer(piece.data(), read.bytes));
    if (written.error) break;
  }
  boost::system::error_code ignored;
  from->socket().socket().close(ignored);
  into->socket().socket().close(ignored);
}

/// "127.0.0.1:80".
asio::ip::tcp::endpoint address_of(const std::string& authority) {
  return {asio::ip::make_address(authority.substr(0, authority.rfind(':'))),
          static_cast<std::uint16_t>(std::stoi(authority.substr(authority.rfind(':') + 1)))};
}

}  // namespace

struct ConnectProxy::State {
  explicit State(bool with_tls) : is_tls(with_tls), tls(asio::ssl::context::tls_server) {
    if (is_tls) authority = certify(tls);
    port = listen_on_loopback(acceptor);
    asio::io_context& io = threads.context().io;
    const Serve each = [this](std::shared_ptr<net::ByteStream> client) { return serve(std::move(client)); };
    asio::co_spawn(io, serve_connections(io, acceptor, is_tls ? &tls : nullptr, each, [] {}), net::end_of_coroutine);
  }

  asio::awaitable<void> serve(std::shared_ptr<net::ByteStream> client) {
    beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    const net::ByteStream::Moved asked = co_await net::read_message(*client, buffer, parser, net::Until::end);
    if (asked.error) co_return;
    http::request<http::string_body> request = parser.release();
    {
      const std::lock_guard lock(mutex);
      const auto given = request[http::field::proxy_authorization];
      authorization.assign(given.data(), given.size());
    }
    if (request.method() != http::verb::connect) co_return co_await pass_on(*client, buffer, std::move(request));
    const std::string target(request.target().data(), request.target().size());
    auto server = std::make_shared<net::PlainBytes>(threads.context().io);
    auto [refused] = co_await server->stream.async_connect(address_of(target), net::k_await);
    const std::string answer =
        net::bytes_of(http::response<http::string_body>(refused ? http::status::bad_gateway : http::status::ok, 11));
    const net::ByteStream::Moved written = co_await client->write(asio::buffer(answer));
    if (refused || written.error) co_return;
    {
      const std::lock_guard lock(mutex);
      ++tunnels;
    }
    asio::co_spawn(threads.context().io, pump(server, client), net::end_of_coroutine);
    co_await pump(client, server);
  }

  /// "GET http://ADDRESS:PORT/path", one after the other as long as the client keeps asking.
  asio::awaitable<void> pass_on(net::ByteStream& client, beast::flat_buffer& buffer,
                                http::request<http::string_body> request) {
    for (;;) {
      const std::string target(request.target().data(), request.target().size());
      const std::string scheme = "http://";
      const std::size_t path = target.find('/', scheme.size());
      if (!target.starts_with(scheme) || path == std::string::npos) co_return;
      {
        const std::lock_guard lock(mutex);
        ++forwarded;
      }
      net::PlainBytes server(threads.context().io);
      auto [refused] = co_await server.stream.async_connect(
          address_of(target.substr(scheme.size(), path - scheme.size())), net::k_await);
      if (refused) co_return;
      request.target(target.substr(path));
      request.erase(http::field::proxy_authorization);
      const std::string question = net::bytes_of(request);
      const net::ByteStream::Moved sent = co_await server.write(asio::buffer(question));
      if (sent.error) co_return;
      beast::flat_buffer answer_buffer;
      http::response_parser<http::string_body> answer_parser;
      const net::ByteStream::Moved read =
          co_await net::read_message(server, answer_buffer, answer_parser, net::Until::end);
      if (read.error) co_return;
      const std::string answer = net::bytes_of(answer_parser.get());
      const net::ByteStream::Moved written = co_await client.write(asio::buffer(answer));
      if (written.error) co_return;
      http::request_parser<http::string_body> next;
      const net::ByteStream::Moved asked = co_await net::read_message(client, buffer, next, net::Until::end);
      if (asked.error) co_return;
      request = next.release();
    }
  }

  const bool is_tls;
  asio::ssl::context tls;
  std::string authority;
  net::IoThreads threads{1};
  asio::ip::tcp::acceptor acceptor{threads.context().io};
  std::uint16_t port = 0;
  std::mutex mutex;  // guards all below
  std::size_t tunnels = 0, forwarded = 0;
  std::string authorization;
};

ConnectProxy::ConnectProxy(bool tls) : state_(std::make_unique<State>(tls)) {}
ConnectProxy::~ConnectProxy() { state_->threads.stop(); }
std::string ConnectProxy::url() const {
  return fmt::format("{}://me:secret@127.0.0.1:{}", state_->is_tls ? "https" : "http", state_->port);
}
const std::string& ConnectProxy::authority() const { return state_->authority; }
std::size_t ConnectProxy::tunnels() const {
  const std::lock_guard lock(state_->mutex);
  return state_->tunnels;
}
std::size_t ConnectProxy::forwarded() const {
  const std::lock_guard lock(state_->mutex);
  return state_->forwarded;
}
std::string ConnectProxy::authorization() const {
  const std::lock_guard lock(state_->mutex);
  return state_->authorization;
}

}  // namespace berth::tests
