// SPDX-License-Identifier: Apache-2.0
#include "support/connect_proxy.hpp"

#include <spdlog/fmt/fmt.h>

#include <mutex>

#include "base/check.hpp"
#include "cluster/kube/asio.hpp"
#include "support/loopback.hpp"

namespace berth::tests {

using namespace cluster::kube;  // asio, beast, http, k_await

namespace {

template <typename From, typename Into>
asio::awaitable<void> pump(std::shared_ptr<From> from, std::shared_ptr<Into> into) {
  std::array<char, 16 * 1024> piece;
  for (;;) {
    auto [error, size] = co_await from->async_read_some(asio::buffer(piece), k_await);
    if (error) break;
    auto [broken, written] = co_await asio::async_write(*into, asio::buffer(piece.data(), size), k_await);
    if (broken) break;
  }
  boost::system::error_code ignored;
  beast::get_lowest_layer(*from).socket().close(ignored);
  beast::get_lowest_layer(*into).socket().close(ignored);
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
    asio::co_spawn(io, serve_connections(io, acceptor, is_tls ? &tls : nullptr, *this, [] {}), end_of_coroutine);
  }

  template <typename Stream>
  asio::awaitable<void> serve(std::shared_ptr<Stream> client) {
    beast::flat_buffer buffer;
    http::request<http::string_body> request;
    auto [error, size] = co_await http::async_read(*client, buffer, request, k_await);
    if (error) co_return;
    {
      const std::lock_guard lock(mutex);
      const auto given = request[http::field::proxy_authorization];
      authorization.assign(given.data(), given.size());
    }
    if (request.method() != http::verb::connect) co_return co_await pass_on(*client, buffer, std::move(request));
    const std::string target(request.target().data(), request.target().size());
    auto server = std::make_shared<beast::tcp_stream>(threads.context().io);
    auto [refused] = co_await server->async_connect(address_of(target), k_await);
    http::response<http::empty_body> answer(refused ? http::status::bad_gateway : http::status::ok, 11);
    auto [broken, written] = co_await http::async_write(*client, answer, k_await);
    if (refused || broken) co_return;
    {
      const std::lock_guard lock(mutex);
      ++tunnels;
    }
    asio::co_spawn(threads.context().io, pump(server, client), end_of_coroutine);
    co_await pump(client, server);
  }

  /// "GET http://ADDRESS:PORT/path", one after the other as long as the client keeps asking.
  template <typename Stream>
  asio::awaitable<void> pass_on(Stream& client, beast::flat_buffer& buffer, http::request<http::string_body> request) {
    for (;;) {
      const std::string target(request.target().data(), request.target().size());
      const std::string scheme = "http://";
      const std::size_t path = target.find('/', scheme.size());
      if (!target.starts_with(scheme) || path == std::string::npos) co_return;
      {
        const std::lock_guard lock(mutex);
        ++forwarded;
      }
      beast::tcp_stream server(threads.context().io);
      auto [refused] =
          co_await server.async_connect(address_of(target.substr(scheme.size(), path - scheme.size())), k_await);
      if (refused) co_return;
      request.target(target.substr(path));
      request.erase(http::field::proxy_authorization);
      auto [unsent, sent] = co_await http::async_write(server, request, k_await);
      if (unsent) co_return;
      beast::flat_buffer answer_buffer;
      http::response<http::string_body> answer;
      auto [unread, read] = co_await http::async_read(server, answer_buffer, answer, k_await);
      if (unread) co_return;
      auto [broken, written] = co_await http::async_write(client, answer, k_await);
      if (broken) co_return;
      request = {};
      auto [error, size] = co_await http::async_read(client, buffer, request, k_await);
      if (error) co_return;
    }
  }

  const bool is_tls;
  asio::ssl::context tls;
  std::string authority;
  IoThreads threads{1};
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
