// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cluster/kube/asio.hpp"

/// What servers of tests have in common.
namespace berth::tests {

/// Gives the server a certificate of its own; returns the authority that its clients have to trust, as PEM.
std::string certify(cluster::kube::asio::ssl::context& context);

/// Listens on a free port of 127.0.0.1 and returns it.
std::uint16_t listen_on_loopback(cluster::kube::asio::ip::tcp::acceptor& acceptor);

template <typename Stream, typename Server>
cluster::kube::asio::awaitable<void> serve_tls(std::shared_ptr<Stream> stream, Server& server) {
  using namespace cluster::kube;  // asio, k_await
  auto [error] = co_await stream->async_handshake(asio::ssl::stream_base::server, k_await);
  if (!error) co_await server.serve(std::move(stream));
}

/// Takes connections until the acceptor is closed and has each of them served at once by server.serve(stream), a
/// coroutine that gets a shared_ptr to a TCP stream or, with `tls`, to one over TLS. arrived() is called for each.
/// Requires: server, acceptor and tls outlive the threads of io.
template <typename Server, typename Arrived>
cluster::kube::asio::awaitable<void> serve_connections(cluster::kube::asio::io_context& io,
                                                       cluster::kube::asio::ip::tcp::acceptor& acceptor,
                                                       cluster::kube::asio::ssl::context* tls, Server& server,
                                                       Arrived arrived) {
  using namespace cluster::kube;  // asio, beast, k_await
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(k_await);
    if (error) co_return;
    arrived();
    beast::tcp_stream stream(std::move(socket));
    if (tls != nullptr)
      asio::co_spawn(io,
                     serve_tls(std::make_shared<beast::ssl_stream<beast::tcp_stream>>(std::move(stream), *tls), server),
                     end_of_coroutine);
    else
      asio::co_spawn(io, server.serve(std::make_shared<beast::tcp_stream>(std::move(stream))), end_of_coroutine);
  }
}

}  // namespace berth::tests
